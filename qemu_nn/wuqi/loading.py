"""Model files of any format that is read, as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

from ..importers import read_float
from .from_float import Loaded, from_float
from .tensorflow_names import from_tensorflow


def load(
    path: Union[str, Path],
    weights: Union[str, Path, None] = None,
    input: Optional[str] = None,
    output: Optional[str] = None,
) -> Loaded:
    """Return the layers and float parameters of a model file of any format that is read.

    input, output: tensors of the file between which the network is cut out, if not at its ends.
    Raises ModelError for what is no such file, and for operators that the NPU has no layer for.
    """
    beside = Path(weights) if weights else None
    graph = read_float(Path(path), input=input, output=output, weights=beside)
    return from_tensorflow(graph) if Path(path).suffix.lower() == ".pb" else from_float(graph)
