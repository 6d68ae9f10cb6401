"""ONNX: float and quantized networks from .onnx files and the external data files."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ...ir.model_file import ModelFile
from . import qdq
from .network import convert
from .reading import parse


def read(path: Path, input: Optional[str] = None, output: Optional[str] = None) -> ModelFile:
    """Read the network of a file, or the part of a float network between two of its tensors.

    A file with quantized tensors gives a graph of CMSIS-NN calls, whose images have their channels
    last in memory, notes, and the host's steps in floats around it. Shapes are those of one sample,
    [C, H, W] for images of a float network. Raises ModelError with one sentence for a file that is
    damaged or uses something unsupported; Error if the library `onnx` is missing.
    """
    model = parse(path)
    if input is None and output is None and qdq.is_quantized(model):
        return qdq.convert(model)
    return ModelFile(reference=convert(model, input, output))
