"""TensorFlow Lite: .tflite files, as LiteRT and TensorFlow Lite Micro load them."""

from __future__ import annotations

from ...ir.graph import Graph
from .network import converted
from .schema import check_libraries as check_libraries
from .schema import file_bytes


def written(graph: Graph) -> tuple[bytes, Graph]:
    """A network as the bytes of a file, and in the calls that a reader finds there.

    The calls make the same bytes as the network's. Raises ModelError that names what has no
    operator; Error where the libraries `tflite` and `flatbuffers` are missing.
    """
    calls, graphs = converted(graph)
    return file_bytes(graphs), calls
