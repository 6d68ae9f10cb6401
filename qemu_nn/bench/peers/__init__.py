"""Other runtimes on the same networks: the same geometry, weights and shifts in models of theirs."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ...graph import Graph
from . import litert, onnx

#: Name -> what makes a batch ready to be computed there. See litert.prepare().
PEERS: dict[str, Callable[[Graph, np.ndarray, int], Callable[[], np.ndarray]]] = {
    "LiteRT": litert.prepare,
    "ONNX Runtime": onnx.prepare,
}
