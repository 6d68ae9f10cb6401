"""Writer of .tflite files that LiteRT and TensorFlow Lite Micro load."""

from __future__ import annotations

from typing import Optional

from ...ir.graph import Graph
from .metadata import Beside as Beside
from .metadata import metadata_bytes, with_labels
from .network import converted
from .schema import check_libraries as check_libraries
from .schema import file_bytes


def written(graph: Graph, beside: Optional[Beside] = None) -> tuple[bytes, Graph]:
    """Return the bytes of a network's file, and the network with the calls that a reader finds.

    Both networks compute the same output bytes.

    Raises
    ------
    ModelError
        If .tflite files have no operator for a call.
    Error
        If the libraries `tflite` and `flatbuffers` are missing.
    """
    calls, graphs = converted(graph)
    if beside is None:
        return file_bytes(graphs), calls
    data = file_bytes(graphs, metadata_bytes(beside))
    return (with_labels(data, beside.labels) if beside.labels else data), calls
