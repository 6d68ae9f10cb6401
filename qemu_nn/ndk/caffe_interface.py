"""Caffe's files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from ..npu.from_float import Loaded
from ..npu.loading import load


def load_from_caffemodel(
    fname_prototxt: Union[str, Path], fname_caffemodel: Union[str, Path]
) -> Loaded:
    """The layers and float parameters of a .prototxt and its .caffemodel; errors: see load()."""
    return load(fname_prototxt, fname_caffemodel)
