"""Computation of s8 and s16 functions with unbounded integers; see unbounded.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional

import numpy as np

from ..functions import float_semantics
from ..ir.graph import Graph, Node
from .exact_matmul import Products


def is_affine(graph: Graph) -> bool:
    """True if all tensors with a format have a scale and a zero point."""
    tensors = (*graph.inputs, *(node.output for node in graph.nodes))
    return any(tensor.scale is not None for tensor in tensors)


def find_factors(graph: Graph, node: Node) -> np.ndarray:
    """Return the factor of the sums of each output channel: multiplier * 2^(shift - 31)."""
    return float_semantics.compute_factors(
        node.function, node.params, graph.arrays.get(node.bias or "")
    )


def get_bias(graph: Graph, node: Node) -> Optional[np.ndarray]:
    """Return the biases of an s8 or s16 layer, in steps of its products."""
    return float_semantics.get_bias_row(node.function, graph.arrays.get(node.bias or ""))


def has_wide_sums(graph: Graph, node: Node) -> bool:
    """True if the function's sums are wider than 32 bits."""
    return node.bias is not None and graph.arrays[node.bias].itemsize == 8


def compute_accumulators(graph: Graph, node: Node, x: np.ndarray, layer: Products) -> np.ndarray:
    """Return the sums of a node with weights over integers x [N, ...], with bias."""
    shape = node.function.inputs[0].shape(node.params)  # the batch axis is first
    offset = 0 if node.function.type == "s16" else node.params["input_offset"]
    sums = layer.of(x.astype(np.int32).reshape(-1, *shape[1:]) + offset)
    bias = get_bias(graph, node)
    sums = sums if bias is None else sums + bias
    result: np.ndarray = sums.reshape(len(x), -1, sums.shape[-1])
    return result


def compute_unsaturated(
    graph: Graph, node: Node, inputs: Sequence[np.ndarray], sums: Optional[np.ndarray]
) -> Optional[np.ndarray]:
    """Return the output [N, ...] with unbounded elements, exact except for the last rounding.

    Exact but for the rounding of its last step.
    """
    params, op = node.params, node.function.op
    if sums is not None:
        result: np.ndarray = np.rint(sums * find_factors(graph, node) + params["output_offset"])
        return result
    if op in ("requantize", "leaky_relu"):
        return _rescale(node, inputs[0] - float(params["input_zero_point"]))
    if not op.startswith(("elementwise_add", "elementwise_sub", "elementwise_mul")):
        return None
    if node.function.type == "s16":
        first, second = (x.astype(np.float64) for x in inputs)
    else:
        first, second = (x + float(params[f"input_{i}_offset"]) for i, x in enumerate(inputs, 1))
    if op.startswith("elementwise_mul"):
        total = first * second
    else:
        parts = [_scale_sums(params, f"input_{i}", x) for i, x in enumerate((first, second), 1)]
        total = parts[0] + parts[1] if op.endswith("add") else parts[0] - parts[1]
        total = np.ldexp(total, params["left_shift"])
    rounded: Optional[np.ndarray] = np.rint(
        _scale_sums(params, "out", total) + params["out_offset"]
    )
    return rounded


def _rescale(node: Node, x: np.ndarray) -> np.ndarray:
    """Rescale values, with one scale above zero and one below."""
    params = node.params
    names = ("identity_", "alpha_") if node.function.op == "leaky_relu" else ("", "")
    above, below = (
        np.ldexp(float(params[f"{name}multiplier"]), params[f"{name}shift"] - 31) for name in names
    )
    result: np.ndarray = np.where(x < 0, x * below, x * above) + params["output_zero_point"]
    rounded: np.ndarray = np.rint(result)
    return rounded


def _scale_sums(params: Mapping[str, int], name: str, x: np.ndarray) -> np.ndarray:
    factor = np.ldexp(float(params[f"{name}_mult"]), params[f"{name}_shift"] - 31)
    result: np.ndarray = x * factor
    return result
