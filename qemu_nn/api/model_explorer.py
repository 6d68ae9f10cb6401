"""Node data for Google's Model Explorer: error, saturation, cycles and memory of each layer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional, Union

from ..analysis.report import Report
from ..errors import Error
from ..io.files import make_folder, write_text
from ..targets import Target
from .estimate import estimate
from .golden import describe
from .network import Network

#: Colours of small and large values; a low ratio of signal to noise is the large error.
_PALE, _DARK = "#eef4ff", "#f2785c"

#: Figures whose small values are the bad ones.
_LOW_IS_BAD = ("sqnr_db", "sqnr_alone_db")


def write_node_data(
    folder: Path, network: Network, report: Report, target: Union[str, Target]
) -> None:
    """Write a file of node data for each figure of a network's layers.

    Model Explorer reads one figure from a file. Its keys are the names of tensors, which are those
    of layers. Raises Error if the folder cannot be written.
    """
    make_folder(folder)
    for name, values in collect_figures(network, report, target).items():
        write_text(folder / f"{name}.json", f"{json.dumps(_describe(name, values), indent=1)}\n")


def collect_figures(
    network: Network, report: Report, target: Union[str, Target]
) -> dict[str, dict[str, float]]:
    """Return figure -> layer -> value; figures that are not known are left out."""
    layers = [layer for layer in report.layers if layer.function is not None]
    figures: dict[str, dict[str, Optional[float]]] = {
        "sqnr_db": {layer.name: layer.whole.sqnr for layer in layers},
        "sqnr_alone_db": {layer.name: layer.single.sqnr for layer in layers},
        "saturated_percent": {layer.name: layer.saturated_share for layer in layers},
    }
    for name, column in (("weight_bytes", "weight_bytes"), ("memory_bytes", "bytes_in_use")):
        rows = describe(network, target).layers.records()
        figures[name] = {row["layer"]: row.get(column) for row in rows}
    try:
        timed = estimate(network, target).layers.records()
        figures["cycles"] = {row["layer"]: row["cycles"] for row in timed}
    except Error:  # no instruction counts of this device
        pass
    known = {
        name: {
            layer: value
            for layer, value in values.items()
            if value is not None and math.isfinite(value)
        }
        for name, values in figures.items()
    }
    return {name: values for name, values in known.items() if values}


def _describe(name: str, values: Mapping[str, float]) -> dict[str, Any]:
    """Return the node data of a figure."""
    ends = (_DARK, _PALE) if name in _LOW_IS_BAD else (_PALE, _DARK)
    return {
        "name": name,
        "results": {layer: {"value": value} for layer, value in values.items()},
        "gradient": [{"stop": stop, "bgColor": colour} for stop, colour in enumerate(ends)],
    }
