"""The exact sums inside of a layer with weights, before the device shifts and saturates them."""

from __future__ import annotations

from typing import Optional

import numpy as np

from ..graph import Graph, Node
from ..layers import layouts
from ..operators import Conv, Dense, Operator


def accumulators(graph: Graph, node: Node, x: np.ndarray) -> Optional[np.ndarray]:
    """The sums that a node computes of integer inputs x [N, ...], bias and rounding not wrapped.

    Exact: float64 holds every sum below 2^53. Rounding is half up. None for a node without
    weights, and where padding is more than the image asks for on the far side.
    """
    if node.weights is None or node.bias is None or "out_shift" not in node.params:
        return None
    operator = _operator(graph, node)
    if operator is None:
        return None
    shape = node.function.inputs[0].shape(node.params)
    sums = operator.evaluate(x.astype(np.float64).reshape(len(x), *shape))
    start = np.ldexp(graph.arrays[node.bias].astype(np.float64), node.params["bias_shift"])
    result: np.ndarray = sums + start + float(2 ** node.params["out_shift"] // 2)
    return result


def shifted(node: Node, sums: np.ndarray) -> np.ndarray:
    """What the output would be, could it hold any integer."""
    result: np.ndarray = np.floor(np.ldexp(sums, -node.params["out_shift"]))
    return result


def _operator(graph: Graph, node: Node) -> Optional[Operator]:
    """The node's products as an operator on integers."""
    params, op = node.params, node.function.op
    array = graph.arrays[node.weights or ""].astype(np.float64)
    if op.startswith("fully_connected"):
        rows, columns = params["num_of_rows"], params["dim_vec"]
        if node.function.interleave is not None:
            return Dense(layouts.unpack(array, rows, columns, node.function.interleave))
        return Dense(array.reshape(rows, columns))
    declared = node.function.weights
    if declared is None or not op.startswith(("convolve", "depthwise")):
        return None
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
