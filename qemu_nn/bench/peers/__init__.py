"""Other runtimes on the same networks: same geometry, weights and shifts, as models of theirs."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ...ir.graph import Graph
from . import litert, onnx

#: Name -> what makes a batch ready to be computed there. See litert.prepare().
PEERS: dict[str, Callable[[Graph, np.ndarray, int], Callable[[], np.ndarray]]] = {
    "LiteRT": litert.prepare,
    "ONNX Runtime": onnx.prepare,
}
