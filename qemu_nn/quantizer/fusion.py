"""Fusion of activations that only clamp into the call before them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import (
    Clip,
    Conv,
    ConvTranspose,
    Dense,
    Elementwise,
    MatMul,
    Operator,
    Pool,
    Relu,
)

_SUMS = ("add", "subtract", "multiply")


@dataclass(frozen=True)
class Clamp:
    """Tensor that a call writes, and the float limits that it is clamped to."""

    tensor: str
    low: float = -math.inf
    high: float = math.inf

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest."""
        return self.low, self.high


def find_clamps(graph: FloatGraph) -> dict[str, Clamp]:
    """Return node -> clamp of its call, for every node with a call of its own.

    If only an activation reads the output of a node, the node's call writes the activation's
    tensor. The activation then has no call and is not in the result.
    """
    calls: dict[str, Clamp] = {}
    fused: set[str] = set()
    for node in graph.nodes:
        if node.name in fused:
            continue
        own = Clamp(node.name, *(get_clamp_bounds(node.operator) or (-math.inf, math.inf)))
        while (
            _function_clamps(node.operator)
            and (behind := _find_activation(graph, own.tensor)) is not None
        ):
            low, high = get_clamp_bounds(behind.operator) or (own.low, own.high)
            ends = (min(max(end, low), high) for end in own.ends)
            own = Clamp(behind.name, *ends)
            fused.add(behind.name)
        calls[node.name] = own
    return calls


def get_clamp_bounds(operator: Operator) -> Optional[tuple[float, float]]:
    """Return the lowest and highest output of an activation that only clamps; None for all further
    operators.
    """
    if isinstance(operator, Relu) and not operator.slope:
        return 0.0, math.inf if operator.limit is None else operator.limit
    return (operator.low, operator.high) if isinstance(operator, Clip) else None


def _function_clamps(operator: Operator) -> bool:
    """True if the function of an operator has the arguments act_min and act_max."""
    if isinstance(operator, Elementwise):
        return operator.kind in _SUMS
    clamping = (Conv, ConvTranspose, Dense, MatMul, Pool)
    return isinstance(operator, clamping) or get_clamp_bounds(operator) is not None


def _find_activation(graph: FloatGraph, name: str) -> Optional[FloatNode]:
    readers = graph.readers(name)
    alone = len(readers) == 1 and name not in graph.outputs
    return readers[0] if alone and get_clamp_bounds(readers[0].operator) is not None else None
