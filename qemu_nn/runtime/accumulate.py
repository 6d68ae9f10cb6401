"""What calls would compute with unlimited integers: sums that never wrap, nothing saturated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

import numpy as np

from ..ir.graph import Graph, Node
from ..operators import Conv, Dense
from ..targets import Profile
from . import accumulate_s8
from .exact import exact_products


def accumulators(graph: Graph, node: Node, x: np.ndarray, profile: Profile) -> Optional[np.ndarray]:
    """The sums of a node with weights over integers x [N, ...], with bias and rounding; else None.

    Exact, and not wrapped: float64 holds every integer below 2^53.
    """
    if accumulate_s8.is_affine(graph):
        return accumulate_s8.accumulators(graph, node, x)
    operator = products(graph, node)
    if operator is None or node.bias is None:
        return None
    shape = node.function.inputs[0].shape(node.params)
    sums = exact_products(operator, x.reshape(len(x), *shape))
    start = np.ldexp(graph.arrays[node.bias].astype(np.float64), node.params["bias_shift"])
    result: np.ndarray = sums + start + _rounding(node, profile)
    return result


def unsaturated(
    graph: Graph,
    node: Node,
    inputs: Sequence[np.ndarray],
    sums: Optional[np.ndarray],
    profile: Profile,
) -> Optional[np.ndarray]:
    """The output [N, ...] of a node for these inputs, as if its elements could hold any integer.

    sums: its accumulators, if it has some. None where a node does not add or multiply.
    """
    if accumulate_s8.is_affine(graph):
        return accumulate_s8.unsaturated(graph, node, inputs, sums)
    if sums is None:
        a, b = (inputs[0].astype(np.float64), inputs[-1].astype(np.float64))
        op = node.function.op
        if op == "nn_mult":
            sums = a * b + _rounding(node, profile)
        elif op in ("add", "sub"):
            return a + b if op == "add" else a - b
        else:
            return None
    result: np.ndarray = np.floor(np.ldexp(sums, -node.params["out_shift"]))
    return result


def _rounding(node: Node, profile: Profile) -> float:
    """The term that is added before the shift down; csrc/common/fixed.h has its corner at 31."""
    shift = node.params["out_shift"]
    if profile.rounding == "truncate":
        return 0.0
    return -(2.0**30) if shift == 31 and profile.cmsis == "5.9.0" else float(2**shift // 2)


def products(graph: Graph, node: Node) -> Union[Conv, Dense, None]:
    """A convolution or fully connected layer as an operator on integers; None for all others."""
    if node.function.product is None:
        return None
    return node.function.product(node.params, graph.arrays[node.weights or ""])
