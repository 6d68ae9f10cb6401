"""Writes a network as a page that runs it in a browser, with the device's bits."""

from __future__ import annotations

import base64
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..chips import CHIPS
from ..errors import DeviceWarning, Error
from ..exporters.page.document import fill_page
from ..exporters.page.image import Sections, make_image
from ..io.arguments import as_path
from ..io.files import write_text
from ..io.stages import announce, count
from ..ir.builds import find_target
from ..ir.graph import Graph
from ..ir.preprocessing import Preprocessing
from ..ir.stored import weight_bytes
from ..runtime.inputs import arrange_by_name
from ..targets import DEFAULT_CORE, Target
from .analyze import analyze
from .chain_json import described_by
from .data import Dataset, coded
from .estimate import estimate
from .golden import describe
from .network import Network, quantized
from .page_sound import PageSound, PageStage, describe_chain, describe_front_end

#: Samples that the page holds at most.
_MOST_SAMPLES = 20

#: Samples that measure the errors of layers at most.
_MOST_ANALYZED = 64


def page(
    network: Union[Network, str, Path],
    path: Union[str, Path],
    *,
    target: Union[str, Target, Sequence[Union[str, Target]]] = DEFAULT_CORE,
    data: Any = None,
    front_end: Any = None,
) -> None:
    """Write one HTML file that runs the network in any browser, offline, with the device's bits.

    The page takes images, numbers, CSV files and, with a front end, sound. It shows scores, every
    layer's output, what differs between two devices, the arena over time, and cycles on a chip.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file; or a chain.json, whose last network the page shows.
    path : str or Path
        The HTML file.
    target : str or Target, or a sequence of them, default "cortex-m4"
        The devices among which the page chooses, each as Network.session() takes it.
    data : Dataset or source, optional
        Samples that the page offers, the first 20 at most. Default: random ones.
    front_end : Chain or EdgeImpulseMfe or EdgeImpulseMfcc or str or Path, optional
        What makes the network's features of WAV files and recordings, as Dataset() takes it.
        Default: that of `data`; a chain.json has its own.

    Raises
    ------
    Error
        A device could not run the network, a browser could not (loops), the samples do not fit,
        the file cannot be written, or this installation has no WebAssembly core.

    Examples
    --------
    >>> page("net.tflite", "net.html", target=["m4", "m55"], data="test.npz")
    >>> page("wake.tflite", "wake.html", front_end=qemu_nn.chain(front, hops=(160,)))
    """
    sections, path = Sections(), as_path(path, "the page")
    samples = None if data is None else Dataset.of(data)
    network, sound = _read_network(network, front_end or (samples and samples.front_end), sections)
    several = [target] if isinstance(target, (str, Target)) else list(target)
    if not several:
        raise Error("target names no device: name one or more")
    stages = () if sound is None else sound.stages
    plans = [
        {
            **_make_plan(network, each, sections),
            "front": [_make_stage(stage, each, sections) for stage in stages],
            "sqnr": None if samples is None else _measure_layers(network, samples, each),
        }
        for each in count([find_target(network.graph, one) for one in several])
    ]
    document = {
        "plans": plans,
        "sound": None if sound is None else sound.facts,
        "sections": sections.compress(),
        "samples": [] if samples is None else _encode_samples(network, samples),
        "chips": [
            {name: getattr(chip, name) for name in ("name", "core", "clock", "flash", "ram")}
            for chip in CHIPS.values()
        ],
        "preprocessing": _describe_preprocessing(network.preprocessing),
    }
    announce("compresses")
    write_text(path, fill_page(network.graph.name, document))


def _read_network(
    given: Union[Network, str, Path], front_end: Any, sections: Sections
) -> tuple[Network, Optional[PageSound]]:
    """Return the network of a page, and its front end."""
    described = described_by(given)
    if described is None:
        network = quantized(given)
        own = front_end is not None
        return network, describe_front_end(network, front_end, sections) if own else None
    if front_end is not None:
        raise Error(f"{described} has a front end of its own; leave front_end= out")
    return describe_chain(described)


def _make_stage(stage: PageStage, target: Target, sections: Sections) -> dict[str, Any]:
    """Return a network of the front end, planned for a device."""
    session = Network(stage.graph).session(target)
    image = make_image(session.graph, session.profile, sections)
    return {"image": image, "window": stage.window, "hop": stage.hop}


def _make_plan(network: Network, target: Target, sections: Sections) -> dict[str, Any]:
    """Return the plan for a device, with its costs."""
    announce(f"plans for {target.device}")
    session = network.session(target)
    summary = describe(network, target)
    layers = [node.name for node in session.graph.nodes]
    cores = sorted({chip.core for chip in CHIPS.values()})
    timed = {core: _count_cycles(network, target, core, layers) for core in cores}
    return {
        **make_image(session.graph, session.profile, sections),
        "target": f"{target.device}, {session.profile}",
        "core": target.core,
        "flash": weight_bytes(session.graph),
        "ram": summary.facts["activation_bytes"],
        "memory": "" if summary.memory is None else summary.memory.svg(),
        "cycles": {core: counted for core, counted in timed.items() if counted},
    }


def _measure_layers(
    network: Network, data: Dataset, target: Target
) -> Optional[list[Optional[float]]]:
    """Return each layer's ratio of signal to noise in dB; None if analyze() cannot measure it.

    Data that can be read once alone are left for the samples.
    """
    if isinstance(data.source, Iterator) or hasattr(data.source, "get_next"):
        return None
    announce("measures layers")
    few = replace(data, limit=min(data.limit or _MOST_ANALYZED, _MOST_ANALYZED))
    try:
        found = analyze(replace(network, calibration=None), few, target=target)
    except Error:
        return None
    ratios = {layer.name: layer.whole.sqnr for layer in found.layers}
    known = (ratios.get(node.name, math.nan) for node in network.graph.nodes)
    return [value if math.isfinite(value) else None for value in known]


def _count_cycles(
    network: Network, target: Target, core: str, layers: Sequence[str]
) -> Optional[dict[str, Any]]:
    """Return cycles on a core of each layer, in total, and as a chart; None if none are known."""
    try:
        with warnings.catch_warnings():  # the page's own target warns
            warnings.simplefilter("ignore", DeviceWarning)
            found = estimate(network, replace(target, device=core))
    except Error:
        return None
    cycles = {row["layer"]: row["cycles"] for row in found.layers.records()}
    unknown = {row["function"] for row in found.layers.records() if row["cycles"] is None}
    return {
        "total": list(found.cycles),
        "layers": [cycles.get(layer) for layer in layers],
        "unknown": sorted(unknown),
        "chart": found.charts()[0].svg(),
    }


def _encode_samples(network: Network, data: Dataset) -> list[dict[str, Any]]:
    """Return the first samples, the codes of each input in base64."""
    graph: Graph = network.graph
    limit = min(data.limit or _MOST_SAMPLES, _MOST_SAMPLES)
    x = arrange_by_name(graph, coded(network.host, replace(data, limit=limit)))
    arrays = [x[tensor.name] for tensor in graph.inputs]
    if graph.states:
        arrays = [array.reshape(-1, *array.shape[2:]) for array in arrays]

    def encode(array: np.ndarray) -> str:
        return base64.b64encode(array.tobytes()).decode()

    count = min(len(arrays[0]), _MOST_SAMPLES)
    return [
        {"name": f"{at}", "inputs": [encode(array[at]) for array in arrays]} for at in range(count)
    ]


def _describe_preprocessing(own: Optional[Preprocessing]) -> Optional[dict[str, Any]]:
    if own is None:
        return None
    return {name: np.ravel(getattr(own, name)).tolist() for name in ("scale", "mean", "std")}


__all__ = ["page"]
