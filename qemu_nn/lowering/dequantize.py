"""Float network of a network of s8 or s16 calls without a source.

Weights are dequantized integers, so only the rounding of activations is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..errors import Error, ModelError
from ..functions.float_semantics import FloatCall, Meant, Scale
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.graph import Graph, Node, Tensor
from ..operators import Clip, Operator, Relu, Reshape, Shape

#: Limits within half a step of this value count as equal.
_SIX = 6.0


def dequantize_graph(graph: Graph) -> FloatGraph:
    """Return the network in operators; tensors have the names of the calls that compute them.

    Raises Error that names a call without float semantics.
    """
    if graph.memory is not None or graph.states or graph.loops:
        raise Error(
            f"cannot compare {graph.name} with floats: it works in memory of its own, keeps "
            "a state, or has loops, which no float network does"
        )
    made = _Made(graph)
    for node in graph.nodes:
        try:
            made.add(node)
        except ModelError as problem:
            raise Error(
                f"cannot compare {graph.name} with floats: {node.name}: {problem}"
            ) from None
    (start, shape), *others = ((tensor.name, tensor.shape) for tensor in graph.inputs)
    layout = "NHWC" if len(shape) == 3 else None
    outputs = tuple(made.find_holder(name) for name in graph.outputs)
    given = (start, shape, layout, tuple(made.nodes), outputs, graph.classes, tuple(others))
    return FloatGraph(graph.name, *given)


@dataclass
class _Made:
    """Float network under construction.

    stand: tensors without an operator -> their replacement: a constant, or the smaller tensor of a
    copy, which operators broadcast.
    """

    graph: Graph
    nodes: list[FloatNode] = field(default_factory=list)
    stand: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = self.graph.tensors
        self.shapes = {tensor.name: tensor.shape for tensor in self.graph.inputs}

    def find_holder(self, name: str) -> str:
        """Return the float tensor that represents a tensor."""
        return self.stand.get(name, name)

    def put(self, name: str, operator: Operator, inputs: Sequence[str]) -> str:
        self.shapes[name] = operator.shape(*(self.shapes[each] for each in inputs))
        self.nodes.append(FloatNode(name, operator, tuple(inputs)))
        return name

    def reshape(self, name: str, shape: Shape, to: str) -> str:
        """Return a tensor in a shape, named `to` if it is reshaped."""
        return name if self.shapes[name] == shape else self.put(to, Reshape(shape), (name,))

    def add(self, node: Node) -> None:
        """Append a call."""
        if node.function.meaning is None:
            raise ModelError(f"{node.function.name} has no float meaning")
        meant = node.function.meaning(self._get_inputs(node))
        sources = [self.find_holder(name) for name in node.inputs]
        if not meant.operators:
            (shape,) = meant.inputs
            assert shape is not None  # without computation
            self.stand[node.name] = self.reshape(sources[0], shape, f"{node.name}/small")
        elif not meant.inputs:
            (value,) = meant.operators
            start = (self.graph.input.name,)
            self.stand[node.name] = self.put(f"{node.name}/value", value, start)
        else:
            self._call(node, meant, sources)

    def _get_inputs(self, node: Node) -> FloatCall:
        weights, bias = (self.graph.arrays.get(name or "") for name in (node.weights, node.bias))
        formats = (self.tensors[(*node.inputs, node.name)[0]].format, node.output.format)
        source, output = (Scale(each.scale, each.zero_point) for each in formats)
        return FloatCall(
            node.function, node.params, weights, bias, source, output, node.output.shape
        )

    def _call(self, node: Node, meant: Meant, sources: Sequence[str]) -> None:
        """Append an operator: its inputs in the shapes that it accepts, its output shape, its
        limits.
        """
        inputs = [
            name if shape is None else self.reshape(name, shape, f"{node.name}/in{index}")
            for index, (name, shape) in enumerate(zip(sources, meant.inputs), 1)
        ]
        steps = list(meant.operators)
        made = steps[0].shape(*(self.shapes[name] for name in inputs))
        for operator in steps[1:]:
            made = operator.shape(made)
        if made != node.output.shape:
            steps.append(Reshape(node.output.shape))
        limit = _find_limit(node)
        steps += [] if limit is None else [limit]
        for index, operator in enumerate(steps, 1):
            last = index == len(steps)
            inputs = [self.put(node.name if last else f"{node.name}/{index}", operator, inputs)]


def _find_limit(node: Node) -> Optional[Operator]:
    """Return the activation that a call has fused; None if it clamps nothing."""
    params, output = node.params, node.output
    if params.get("rectified"):
        return Relu()
    if "act_min" not in params:
        return None
    least, most = output.format.limits
    lowest, highest = params["act_min"], params["act_max"]
    pools = node.function.op in ("max_pool", "avgpool")
    low = (
        _find_end(lowest, output)
        if lowest > least or _rectifies(lowest, output, pools)
        else -math.inf
    )
    high = _find_end(highest, output) if highest < most else math.inf
    if low == 0 and abs(_find_end(highest, output) - _SIX) <= output.format.scale / 2 and not pools:
        high = _SIX
    if low == 0:
        return Relu(limit=None if high == math.inf else high)
    return None if (low, high) == (-math.inf, math.inf) else Clip(low, high)


def _rectifies(lowest: int, output: Tensor, pools: bool) -> bool:
    """True if no value is below the zero point: after a rectifier, through pooling."""
    return lowest == output.zero_point and not pools


def _find_end(value: int, output: Tensor) -> float:
    return float(output.format.dequantize(np.array(value)))
