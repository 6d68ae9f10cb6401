"""Node by node from an .onnx file to a float network: constants are folded, the rest converted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...float_graph import FloatGraph, FloatNode
from ...operators import Operator, Transpose
from .call import Call, Converter, Tensor, Value
from .folding import FOLD_LIMIT, FOLDS, fold
from .reading import Model, Node


class Builder:
    """A network under construction: what each name of the file stands for, and the nodes so far."""

    def __init__(self, model: Model, input: str) -> None:
        self.nodes: list[FloatNode] = []
        self._model = model
        self._names = {name for node in model.nodes for name in node.outputs} | {input}
        self._values: dict[str, Value] = {input: Tensor(input, (1, *model.shape(input)), True)}
        self._unmade: dict[str, Node] = {}
        self._room = FOLD_LIMIT

    def call(self, node: Node) -> Call:
        """The node with the values of its inputs."""
        inputs = tuple(self.value(name) if name else None for name in node.inputs)
        return Call(node, self._model.opset, inputs, self)

    def value(self, name: str) -> Value:
        """What a name stands for; constants are decoded when they are first asked for."""
        if name not in self._values:
            if name in self._unmade:
                raise ModelError(
                    f"it reads {name!r}, an output of {self._unmade[name]} that is not supported"
                )
            if name not in self._model.constants:
                raise ModelError(f"it reads {name!r}, which nothing before it makes")
            self._values[name] = self._model.tensors.array(self._model.constants[name])
        return self._values[name]

    def decode(self, proto: object) -> np.ndarray:
        """The array of a tensor that is an attribute."""
        return self._model.tensors.array(proto)

    def part(self, name: str, part: str) -> str:
        """A new name for an earlier part of what a node comes to; the node's own for part ""."""
        if not part:
            return name
        name = f"{name}/{part}"
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def add(self, tensor: Tensor, operator: Operator, inputs: tuple[Tensor, ...]) -> None:
        """Add a node that makes a tensor."""
        self.nodes.append(FloatNode(tensor.name, operator, tuple(each.name for each in inputs)))
        self._values[tensor.name] = tensor

    def fold(self, node: Node, array: np.ndarray) -> None:
        """What a node of constants makes."""
        self.spend(array.size)
        self._values[node.outputs[0]] = array

    def spend(self, elements: int) -> None:
        """Count the elements of constants that are computed, so that they stay within a limit."""
        self._room -= elements
        if self._room < 0:
            raise ModelError(f"more than {FOLD_LIMIT} elements of constants are computed")

    def close(self, node: Node) -> None:
        """Remember the outputs that a node should have made and has not."""
        self._unmade.update((name, node) for name in node.outputs if name not in self._values)


def convert(
    model: Model, converters: Mapping[str, Converter], input: Optional[str], output: Optional[str]
) -> FloatGraph:
    """The network between an input and an output, named or the file's own."""
    outputs = model.outputs if output is None else (output,)
    nodes, start = _cut(model, input, outputs)
    builder = Builder(model, start)
    for node in nodes:
        try:
            _convert(builder, node, converters)
        except ModelError as error:
            raise ModelError(f"{model.name}: {node}: {error}") from None
    for name in outputs:
        if not isinstance(builder.value(name), Tensor):
            raise ModelError(f"{model.name}: the output {name!r} is a constant")
    return _graph(model, start, builder, outputs)


def _convert(builder: Builder, node: Node, converters: Mapping[str, Converter]) -> None:
    if node.op not in converters and node.op not in FOLDS:
        raise ModelError(
            "this operator is not supported; cut it off with input= or output=, or export the "
            f"network without it; have: {', '.join(sorted(converters))}"
        )
    call = builder.call(node)
    computed = [value.name for value in call.inputs if isinstance(value, Tensor)]
    if not computed and node.op in FOLDS:
        builder.fold(node, fold(call))
    elif node.op in converters:
        converters[node.op](call)
    else:
        raise ModelError(f"it is supported for constants alone, {computed[0]!r} is computed")
    builder.close(node)


def _cut(model: Model, input: Optional[str], outputs: tuple[str, ...]) -> tuple[list[Node], str]:
    """The nodes that the outputs need, in order, and the name of the only input they come from."""
    known = {*model.inputs, *(name for node in model.nodes for name in node.outputs)} - {""}
    for name in (input, *outputs):
        if name is not None and name not in known:
            raise ModelError(
                f"{model.name} has no tensor {name!r}; its inputs are {', '.join(model.inputs)}, "
                f"its outputs {', '.join(model.outputs)}"
            )
    needed, nodes = set(outputs), []
    for node in reversed(model.nodes):
        if needed.intersection(node.outputs) - {input}:
            nodes.append(node)
            needed.update(node.inputs)
    starts = [name for name in model.inputs if name in needed]
    if input is None and len(starts) == 1:
        return nodes[::-1], starts[0]
    if input is None:
        raise ModelError(
            f"{model.name} computes its output from {len(starts)} inputs ({', '.join(starts)}); "
            "networks of one input are read, input= and output= choose a part that is one"
        )
    others = [name for name in starts if name != input]
    if others or input not in needed:
        raise ModelError(
            f"{model.name}: {', '.join(outputs)} can not be computed from {input!r} alone"
        )
    return nodes[::-1], input


def _graph(model: Model, start: str, builder: Builder, outputs: tuple[str, ...]) -> FloatGraph:
    shape = model.shape(start)
    readers = [node.operator for node in builder.nodes if start in node.inputs]
    layout = None
    if len(shape) == 3:
        # Exports from TensorFlow take channels last and begin with moving them.
        last = all(operator == Transpose((2, 0, 1)) for operator in readers)
        layout = "NHWC" if last else "NCHW"
    return FloatGraph(Path(model.name).stem, start, shape, layout, tuple(builder.nodes), outputs)
