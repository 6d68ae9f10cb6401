"""Front ends of pages: what turns the samples of a WAV file into a network's inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..exporters.page.image import Sections
from ..ir.graph import Graph
from ..runtime.host import Host
from .chain import Chain, chain
from .chain_json import described
from .network import Network
from .sound import as_front_end
from .sound_features import EdgeImpulseMfcc, FrontEnd, filter_weights, hop_of, window_of


@dataclass(frozen=True)
class PageStage:
    """A network before the last one, with its window and hop as in a chain."""

    graph: Graph
    window: int
    hop: int


@dataclass(frozen=True)
class PageSound:
    """A front end as sound.js has it: facts for JSON, and the networks of its stages."""

    facts: dict[str, Any]
    stages: tuple[PageStage, ...] = ()


def describe_chain(path: Path) -> tuple[Network, PageSound]:
    """Return the last network of a chain.json, and what comes before it."""
    networks, hops, rate = described(path)
    whole = chain(*networks, hops=hops, rate=rate)
    last, needed = whole.stages[-1], _count_samples(whole, (1, 2))
    return networks[-1], PageSound(_facts(rate, last.window, last.hop, needed), _stages(whole, -1))


def describe_front_end(network: Network, given: Any, sections: Sections) -> PageSound:
    """Return what Dataset(front_end=given) computes of WAV files for a network.

    Raises Error if the features do not fit the network, or `predict` converts them in a way that
    pages do not have.
    """
    front, host = as_front_end(given), network.host
    if len(host.graph.inputs) != 1:
        raise Error(
            f"{host.graph.name} has {len(host.graph.inputs)} inputs, but a front end feeds one: "
            "leave front_end= out"
        )
    if isinstance(front, Chain):
        return _describe_features(host, front)
    _require_plain(host)
    window = window_of(front, host.start[0])
    facts = _facts(front.rate, window, window, (window, 2 * window))
    return PageSound({**facts, "padded": window, "block": _describe_block(front, sections)})


def _describe_features(host: Host, front: Chain) -> PageSound:
    """Return a chain that makes features: each input has those after the last input's."""
    graph = front.stages[-1].session.graph
    tensor, own = graph.tensors[graph.outputs[0]], host.graph.input
    steps, rest = divmod(prod(own.shape), prod(tensor.shape))
    if rest or not steps:
        raise Error(
            f"the network reads {list(own.shape)}, which features {list(tensor.shape)} of "
            f"{graph.name[:60]!r} do not fill: the front end must match the one of the "
            "training"
        )
    needed = _count_samples(front, (steps, 2 * steps))
    facts = _facts(front.rate, steps, steps, needed)
    facts["padded"] = needed[0]
    prepared = host.preprocessing is not None and host.preprocessing.changes
    if host.reference is not None or tensor.dtype != own.dtype or prepared:
        _require_plain(host)
        scale = 1.0 if tensor.spelled is None else tensor.format.scale
        facts["real"] = {"scale": scale, "zero_point": tensor.zero_point or 0}
    return PageSound(facts, _stages(front))


def _stages(whole: Chain, end: Optional[int] = None) -> tuple[PageStage, ...]:
    return tuple(PageStage(s.session.graph, s.window, s.hop) for s in whole.stages[:end])


def _count_samples(whole: Chain, counts: Sequence[int]) -> list[int]:
    """Return how many samples so many outputs of a chain need."""
    return [round(float(whole.seconds(count)[-1]) * whole.rate) for count in counts]


def _facts(rate: int, window: int, hop: int, needed: Sequence[int]) -> dict[str, Any]:
    """Return the facts of a front end; needed: samples of one and of two inputs."""
    first, second = needed
    return {
        **{"rate": rate, "window": window, "hop": hop, "first": first, "every": second - first},
        **{"padded": 0, "real": None, "block": None},
    }


def _describe_block(front: FrontEnd, sections: Sections) -> dict[str, Any]:
    """Return a block of Edge Impulse; its matrices go to the sections."""

    def place(array: np.ndarray) -> dict[str, Any]:
        content = np.ascontiguousarray(array, np.float64).tobytes()
        return {"at": sections.add(content), "bytes": len(content)}

    (size, hop), (bank, cosines) = hop_of(front), filter_weights(front)
    shared = {"filters": front.filters, "points": front.fft_length, "size": size, "hop": hop}
    if isinstance(front, EdgeImpulseMfcc):
        sharpened = {"emphasis": front.pre_emphasis, "shift": front.pre_shift, "divisor": 1}
        own = {"coefficients": front.coefficients, "normalization": front.normalization}
        return {**shared, **sharpened, **own, "bank": place(bank), "cosines": place(cosines)}
    sharpened = {"emphasis": 0.98, "shift": 1, "divisor": 2**15, "single": True}
    return {**shared, **sharpened, "floor": front.noise_floor_db, "bank": place(bank)}


def _require_plain(host: Host) -> None:
    """Raise Error unless `predict` makes codes of floats by the input's format alone."""
    shape, layout = host.start
    leading = (1, 2) if host.graph.states else (2,)
    x = np.random.default_rng(1).normal(0, 2, (*leading, *shape)).astype(np.float32)
    wanted, found = host.graph.input.format.quantize(x), host.codes(x, layout)
    if not isinstance(found, np.ndarray) or found.tobytes() != wanted.tobytes():
        raise Error(
            f"{host.graph.name} has a preprocessing or moves axes before its input, which "
            "pages with sound cannot do: use qemu-nn run --front-end"
        )
