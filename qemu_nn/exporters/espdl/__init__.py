"""Writer of .espdl files, which ESP-DL loads on the chips of the ESP32 family."""

from __future__ import annotations

from ...ir.graph import Graph
from .network import convert
from .schema import make_file


def write(graph: Graph, chip: str) -> bytes:
    """Return the bytes of a network's file for a chip: "esp32", "esp32s3", "esp32p4".

    Weights are in the order in which the chip's kernels read them. Equal networks give equal
    bytes. Raises ModelError if such files have no operator for a call.
    """
    return make_file(convert(graph, chip), chip)
