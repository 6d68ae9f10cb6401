"""ONNX files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from .from_float import Loaded
from .loading import load


def load_from_onnx(fname_onnx: Union[str, Path]) -> Loaded:
    """The layers and float parameters of an .onnx file; errors: see load()."""
    return load(fname_onnx)
