"""Float semantics of calls: operators of the float network, and float arrays of integers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.formats import name_q_format
from ..ir.graph import Graph, Node, Tensor
from ..operators import Conv, Dense, Identity, Operator, Reshape
from ..quantizer.fusion import get_clamp_bounds
from ..runtime.unbounded import make_product_layer
from ..runtime.unbounded_s8 import find_factors, get_bias, is_affine
from .prepare import prepare, take_device_part
from .prepare_s8 import prepare_s8


@dataclass(frozen=True)
class Meaning:
    """Float semantics of one call: an operator, and activations after it with range low .. high."""

    operator: Operator
    activations: tuple[Operator, ...] = ()
    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        return "+".join(type(each).__name__ for each in (self.operator, *self.activations))


@dataclass(frozen=True)
class Counterpart:
    """Integers of a call, with the value scale * integer, and the float array they were made of.

    matters: the least magnitude whose loss shows in the output.
    """

    layer: str
    role: str
    real: np.ndarray
    integers: np.ndarray
    scale: np.ndarray
    format: str
    matters: float = 0.0


def make_foreign_error(graph: Graph) -> Error:
    """Return the error for a float network that is not the source of a quantized network."""
    return Error(f"the float reference of {graph.name} is of another network: quantize it again")


def find_meanings(graph: Graph, reference: FloatGraph) -> dict[str, Meaning]:
    """Return call -> meaning, for calls that compute a tensor of the float network."""
    part = reference if reference.input == graph.input.name else take_device_part(reference)
    if is_affine(graph):
        prepared, _ = prepare_s8(part, dtype=graph.input.dtype)
    else:
        prepared, _ = prepare(part, 8 * np.dtype(graph.input.dtype).itemsize)
    calls = set(graph.tensors)
    known = {node.name for node in prepared.nodes}
    return {n.name: _find_meaning(prepared, n.name, calls) for n in graph.nodes if n.name in known}


def _find_meaning(graph: FloatGraph, name: str, calls: set[str]) -> Meaning:
    """Back to the last operator that no call before computes."""
    makers = {node.name: node for node in graph.nodes}
    seen: list[Operator] = []
    low, high = -math.inf, math.inf
    while True:
        node = makers[name]
        limits = get_clamp_bounds(node.operator)
        if limits is not None:
            low, high = max(low, limits[0]), min(high, limits[1])
        same = isinstance(node.operator, (Reshape, Identity))
        if not same:
            seen.insert(0, node.operator)
        name = node.inputs[0]
        if name in calls or name not in makers or not (same or limits is not None):
            first, *activations = seen or [node.operator]
            return Meaning(first, tuple(activations), low, high)


def iterate_counterparts(graph: Graph, known: Mapping[str, Meaning]) -> Iterator[Counterpart]:
    """Yield weights and biases of all layers; raise Error if shapes differ."""
    tensors = graph.tensors
    for node in graph.nodes:
        meaning, own = known.get(node.name), make_product_layer(graph, node)
        operator = meaning.operator if meaning else None
        if own is None or not isinstance(operator, (Conv, Dense)):
            continue
        if own.weights.shape != operator.weights.shape:
            raise make_foreign_error(graph)
        make = _affine if is_affine(graph) else _power_of_two
        yield from make(graph, node, tensors[node.inputs[0]], operator, own.weights)


def _power_of_two(
    graph: Graph, node: Node, source: Tensor, operator: Conv | Dense, weights: np.ndarray
) -> Iterator[Counterpart]:
    dtype, output = node.output.dtype, node.output.frac or 0
    product = node.params.get("right_shift", node.params.get("out_shift", 0)) + output
    frac = product - (source.frac or 0)
    integers = weights.astype(dtype)
    scale = np.ldexp(1.0, -frac)
    yield Counterpart(
        node.name, "weights", operator.weights, integers, scale, name_q_format(dtype, frac)
    )
    if operator.bias is not None and node.bias is not None:
        frac = product - node.params.get("bias_shift", 0)
        bias, scale = graph.arrays[node.bias], np.ldexp(1.0, -frac)
        quarter = math.ldexp(0.25, -output)  # of a step of the output
        held = name_q_format(bias.dtype.name, frac)
        yield Counterpart(node.name, "bias", operator.bias, bias, scale, held, quarter)


def _affine(
    graph: Graph, node: Node, source: Tensor, operator: Conv | Dense, weights: np.ndarray
) -> Iterator[Counterpart]:
    output = node.output.format.scale
    steps = find_factors(graph, node) * output
    scale = (steps / source.format.scale).reshape(-1, *[1] * (weights.ndim - 1))
    integers = weights.astype(np.int8)
    yield Counterpart(
        node.name, "weights", operator.weights, integers, scale, _format_scales(scale)
    )
    bias, zeros = get_bias(graph, node), (source.zero_point, node.output.zero_point)
    shifted = node.function.type == "s16" and any(zeros)  # these are fused into it
    if operator.bias is not None and bias is not None and not shifted:
        held = _format_scales(steps)
        yield Counterpart(node.name, "bias", operator.bias, bias, steps, held, output / 4)


def _format_scales(scale: np.ndarray) -> str:
    """Return one scale, or from the finest to the coarsest."""
    low, high = float(scale.min()), float(scale.max())
    return f"{low:.4g}*q" if low == high else f"{low:.3g}..{high:.3g}*q"
