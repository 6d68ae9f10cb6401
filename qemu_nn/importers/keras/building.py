"""Network under construction, to which the converters of layers add their operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...errors import ModelError
from ...ir.float_graph import FloatGraph, FloatNode
from ...operators import Conv, Operator, Pool, Shape


class KerasBuilder:
    """Nodes so far in order, tensor -> shape, and the count of each layout of images."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[FloatNode] = []
        self.shapes: dict[str, Shape] = {}
        self.starts: dict[str, Shape] = {}
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
        if not self.starts:
            raise ModelError(f"{self.name} has no input layer")
        (start, shape), *others = self.starts.items()
        images = any(len(each) == 3 for each in self.starts.values())
        most = self.layouts.most_common(1)
        layout = (most[0][0] if most else "NHWC") if images else None
        nodes, ends = tuple(self.nodes), tuple(dict.fromkeys(outputs))
        return FloatGraph(self.name, start, shape, layout, nodes, ends, others=tuple(others))

    def start(self, name: str, shape: Any) -> str:
        """Return an input of the network: a batch shape whose other axes are known."""
        if not isinstance(shape, list) or not all(type(axis) is int for axis in shape[1:]):
            raise ModelError(
                f"{self.name}: the shape {shape!r} of input {name!r} has no fixed size"
            )
        self.starts[name] = self.shapes[name] = tuple(shape[1:])
        return name
