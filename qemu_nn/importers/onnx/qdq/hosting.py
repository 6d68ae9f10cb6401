"""The host's floats: steps before the first QuantizeLinear, and after the last DequantizeLinear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ....errors import ModelError
from ....ir.float_graph import FloatGraph, FloatNode
from ....operators import Identity, Shape
from ...tensor import Tensor
from .. import building
from ..call import OnnxCall
from ..network import CONVERTERS
from ..reading import Model
from ..unread import expect_read
from .building import Builder
from .site import not_quantized
from .symbols import Fixed, Int, Outside, Pending, Real, Value

#: Most steps that a note names.
_NAMED = 6


class _Part:
    """A float network under construction, from any number of tensors."""

    def __init__(self, model: Model) -> None:
        self._name = Path(model.name).stem
        self._builder = building.OnnxBuilder(model, {})
        self.starts: dict[str, Shape] = {}

    def start(self, name: str, shape: Shape) -> Tensor:
        """Return one of its inputs."""
        self.starts[name] = shape
        tensor = Tensor(name, (1, *shape), True)
        self._builder.values[name] = tensor
        return tensor

    def _put(self, call: OnnxCall, inputs: Sequence[Any], before: bool) -> dict[str, Value]:
        """Convert a node; return its outputs."""
        node = call.node
        if node.op not in CONVERTERS:
            where = "before" if before else "after"
            raise ModelError(
                f"it is {where} all integers, and float networks do not have this operator: put a "
                "QuantizeLinear before it, or leave it out of the file"
            )
        made = OnnxCall(node, tuple(inputs), self._builder)
        CONVERTERS[node.op](made)
        expect_read(made)
        self._builder.close(node)
        values = {name: self._builder.values.get(name) for name in node.outputs if name}
        return {
            name: Outside(value, before) if isinstance(value, Tensor) else value
            for name, value in values.items()
            if value is not None
        }

    def _graph(self, outputs: Sequence[str]) -> FloatGraph:
        """Return the network that makes these tensors, without what they do not need."""
        needed, nodes = set(outputs), []
        for node in reversed(self._builder.nodes):
            if node.name in needed:
                nodes.append(node)
                needed.update(node.inputs)
        starts = [(name, shape) for name, shape in self.starts.items() if name in needed]
        (first, shape), *others = starts
        return FloatGraph(
            *(self._name, first, shape, None, tuple(nodes[::-1]), tuple(outputs)),
            others=tuple(others),
        )


class Before(_Part):
    """Steps from the inputs of the file to those of the device."""

    def convert(self, call: OnnxCall) -> dict[str, Value]:
        """Add a node of such tensors and constants."""
        return self._put(call, [_taken(value) for value in call.inputs], True)

    def graph(self, inputs: Mapping[str, str]) -> Optional[FloatGraph]:
        """Return the steps to the inputs of the device, None if there are none; inputs: of which
        tensor each is.
        """
        for name, source in inputs.items():
            if name != source:
                self._builder.nodes.append(FloatNode(name, Identity(), (source,)))
        made = {node.name for node in self._builder.nodes}
        return self._graph(tuple(inputs)) if made.intersection(inputs) else None


class After(_Part):
    """Steps from the outputs of the device to those of the file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._tensors: dict[str, Tensor] = {}

    def convert(self, call: OnnxCall, builder: Builder) -> dict[str, Value]:
        """Add a node of such tensors, of the device's outputs and of constants."""
        names = zip(call.node.inputs, call.inputs)
        inputs = [self._input(builder, name, value) for name, value in names]
        return self._put(call, inputs, False)

    def _input(self, builder: Builder, name: str, value: Any) -> Any:
        if isinstance(value, Pending):
            raise ModelError(not_quantized(name))
        if isinstance(value, Int) and value.format.dtype != "int32":
            raise ModelError(f"it reads the integers {name!r}; put a DequantizeLinear before it")
        if not isinstance(value, (Real, Int)):
            return _taken(value)
        held = value.integers if isinstance(value, Real) else value
        return self._end(builder, held, held.name)

    def _end(self, builder: Builder, held: Int, name: str) -> Tensor:
        """Return an output of the device, under a name if it has none yet."""
        if held.name not in self._tensors:
            end = builder.end(held, name)
            self._tensors[held.name] = self._tensors[end] = self.start(end, held.shape)
        return self._tensors[held.name]

    def graph(self, builder: Builder, outputs: Mapping[str, Union[Int, Outside]]) -> FloatGraph:
        """Return the steps to the outputs of the file, each an output of the device or a step."""
        for name, value in outputs.items():
            if isinstance(value, Int):
                end = self._end(builder, value, name).name
                if end != name:
                    self._builder.nodes.append(FloatNode(name, Identity(), (end,)))
        return self._graph(tuple(outputs))


def hosted(before: Optional[FloatGraph], after: Optional[FloatGraph]) -> list[str]:
    """Return notes on what the host computes in floats."""
    notes = []
    for graph, where in (
        (before, "before the network's integers"),
        (after, "after the network's integers"),
    ):
        if graph is not None:
            steps = [f"{type(node.operator).__name__} {node.name!r}" for node in graph.nodes]
            more = f" and {len(steps) - _NAMED} more" if len(steps) > _NAMED else ""
            notes.append(f"the host computes in floats, {where}: {', '.join(steps[:_NAMED])}{more}")
    return notes


def _taken(value: Any) -> Any:
    """Return a constant or a tensor of the host."""
    if isinstance(value, Fixed):
        return value.real.astype(np.float32)
    return value.tensor if isinstance(value, Outside) else value
