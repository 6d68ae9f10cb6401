"""Model files of any format that is read, as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from ..importers import load_float
from .from_float import Loaded, from_float


def load(path: Union[str, Path], weights: Union[str, Path, None] = None) -> Loaded:
    """The layers and float parameters of a model file of any format that is read.

    Raises ModelError for what is no such file, and for operators that the NPU has no layer for.
    """
    return from_float(load_float(Path(path), weights=Path(weights) if weights else None))
