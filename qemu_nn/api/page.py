"""Writes a network as a page that runs it in a browser, with the device's bits."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..chips import CHIPS
from ..errors import Error
from ..exporters.page.document import fill_page
from ..exporters.page.image import Sections, make_image
from ..io.arguments import as_path
from ..io.files import write_text
from ..ir.graph import Graph
from ..ir.preprocessing import Preprocessing
from ..ir.stored import weight_bytes
from ..runtime.inputs import arrange_by_name
from ..targets import DEFAULT_CORE, Target
from .data import Dataset, coded
from .estimate import estimate
from .golden import describe
from .network import Network, quantized

#: Samples that the page holds at most.
_MOST_SAMPLES = 20


def page(
    network: Union[Network, str, Path],
    path: Union[str, Path],
    *,
    target: Union[str, Target, Sequence[Union[str, Target]]] = DEFAULT_CORE,
    data: Any = None,
) -> None:
    """Write one HTML file that runs the network in any browser, offline, with the device's bits.

    The page takes images, numbers and CSV files, and shows scores, every layer's output, what
    differs between two devices, the arena over time, and cycles on a chip.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    path : str or Path
        The HTML file.
    target : str or Target, or a sequence of them, default "cortex-m4"
        The devices among which the page chooses, each as Network.session() takes it.
    data : Dataset or source, optional
        Samples that the page offers, the first 20 at most. Default: random ones.

    Raises
    ------
    Error
        A device could not run the network, a browser could not (loops), the samples do not fit,
        the file cannot be written, or this installation has no WebAssembly core.

    Examples
    --------
    >>> page("net.tflite", "net.html", target=["m4", "m55"], data="test.npz")
    """
    network, path = quantized(network), as_path(path, "the page")
    several = [target] if isinstance(target, (str, Target)) else list(target)
    if not several:
        raise Error("target holds no device: name one or more")
    sections = Sections()
    plans = [_make_plan(network, Target.of(each), sections) for each in several]
    document = {
        "plans": plans,
        "sections": sections.compress(),
        "samples": [] if data is None else _encode_samples(network, Dataset.of(data)),
        "chips": [
            {name: getattr(chip, name) for name in ("name", "core", "clock", "flash", "ram")}
            for chip in CHIPS.values()
        ],
        "preprocessing": _describe_preprocessing(network.preprocessing),
    }
    write_text(path, fill_page(network.graph.name, document))


def _make_plan(network: Network, target: Target, sections: Sections) -> dict[str, Any]:
    """Return the plan for a device, with its costs."""
    session = network.session(target)
    summary = describe(network, target)
    layers = [node.name for node in session.graph.nodes]
    cores = sorted({chip.core for chip in CHIPS.values()})
    timed = {core: _count_cycles(network, replace(target, device=core), layers) for core in cores}
    return {
        **make_image(session.graph, session.profile, sections),
        "target": f"{target.device}, {session.profile}",
        "core": target.core,
        "flash": weight_bytes(session.graph),
        "ram": summary.facts["activation_bytes"],
        "memory": "" if summary.memory is None else summary.memory.svg(),
        "cycles": {core: counted for core, counted in timed.items() if counted},
    }


def _count_cycles(
    network: Network, target: Target, layers: Sequence[str]
) -> Optional[dict[str, Any]]:
    """Return cycles of each layer, in total, and as a chart; None where nothing is known."""
    try:
        found = estimate(network, target)
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
