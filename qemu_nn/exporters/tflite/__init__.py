"""TensorFlow Lite: .tflite files, as LiteRT and TensorFlow Lite Micro load them."""

from __future__ import annotations

from typing import Optional

from ...ir.graph import Graph
from .metadata import Beside as Beside
from .metadata import metadata_bytes, with_labels
from .network import converted
from .schema import check_libraries as check_libraries
from .schema import file_bytes


def written(graph: Graph, beside: Optional[Beside] = None) -> tuple[bytes, Graph]:
    """A network as the bytes of a file, and in the calls that a reader finds there.

    The calls make the same bytes as the network's. Raises ModelError that names what has no
    operator; Error where the libraries `tflite` and `flatbuffers` are missing.
    """
    calls, graphs = converted(graph)
    if beside is None:
        return file_bytes(graphs), calls
    data = file_bytes(graphs, metadata_bytes(beside))
    return (with_labels(data, beside.labels) if beside.labels else data), calls
