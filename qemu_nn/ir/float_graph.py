"""Float networks as data: operators in order, tensors by the source file's own names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

from ..errors import ModelError
from ..operators import Operator, Shape
from ..operators.base import LAYOUTS
from .tensors import make_free_name

#: Most elements of one tensor of one sample, and most tensors of a network.
TENSOR_LIMIT, NODE_LIMIT = 2**26, 20_000


@dataclass(frozen=True)
class FloatNode:
    """An operator, its input tensors, and the name of its output tensor."""

    name: str
    operator: Operator
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class FloatGraph:
    """A float network; nodes are in an executable order.

    shape: of one input sample, in the file's own layout. layout: "NHWC" or "NCHW" if an input is an
    image, else None. classes: labels of the outputs, if known. others: further inputs and their
    shapes. moved: outputs, and inputs of several, that are images NHWC, but NCHW in the file.
    """

    name: str
    input: str
    shape: Shape
    layout: Optional[str]
    nodes: tuple[FloatNode, ...]
    outputs: tuple[str, ...]
    classes: tuple[str, ...] = ()
    others: tuple[tuple[str, Shape], ...] = ()
    moved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        return f"<FloatGraph {self.name[:60]!r}: {len(self.nodes)} operators on {list(self.shape)}>"

    @property
    def starts(self) -> dict[str, Shape]:
        """Shape of one sample of every input."""
        return {self.input: self.shape, **dict(self.others)}

    def layout_of(self, name: str) -> Optional[str]:
        """Return the layout of an input that is an image; None for any other."""
        return self.layout if len(self.starts[name]) == 3 else None

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Shape of one sample of every tensor, the inputs' first."""
        shapes = self.starts
        for node in self.nodes:
            where = f"{self.name}: {type(node.operator).__name__} {node.name!r}"
            for name in node.inputs:
                if name not in shapes:
                    raise ModelError(f"{where} reads {name!r}, which no earlier node computes")
            try:
                shape = node.operator.shape(*(shapes[name] for name in node.inputs))
            except ModelError as error:
                raise ModelError(f"{where}: {error}") from None
            if math.prod(shape) > TENSOR_LIMIT or len(shape) > 8:
                raise ModelError(
                    f"{where} computes a tensor {list(shape)}; a tensor has at most 8 axes and "
                    f"{TENSOR_LIMIT} elements"
                )
            shapes[node.name] = shape
        return shapes

    def node(self, name: str) -> FloatNode:
        """Return the node that computes a tensor."""
        return next(node for node in self.nodes if node.name == name)

    def readers(self, name: str) -> list[FloatNode]:
        """Return the nodes that read a tensor."""
        return [node for node in self.nodes if name in node.inputs]

    def make_unused_name(self, name: str) -> str:
        """Return an unused tensor name: this one, or a similar one."""
        return make_free_name(name, self.shapes)

    def with_nodes(self, nodes: Iterable[FloatNode]) -> FloatGraph:
        """Return the same network with different nodes."""
        return replace(self, nodes=tuple(nodes))

    def with_operators(self, operators: Mapping[str, Operator]) -> FloatGraph:
        """Return the same network with different operators in some of its nodes, by name."""
        return self.with_nodes(
            replace(node, operator=operators.get(node.name, node.operator)) for node in self.nodes
        )


def _check(graph: FloatGraph) -> None:
    if not graph.nodes:
        raise ModelError(
            f"{graph.name} has no layers between its input and its output; it needs one or more"
        )
    if len(graph.nodes) > NODE_LIMIT:
        raise ModelError(
            f"{graph.name} has {len(graph.nodes)} nodes; a network has at most {NODE_LIMIT}"
        )
    images = [name for name in graph.starts if graph.layout_of(name)]
    if graph.layout is not None and (graph.layout not in LAYOUTS or not images):
        raise ModelError(
            f"{graph.name}: the input has the shape {list(graph.shape)} and the layout "
            f"{graph.layout}; images have 3 axes, NHWC or NCHW"
        )
    if len(graph.starts) != 1 + len(graph.others):
        raise ModelError(f"{graph.name}: two inputs have the same name")
    for shape in graph.starts.values():
        if min(shape, default=1) < 1 or math.prod(shape) > TENSOR_LIMIT:
            raise ModelError(
                f"{graph.name}: the input has the shape {list(shape)}; axes must be 1 or more, and "
                f"elements at most {TENSOR_LIMIT}"
            )
    seen = set(graph.starts)
    for node in graph.nodes:
        if node.name in seen:
            raise ModelError(
                f"{graph.name}: the name {node.name!r} is used twice; names must be unique"
            )
        seen.add(node.name)
    for name in graph.outputs:
        if name not in seen:
            raise ModelError(f"{graph.name}: the output {name!r} is none of its tensors")
    if not graph.outputs:
        raise ModelError(f"{graph.name} has no outputs; it needs one or more")
    assert graph.shapes  # every shape fits
