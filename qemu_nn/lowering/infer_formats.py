"""Inference of formats missing in a file, from multipliers and offsets.

An ExecuTorch program contains ratios of scales alone. If they do not determine a scale, a layer's
output gets its input's scale. This choice changes only the unit of differences to floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import Error
from ..ir.formats import limits
from ..ir.graph import Graph, Node, Tensor

#: Ops whose output has the format of their inputs.
_SAME = (
    *("max_pool", "avgpool", "pad", "transpose", "concatenation", "slice", "gather", "broadcast"),
    *("maximum", "minimum", "relu", "resize_nearest", "reshape"),
)

#: Unit of softmax's multiplier, 2^-26 of a scale, and the scale of its output.
_SOFTMAX_BITS, _SOFTMAX_SCALE = 26, math.log2(1 / 256)

#: Scale of an input without information, and the largest scale.
_ANY, _MOST = -7.0, 500.0


def infer_formats(graph: Graph) -> Graph:
    """Return the graph with formats for all integers; raise Error if one cannot have a format."""
    unknown = {t.name for t in graph.tensors.values() if _is_open(t)}
    if not unknown:
        return graph
    found = _Found(graph)
    found.solve(unknown)
    nodes = tuple(
        replace(node, output=found.put(node.output)) if node.name in unknown else node
        for node in graph.nodes
    )
    inputs = tuple(found.put(t) if t.name in unknown else t for t in graph.inputs)
    return replace(graph, nodes=nodes, inputs=inputs)


def _is_open(tensor: Tensor) -> bool:
    return tensor.scale is None and tensor.frac is None and tensor.dtype in ("int8", "int16")


@dataclass
class _Found:
    """Known formats: base-2 logarithms of scales, and zero points."""

    graph: Graph
    scales: dict[str, float] = field(default_factory=dict)
    zeros: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tensor in self.graph.tensors.values():
            if tensor.scale is not None:
                self.scales[tensor.name] = math.log2(tensor.scale)
                self.zeros[tensor.name] = tensor.zero_point
        for node in self.graph.nodes:
            self.zeros.update(_get_zero_points(node))

    def solve(self, unknown: set[str]) -> None:
        """Solve equations with one unknown scale; without one, choose a scale."""
        equations = [each for node in self.graph.nodes for each in _list_equations(node)]
        same = [node for node in self.graph.nodes if node.function.op in _SAME]
        for _ in range(2):  # zero points, forwards and back
            for node in [*same, *reversed(same)]:
                known = [n for n in (*node.inputs, node.name) if n in self.zeros]
                for name in (*node.inputs, node.name) if known else ():
                    self.zeros.setdefault(name, self.zeros[known[0]])
        order = [name for name in self.graph.tensors if name in unknown]
        while True:
            while sum(self._follow(*equation) for equation in equations):
                pass
            left = next((name for name in order if name not in self.scales), None)
            if left is None:
                return
            self.scales[left] = self._choose_scale(left)

    def _follow(self, exponents: Mapping[str, int], constant: float) -> bool:
        """Find the one scale of an equation that is open."""
        open_ = [
            name for name, exponent in exponents.items() if name not in self.scales and exponent
        ]
        if len(open_) != 1:
            return False
        rest = sum(e * self.scales[name] for name, e in exponents.items() if name in self.scales)
        self.scales[open_[0]] = (constant - rest) / exponents[open_[0]]
        return True

    def _choose_scale(self, name: str) -> float:
        """Return the scale of its source, which keeps all numbers in one range."""
        sources = [node.inputs for node in self.graph.nodes if node.name == name]
        known = [self.scales[each] for each in (sources or [()])[0] if each in self.scales]
        return known[0] if known else _ANY

    def put(self, tensor: Tensor) -> Tensor:
        """Return a tensor with its format."""
        zero = self.zeros.get(tensor.name, 0)
        low, high = limits(tensor.dtype)
        if not low <= zero <= high or abs(self.scales[tensor.name]) > _MOST:
            raise Error(
                f"cannot compare {self.graph.name} with floats: {tensor.name!r} has the "
                f"zero point {zero} and the scale 2^{self.scales[tensor.name]:.1f}"
            )
        return replace(tensor, scale=2.0 ** self.scales[tensor.name], zero_point=zero)


def _compute_log_factor(node: Node, multiplier: str, shift: str) -> float:
    """Return the logarithm of a multiplier with its shift, without its sign."""
    return math.log2(abs(node.params[multiplier]) or 1) + node.params[shift] - 31


def _list_equations(node: Node) -> Iterator[tuple[dict[str, int], float]]:
    """Yield equations of the logarithms of scales: exponents by tensor, and the sum."""
    p, op, made = node.params, node.function.op, node.name
    if op in _SAME:
        yield from (({name: 1, made: -1}, 0.0) for name in node.inputs if name != made)
    elif op == "elementwise_add":
        out = _compute_log_factor(node, "out_mult", "out_shift") + p["left_shift"]
        for number, name in enumerate(node.inputs, 1):
            own = _compute_log_factor(node, f"input_{number}_mult", f"input_{number}_shift")
            yield {name: 1, made: -1}, own + out
    elif op in ("elementwise_mul", "batch_matmul"):
        names = ("out_mult", "out_shift") if "out_mult" in p else ("multiplier", "shift")
        one, two = node.inputs
        yield _sum({one: 1}, {two: 1}, {made: -1}), _compute_log_factor(node, *names)
    elif op == "quantized_div":
        factor = float(np.int32(p["factor_bits"]).view(np.float32))
        one, two = node.inputs
        yield _sum({one: 1}, {two: -1}, {made: -1}), math.log2(factor)
    elif op == "softmax":
        yield {node.inputs[0]: 1}, _compute_log_factor(node, "mult", "shift") - _SOFTMAX_BITS
        yield {made: 1}, _SOFTMAX_SCALE
    elif op == "dequantize":
        scale = float(np.int32(p["scale_bits"]).view(np.float32))
        yield {node.inputs[0]: 1}, math.log2(scale)


def _sum(*parts: Mapping[str, int]) -> dict[str, int]:
    """Exponents together: both inputs may be one tensor."""
    found: dict[str, int] = {}
    for part in parts:
        for name, exponent in part.items():
            found[name] = found.get(name, 0) + exponent
    return found


def _get_zero_points(node: Node) -> dict[str, int]:
    """Return the zero points that a call knows, of inputs and output."""
    p, inputs = node.params, node.inputs
    found: dict[str, int] = {}
    for places in (
        ("input_offset",),
        ("input_1_offset", "input_2_offset"),
        ("lhs_offset", "rhs_offset"),
    ):
        if places[0] in p:
            found.update({name: -p[place] for name, place in zip(inputs, places)})
    for places in (("zero_point",), ("zero_point_1", "zero_point_2")):
        if places[0] in p and node.function.op in ("dequantize", "quantized_div"):
            found.update({name: p[place] for name, place in zip(inputs, places)})
    for place in ("output_offset", "out_offset"):
        if place in p:
            found[node.name] = p[place]
    if node.function.op == "quantized_div":
        found[node.name] = p["output_zero_point"]
    if node.function.op == "softmax":
        found[node.name] = -128
    return found
