"""What calls would compute with unlimited integers: sums that never wrap, nothing saturated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

import numpy as np

from ..functions import layouts
from ..ir.graph import Graph, Node
from ..operators import Conv, Dense
from ..targets import Profile
from . import accumulate_s8


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
    sums = operator.evaluate(x.astype(np.float64).reshape(len(x), *shape))
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
    if accumulate_s8.is_affine(graph):
        return accumulate_s8.products(graph, node)
    params, op, declared = node.params, node.function.op, node.function.weights
    if declared is None or not op.startswith(("convolve", "depthwise", "fully_connected")):
        return None
    array = graph.arrays[node.weights or ""].astype(np.float64)
    if op.startswith("fully_connected"):
        rows, columns = params["num_of_rows"], params["dim_vec"]
        if node.function.interleave is not None:
            return Dense(layouts.unpack(array, rows, columns, node.function.interleave))
        return Dense(array.reshape(rows, columns))
    weights: np.ndarray = array.reshape(declared.shape(params))
    groups = 1
    if op.startswith("depthwise"):
        weights, groups = weights.transpose(2, 0, 1)[..., None], params["ch_im_in"]
    pads: list[tuple[int, int]] = []
    strides: list[int] = []
    for axis, kernel in (("y", int(weights.shape[1])), ("x", int(weights.shape[2]))):
        size, stride, before, out = (_side(node, n, axis) for n in _SIDES)
        pads.append((before, (out - 1) * stride + kernel - size - before))
        strides.append(stride)
    around = (pads[0][0], pads[1][0], pads[0][1], pads[1][1])
    return Conv(weights, None, (strides[0], strides[1]), around, groups=groups)


_SIDES = ("dim_im_in", "stride", "padding", "dim_im_out")


def _side(node: Node, name: str, axis: str) -> int:
    """A geometric argument along an axis, of square functions too."""
    return node.params.get(f"{name}_{axis}", node.params.get(name, 0))
