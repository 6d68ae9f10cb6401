"""Differences between two networks: layers, formats, parameters, weights."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from difflib import SequenceMatcher
from typing import Any, Optional, Union

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.graph import Build, Graph, Node, Tensor
from .result import TableResult
from .summary import format_tensor_shape, make_format_cell
from .table import Cell, Said, Table, shape_cell

AnyGraph = Union[Graph, FloatGraph]
Facts = Mapping[str, Cell]
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Change:
    """One difference of two networks.

    Attributes
    ----------
    layer : str
        The layer, or "" for the network as a whole.
    what : str
        "function", "output", "format", the name of a parameter, "weights", ...
    first, second : str or int or float or None
        What each has; None where it has no such thing.
    count : int or None
        Of arrays of one shape: how many elements differ.
    largest : float or None
        Of arrays of one shape: the largest difference of two elements.
    """

    layer: str
    what: str
    first: Cell
    second: Cell
    count: Optional[int] = None
    largest: Optional[float] = None


@dataclass(frozen=True)
class Diff(TableResult):
    """Differences between two networks; diff() returns it.

    Attributes
    ----------
    first, second : str
        What the networks are called.
    layers : int
        Layers of the first network.
    changes : tuple of Change
        Every difference, those of the whole first, then layer by layer.
    """

    first: str
    second: str
    layers: int
    changes: tuple[Change, ...]

    @property
    def same(self) -> bool:
        """True if the networks are equal."""
        return not self.changes

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._sentence())}</p>{self.table().html()}"

    def table(self) -> Table:
        """Return a row for each change.

        Returns
        -------
        Table
            Layer, what differs, both values, and of arrays how many elements, and by how much.
        """
        columns = tuple(field.name for field in fields(Change))
        return Table(columns, tuple(astuple(change) for change in self.changes))

    def text(self) -> str:
        """Return all for a terminal.

        Returns
        -------
        str
            A sentence and, where something differs, the table.
        """
        return self._sentence() if self.same else f"{self._sentence()}\n\n{self.table().text()}"

    def to_dict(self) -> dict[str, Any]:
        """Return all as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            The names, whether they are the same, and the list of changes.
        """
        names = {"first": self.first, "second": self.second, "same": self.same}
        return {**names, "changes": self.table().records()}

    def _sentence(self) -> str:
        if self.same:
            return f"{self.first} and {self.second} are the same in all {self.layers} layers"
        layers = {change.layer for change in self.changes if change.layer}
        counts = f"changes: {len(self.changes)}, layers that differ: {len(layers)}"
        return f"{self.first} and {self.second} differ; {counts}"


def iterate_changes(first: AnyGraph, second: AnyGraph) -> Iterator[Change]:
    """Yield every difference of two networks of one kind, except their own names.

    Layers are paired by name, the remaining ones in order by their function.
    """
    pairs = _pair_layers(first, second)
    renamed = {b: a for a, b in pairs.items()}
    order = [renamed[node.name] for node in second.nodes if node.name in renamed]
    yield from _iterate_facts("", _describe_whole(first), _describe_whole(second))
    yield from _iterate_arrays("", _list_resets(first), _list_resets(second))
    if order != [node.name for node in first.nodes if node.name in pairs]:
        yield Change("", "order", "", "the layers stand in another order")
    starts = zip(_list_starts(second), _list_starts(first))
    others = _describe_layers(second, {**dict(starts), **renamed})
    for name, (facts, arrays) in _describe_layers(first, {}).items():
        if name not in pairs:
            yield Change(name, "layer", facts["function"], None)
            continue
        yield from _iterate_facts(name, facts, others[pairs[name]][0])
        yield from _iterate_arrays(name, arrays, others[pairs[name]][1])
    for name, (facts, _) in others.items():
        if name not in renamed:
            yield Change(name, "layer", None, facts["function"])


def _pair_layers(first: AnyGraph, second: AnyGraph) -> dict[str, str]:
    """Return layer of the first network -> that of the second."""
    names = {node.name for node in first.nodes} & {node.name for node in second.nodes}
    pairs = {name: name for name in names}
    rest = [[node for node in graph.nodes if node.name not in names] for graph in (first, second)]
    kinds = [[_name_kind(node) for node in nodes] for nodes in rest]
    for block in SequenceMatcher(None, kinds[0], kinds[1], autojunk=False).get_matching_blocks():
        for i in range(block.size):
            pairs[rest[0][block.a + i].name] = rest[1][block.b + i].name
    return pairs


def _iterate_facts(layer: str, first: Facts, second: Facts) -> Iterator[Change]:
    """Yield the properties of a layer that differ; of two functions, only common properties."""
    alike, both = first.get("function") == second.get("function"), first.keys() & second.keys()
    for what in dict.fromkeys([*first, *second]):
        if (alike or what in both) and first.get(what) != second.get(what):
            yield Change(layer, what, first.get(what), second.get(what))


def _iterate_arrays(layer: str, first: Arrays, second: Arrays) -> Iterator[Change]:
    """Yield the arrays of a layer that differ, the number of differing elements, and the largest
    difference.
    """
    for what in dict.fromkeys([*first, *second]):
        before, after = first.get(what), second.get(what)
        kinds = _describe_array(before), _describe_array(after)
        if before is None or after is None or kinds[0] != kinds[1]:
            yield Change(layer, what, kinds[0], kinds[1])
        elif before.tobytes() != after.tobytes():
            apart = (before != after) & (
                (before == before) | (after == after)
            )  # two NaN count as equal
            with np.errstate(invalid="ignore"):
                by = np.abs(before.astype(np.float64) - after.astype(np.float64))
            largest = float(by.max(initial=0.0))
            finite = largest if math.isfinite(largest) else None
            yield Change(layer, what, *kinds, int(np.count_nonzero(apart)), finite)


def _describe_array(array: Optional[np.ndarray]) -> Optional[str]:
    """Return type and shape."""
    if array is None:
        return None
    value = {"dtype": array.dtype.name, "shape": list(array.shape)}
    return Said(f"{array.dtype} {shape_cell(array.shape)}", value)


def _name_kind(node: Union[Node, FloatNode]) -> str:
    return node.function.name if isinstance(node, Node) else type(node.operator).__name__


def _list_starts(graph: AnyGraph) -> list[str]:
    """Return the names of a network's inputs and states."""
    if isinstance(graph, FloatGraph):
        return list(graph.starts)
    return [tensor.name for tensor in (*graph.inputs, *graph.states)]


def _describe_whole(graph: AnyGraph) -> Facts:
    """Return the properties of a network besides its layers."""
    ends: dict[str, Cell] = {
        "outputs": ", ".join(graph.outputs),
        "classes": ", ".join(graph.classes) or None,
    }
    if isinstance(graph, FloatGraph):
        starts = (f"{name} {list(shape)}" for name, shape in graph.starts.items())
        return {"inputs": ", ".join(starts), "layout": graph.layout, **ends}
    tensors = {f"tensor {t.name}": _describe_exactly(t) for t in (*graph.inputs, *graph.states)}
    memory = None if graph.memory is None else str(graph.memory)
    return {**tensors, **ends, "memory": memory, "loops": str(graph.loops)}


def _describe_exactly(tensor: Tensor) -> Said:
    """Return type, shape and format of a tensor to the last digit."""
    scaled = f"{tensor.scale!r}*(q{-tensor.zero_point:+d})"
    shape, form = format_tensor_shape(tensor), make_format_cell(tensor)
    words = f"{shape} {tensor.spelled if tensor.scale is None else scaled}"
    return Said(words, {**shape.value, "format": None if form is None else form.value})


def _list_resets(graph: AnyGraph) -> Arrays:
    """Return the values of states after reset that are not zeros."""
    if isinstance(graph, FloatGraph):
        return {}
    arrays = graph.arrays
    return {f"state {t.name}": arrays[t.name] for t in graph.states if t.name in arrays}


def _describe_layers(
    graph: AnyGraph, renamed: Mapping[str, str]
) -> dict[str, tuple[Facts, Arrays]]:
    """Return layer -> its properties and its arrays; renamed: tensors -> their names in the second
    network.
    """
    if isinstance(graph, FloatGraph):
        shapes = graph.shapes
        return {
            node.name: _describe_operator(node, renamed, shapes[node.name]) for node in graph.nodes
        }
    return {node.name: _call(graph, node, renamed) for node in graph.nodes}


def _call(graph: Graph, node: Node, renamed: Mapping[str, str]) -> tuple[Facts, Arrays]:
    roles = {"weights": node.weights, "bias": node.bias}
    arrays = {role: graph.arrays[name] for role, name in roles.items() if name is not None}
    facts: dict[str, Cell] = {
        "function": node.function.name,
        "name": node.name,
        "reads": ", ".join(renamed.get(name, name) for name in node.inputs),
        "output": _describe_exactly(node.output),
        "builds": "; ".join(map(_build, node.builds)) or None,
        **node.params,
    }
    return facts, arrays


def _build(build: Build) -> str:
    """Return the call of another build of TensorFlow Lite Micro, and the reason."""
    return f"{build.difference}: {build.function.name if build.function else 'refused'}"


def _describe_operator(
    node: FloatNode, renamed: Mapping[str, str], shape: tuple[int, ...]
) -> tuple[Facts, Arrays]:
    own = {field.name: getattr(node.operator, field.name) for field in fields(node.operator)}  # type: ignore[arg-type]
    arrays = {name: value for name, value in own.items() if isinstance(value, np.ndarray)}
    facts: dict[str, Cell] = {
        "function": _name_kind(node),
        "name": node.name,
        "reads": ", ".join(renamed.get(name, name) for name in node.inputs),
        "output": shape_cell(shape),
        **{n: str(v) for n, v in own.items() if not (n in arrays or v is None)},
    }
    return facts, arrays
