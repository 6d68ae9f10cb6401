"""Network under construction, to which the converters of layers add their operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Optional

from ...errors import ModelError
from ...ir.float_graph import FloatGraph, FloatNode
from ...operators import Conv, Operator, Pool, Shape


class KerasBuilder:
    """Nodes so far in order, tensor -> shape, and the count of each layout of images."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[FloatNode] = []
        self.shapes: dict[str, Shape] = {}
        self.input: Optional[str] = None
        self.layouts: Counter[str] = Counter()

    def add(self, name: str, operator: Operator, *inputs: str) -> str:
        """Append a node and infer its shape."""
        try:
            self.shapes[name] = operator.shape(*(self.shapes[each] for each in inputs))
        except ModelError as error:
            raise ModelError(f"{self.name}: layer {name!r}: {error}") from None
        if isinstance(operator, (Conv, Pool)):
            self.layouts[operator.layout] += 1
        self.nodes.append(FloatNode(name, operator, inputs))
        return name

    def graph(self, outputs: Sequence[str]) -> FloatGraph:
        """Return the whole network."""
        if self.input is None:
            raise ModelError(f"{self.name} has no input layer")
        shape = self.shapes[self.input]
        most = self.layouts.most_common(1)
        layout = (most[0][0] if most else "NHWC") if len(shape) == 3 else None
        nodes, ends = tuple(self.nodes), tuple(dict.fromkeys(outputs))
        return FloatGraph(self.name, self.input, shape, layout, nodes, ends)

    def start(self, name: str, shape: Any) -> str:
        """Return the input of the network: a batch shape whose other axes are known."""
        if self.input is not None:
            raise ModelError(
                f"{self.name} has several inputs ({self.input}, {name}); only networks with one "
                "are supported: choose a part with input="
            )
        if not isinstance(shape, list) or not all(type(axis) is int for axis in shape[1:]):
            raise ModelError(
                f"{self.name}: the shape {shape!r} of input {name!r} has no fixed size"
            )
        self.input, self.shapes[name] = name, tuple(shape[1:])
        return name
