"""Writer of .tflite files that LiteRT and TensorFlow Lite Micro load."""

from __future__ import annotations

from typing import Optional

from ...ir.graph import Graph
from .metadata import FileMetadata as FileMetadata
from .metadata import append_labels, make_metadata
from .network import convert
from .schema import make_file


def write(graph: Graph, beside: Optional[FileMetadata] = None) -> tuple[bytes, Graph]:
    """Return the bytes of a network's file, and the network with the calls that a reader finds.

    Both networks compute the same output bytes.

    Raises
    ------
    ModelError
        If .tflite files have no operator for a call.
    """
    calls, graphs = convert(graph)
    if beside is None:
        return make_file(graphs), calls
    data = make_file(graphs, make_metadata(beside))
    return (append_labels(data, beside.labels) if beside.labels else data), calls
