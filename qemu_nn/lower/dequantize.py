"""The float network that a network of s8 or s16 calls stands for, where it came without one.

Weights are what their integers stand for, so only the rounding of activations is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import numpy as np

from ..errors import Error
from ..float_graph import FloatGraph, FloatNode
from ..graph import Graph, Node, Tensor
from ..operators import Affine, Clip, Conv, Dense, Elementwise, Operator, Relu, Reshape, Shape
from ..runtime.accumulate import products
from ..runtime.accumulate_affine import bias_of, factors
from .dequantize_plain import Meant, unweighted

_KINDS = {"elementwise_add": "add", "elementwise_sub": "subtract", "elementwise_mul": "multiply"}
_KINDS.update(minimum="minimum", maximum="maximum")

#: A limit that is within half a step of this one is meant as it.
_SIX = 6.0


def dequantized(graph: Graph) -> FloatGraph:
    """The network in operators: tensors have the names of the calls that compute them.

    Raises Error that names a call which has no meaning in real numbers of its own.
    """
    if graph.memory is not None or graph.states:
        raise Error(f"{graph.name} works in the firmware's own memory: no float network says what")
    made = _Made(graph)
    for node in graph.nodes:
        made.add(node)
    start, shape = graph.input.name, graph.input.shape
    layout = "NHWC" if len(shape) == 3 else None
    outputs = tuple(made.holder(name) for name in graph.outputs)
    return FloatGraph(graph.name, start, shape, layout, tuple(made.nodes), outputs, graph.classes)


@dataclass
class _Made:
    """The float network under construction.

    constants: tensors that are the same for every input. small: those that are copies of a
    smaller one, which operators broadcast by themselves.
    """

    graph: Graph
    nodes: list[FloatNode] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    small: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        made = [node.output for node in self.graph.nodes]
        self.tensors = {tensor.name: tensor for tensor in (self.graph.input, *made)}
        self.shapes = {self.graph.input.name: self.graph.input.shape}

    def holder(self, name: str) -> str:
        """The float tensor that a tensor is, or is copies of."""
        return self.small.get(name, name)

    def put(self, name: str, operator: Operator, inputs: Sequence[str]) -> str:
        self.nodes.append(FloatNode(name, operator, tuple(inputs)))
        self.shapes[name] = operator.shape(*(self.shapes[each] for each in inputs))
        return name

    def shaped(self, name: str, shape: Shape, to: str) -> str:
        """A tensor in a shape, under the name `to` if it has another one."""
        return name if self.shapes[name] == shape else self.put(to, Reshape(shape), (name,))

    def add(self, node: Node) -> None:
        """One more call."""
        op, output = node.function.op, node.output
        if op == "constant":
            values = self.graph.arrays[node.weights or ""]
            self.constants[node.name] = output.format.dequantize(values).reshape(output.shape)
        elif op == "broadcast":
            sides = node.function.inputs[0].shape(node.params)
            shape = sides[len(sides) - len(output.shape) :]
            name = f"{node.name}/small"
            self.small[node.name] = self.shaped(self.holder(node.inputs[0]), shape, name)
        elif op in _KINDS:
            self._combine(node, _KINDS[op])
        elif (own := products(self.graph, node)) is not None:
            self._weighted(node, own)
        elif (meant := unweighted(node, [self.tensors[name] for name in node.inputs])) is not None:
            self._call(node, meant, [self.holder(name) for name in node.inputs])
        else:
            raise Error(
                f"{node.name}: {node.function.name} is not known in real numbers, so that there is "
                f"nothing to compare {self.graph.name} with"
            )

    def _weighted(self, node: Node, own: Conv | Dense) -> None:
        output, source = node.output.format.scale, self.tensors[node.inputs[0]].format.scale
        steps = factors(self.graph, node) * output
        scales = (steps / source).reshape(-1, *[1] * (own.weights.ndim - 1))
        bias = bias_of(self.graph, node)
        real = None if bias is None else bias * np.broadcast_to(steps, bias.shape)
        operator = replace(own, weights=own.weights * scales, bias=real)
        shape = node.output.shape
        if isinstance(own, Dense):
            into: Shape = (*shape[:-1], own.weights.shape[1])
        else:
            into = node.function.inputs[0].shape(node.params)[1:]
        self._call(node, Meant(operator, (into,)), [self.holder(node.inputs[0])])

    def _combine(self, node: Node, kind: str) -> None:
        """Of two tensors, or of one and a constant."""
        shape = node.output.shape
        if not self.constants.keys() & set(node.inputs):
            sources = [self.holder(name) for name in node.inputs]
            self._call(node, Meant(Elementwise(kind), (None, None)), sources)
            return
        (name, *more) = [each for each in node.inputs if each not in self.constants] or [""]
        constants = [self.constants[each] for each in node.inputs if each in self.constants]
        operator = _with_constant(kind, constants[0], name == node.inputs[0])
        if operator is None or more or len(constants) > 1:
            raise Error(f"{node.name}: {node.function.name} of constants is not known")
        self._call(node, Meant(operator, (shape,)), [self.holder(name)])

    def _call(self, node: Node, meant: Meant, sources: Sequence[str]) -> None:
        """Inputs in the shapes that an operator takes, the operator, its limits, its shape."""
        inputs = [
            name if shape is None else self.shaped(name, shape, f"{node.name}/in{index}")
            for index, (name, shape) in enumerate(zip(sources, meant.inputs), 1)
        ]
        steps = [meant.operator]
        steps += [limit for limit in [_limit(node)] if limit is not None]
        made = meant.operator.shape(*(self.shapes[name] for name in inputs))
        if made != node.output.shape:
            steps.insert(1, Reshape(node.output.shape))
        for index, operator in enumerate(steps, 1):
            last = index == len(steps)
            inputs = [self.put(node.name if last else f"{node.name}/{index}", operator, inputs)]


def _with_constant(kind: str, constant: np.ndarray, first: bool) -> Optional[Operator]:
    """What a constant does to the other operand; first: this one comes first."""
    one, zero = np.array(1.0), np.array(0.0)
    if kind == "add":
        return Affine(one, constant)
    if kind == "subtract":
        return Affine(one, -constant) if first else Affine(-one, constant)
    if kind == "multiply":
        return Affine(constant, zero)
    if constant.size != 1:
        return None
    value = float(constant.item())
    return Clip(-math.inf, value) if kind == "minimum" else Clip(value, math.inf)


def _limit(node: Node) -> Optional[Operator]:
    """The activation that act_min and act_max are; None if they leave everything."""
    params, output = node.params, node.output
    if "act_min" not in params:
        return None
    least, most = output.format.limits
    lowest, highest = params["act_min"], params["act_max"]
    pools = node.function.op in ("max_pool", "avgpool")
    low = _end(lowest, output) if lowest > least or _rectifies(lowest, output, pools) else -math.inf
    high = _end(highest, output) if highest < most else math.inf
    if low == 0 and abs(_end(highest, output) - _SIX) <= output.format.scale / 2 and not pools:
        high = _SIX
    if low == 0:
        return Relu(limit=None if high == math.inf else high)
    return None if (low, high) == (-math.inf, math.inf) else Clip(low, high)


def _rectifies(lowest: int, output: Tensor, pools: bool) -> bool:
    """Nothing lies below the zero point: as a rectifier leaves it, which pooling keeps."""
    return lowest == output.zero_point and not pools


def _end(value: int, output: Tensor) -> float:
    return float(output.format.dequantize(np.array(value)))
