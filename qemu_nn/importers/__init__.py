"""Model files in: each module reads one format and knows nothing of the others."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Optional

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph

#: File name suffix -> the module here that reads float networks of that format.
FLOAT_FORMATS = {
    ".onnx": "onnx",
    ".h5": "keras",
    ".hdf5": "keras",
    ".keras": "keras",
    ".pb": "tensorflow",
    ".prototxt": "caffe",
    ".pt2": "pt2",
}

#: File name suffix -> the module here that reads quantized networks of that format.
QUANTIZED_FORMATS = {".tflite": "tflite", ".pte": "pte"}


def load_float(
    path: Path,
    input: Optional[str] = None,
    output: Optional[str] = None,
    weights: Optional[Path] = None,
) -> FloatGraph:
    """The float network of a model file.

    input, output: names of tensors of the file, between which the network is cut out; by default
    the file's own. weights: a second file with the weights, for formats that have one (Caffe).
    Raises ModelError with one sentence for anything that is not such a network, Error where a
    library to read it is missing.
    """
    name = FLOAT_FORMATS.get(path.suffix.lower())
    if name is None:
        raise Error(f"{path} does not end as a model file does; have: {', '.join(FLOAT_FORMATS)}")
    if weights is not None and name != "caffe":
        raise Error(f"{path} holds its own weights; there is nothing to read from {weights}")
    files = {} if weights is None else {"weights": weights}
    graph: FloatGraph = importlib.import_module(f".{name}", __name__).load(
        path, input, output, **files
    )
    return graph


def load_quantized_onnx(path: Path) -> Optional[tuple[Graph, tuple[str, ...]]]:
    """The quantized network of an .onnx file and notes on it; None where it is a float network."""
    found: Optional[tuple[Graph, tuple[str, ...]]]
    found = importlib.import_module(".onnx", __name__).load_integers(path)
    return found


def load_integers(path: Path, method: Optional[str] = None) -> tuple[Graph, tuple[str, ...]]:
    """The quantized network of a model file, and notes on it; raises as load_float().

    method: the one of a .pte file; by default "forward".
    """
    module = importlib.import_module(f".{QUANTIZED_FORMATS[path.suffix.lower()]}", __name__)
    found: Any = module.load(path) if method is None else module.load(path, method)
    return (found, ()) if isinstance(found, Graph) else found
