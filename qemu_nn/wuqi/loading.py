"""Loading of model files of any supported format as layers."""

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
    """Return the layers and float parameters of a model file of any supported format.

    input, output: tensors of the file that limit the network, if not its ends. Raises ModelError
    for other files, and for operators without a layer of the NPU.
    """
    beside = Path(weights) if weights else None
    graph = read_float(Path(path), input=input, output=output, weights=beside)
    return from_tensorflow(graph) if Path(path).suffix.lower() == ".pb" else from_float(graph)
