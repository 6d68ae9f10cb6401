"""ONNX files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

from ..npu.from_float import Loaded
from ..npu.loading import load


def load_from_onnx(
    fname_onnx: Union[str, Path], *, input: Optional[str] = None, output: Optional[str] = None
) -> Loaded:
    """The layers and float parameters of an .onnx file; the rest: see load()."""
    return load(fname_onnx, None, input, output)
