"""ONNX: float networks from .onnx files and the data files beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ...ir.float_graph import FloatGraph
from ...ir.graph import Graph
from . import qdq
from .network import convert
from .reading import read


def load(path: Path, input: Optional[str] = None, output: Optional[str] = None) -> FloatGraph:
    """The float network of a file, between two of its tensors or all of it.

    Shapes are those of one sample, [C, H, W] for images. Raises ModelError with one sentence for
    a file that is damaged, not a network of one input, or uses what is not supported; Error where
    the library `onnx` is missing.
    """
    return convert(read(path), input, output)


def load_integers(path: Path) -> Optional[tuple[Graph, tuple[str, ...]]]:
    """The quantized network of a file and notes on it; None where the file is a float network.

    Its calls are those of CMSIS-NN; images have their channels last in memory. Raises as load().
    """
    model = read(path)
    return qdq.convert(model) if qdq.is_quantized(model) else None
