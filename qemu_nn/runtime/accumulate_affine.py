"""What calls of the s8 and s16 API would compute, could every number grow; see accumulate.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional, Union

import numpy as np

from ..functions import layouts
from ..functions.extents import Half, extent
from ..functions.meaning import pads
from ..ir.graph import Graph, Node
from ..operators import Conv, Dense

#: Ops whose weights are multiplied with windows or rows of the input.
_PRODUCTS = ("convolve", "depthwise", "fully_connected")


def is_affine(graph: Graph) -> bool:
    """Do its tensors have scales and zero points?"""
    return graph.input.scale is not None


def factors(graph: Graph, node: Node) -> np.ndarray:
    """What the sums of each output channel are multiplied by: multiplier * 2^(shift - 31)."""
    if node.function.stack:
        _, multiplier, shift = graph.arrays[node.bias or ""].astype(np.int64)
    else:
        multiplier, shift = (np.array([node.params[n]]) for n in ("multiplier", "shift"))
    result: np.ndarray = np.ldexp(multiplier.astype(np.float64), shift - 31)
    return result


def bias_of(graph: Graph, node: Node) -> Optional[np.ndarray]:
    """The biases of an affine layer, in steps of its products."""
    if node.bias is None:
        return None
    array = graph.arrays[node.bias]
    return array[0] if node.function.stack else array


def products(graph: Graph, node: Node) -> Union[Conv, Dense, None]:
    """A layer with weights as an operator on integers, without its bias; None for all others."""
    declared, params = node.function.weights, node.params
    if declared is None or node.weights is None or not node.function.op.startswith(_PRODUCTS):
        return None
    array, axes = graph.arrays[node.weights], declared.axes
    if isinstance(axes[0], Half):
        axes = axes[0].parts
        array = layouts.unpack_nibbles(array, extent(axes, params))
    weights = array.astype(np.float64)
    shape = tuple(extent(axis, params) for axis in axes)
    if len(shape) == 2:
        return Dense(weights.reshape(shape) + params["filter_offset"])
    weights, groups = weights.reshape(shape), 1
    if "ch_mult" in params:
        weights, groups = weights[0].transpose(2, 0, 1)[..., None], params["input_c"]
    else:
        groups = params["input_c"] // params["filter_c"]
    stride, dilation = ((params[f"{n}_h"], params[f"{n}_w"]) for n in ("stride", "dilation"))
    return Conv(weights, None, stride, pads(params), dilation, groups)


def has_room(graph: Graph, node: Node) -> bool:
    """Are its sums wider than 32 bits?"""
    return node.bias is not None and graph.arrays[node.bias].itemsize == 8


def accumulators(graph: Graph, node: Node, x: np.ndarray) -> Optional[np.ndarray]:
    """The sums of a node with weights over integers x [N, ...], with bias; else None."""
    operator = products(graph, node)
    if operator is None:
        return None
    shape = node.function.inputs[0].shape(node.params)  # batches come first
    shifted = x.astype(np.float64).reshape(-1, *shape[1:])
    if node.function.type != "s16":
        shifted += node.params["input_offset"]
    sums = operator.evaluate(shifted)
    bias = bias_of(graph, node)
    sums = sums if bias is None else sums + bias
    result: np.ndarray = sums.reshape(len(x), -1, sums.shape[-1])
    return result


def unsaturated(
    graph: Graph, node: Node, inputs: Sequence[np.ndarray], sums: Optional[np.ndarray]
) -> Optional[np.ndarray]:
    """The output [N, ...], could it hold any integer; to within the rounding of its last step."""
    params, op = node.params, node.function.op
    if sums is not None:
        result: np.ndarray = np.rint(sums * factors(graph, node) + params["output_offset"])
        return result
    if op in ("requantize", "leaky_relu"):
        return _rescaled(node, inputs[0] - float(params["input_zero_point"]))
    if not op.startswith(("elementwise_add", "elementwise_sub", "elementwise_mul")):
        return None
    if node.function.type == "s16":
        first, second = (x.astype(np.float64) for x in inputs)
    else:
        first, second = (x + float(params[f"input_{i}_offset"]) for i, x in enumerate(inputs, 1))
    if op.startswith("elementwise_mul"):
        total = first * second
    else:
        parts = [_scaled(params, f"input_{i}", x) for i, x in enumerate((first, second), 1)]
        total = parts[0] + parts[1] if op.endswith("add") else parts[0] - parts[1]
        total = np.ldexp(total, params["left_shift"])
    return np.rint(_scaled(params, "out", total) + params["out_offset"])


def _rescaled(node: Node, x: np.ndarray) -> np.ndarray:
    """Another scale, above zero and below it."""
    params = node.params
    names = ("identity_", "alpha_") if node.function.op == "leaky_relu" else ("", "")
    above, below = (
        np.ldexp(float(params[f"{name}multiplier"]), params[f"{name}shift"] - 31) for name in names
    )
    result: np.ndarray = np.where(x < 0, x * below, x * above) + params["output_zero_point"]
    return np.rint(result)


def _scaled(params: Mapping[str, int], name: str, x: np.ndarray) -> np.ndarray:
    factor = np.ldexp(float(params[f"{name}_mult"]), params[f"{name}_shift"] - 31)
    result: np.ndarray = x * factor
    return result
