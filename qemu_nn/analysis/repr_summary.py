"""A network at a glance: a few lines for a terminal, a table for a notebook."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import cut
from ..functions.shapes import extent
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph, Tensor
from ..ir.stored import weight_bytes
from .float_table import float_table
from .summary import facts_text, tensor_shape, tensor_words
from .table import Cell, Table

#: Names in a line.
_NAMES = 3


@dataclass(frozen=True)
class Glance:
    """Summary of a network: a title, facts by name, and a row for each layer."""

    title: str
    facts: Mapping[str, Cell]
    layers: Table

    def text(self) -> str:
        """Return the title and the facts: at most ten lines."""
        return f"{self.title}\n{facts_text(self.facts)}"

    def html(self) -> str:
        """Return the same and the layers, as a notebook shows it."""
        return f"<pre>{html.escape(self.text())}</pre>{self.layers.html()}"


def of_calls(graph: Graph, from_float: bool, notes: int, preprocessing: str = "") -> Glance:
    """Return what a quantized network is, in facts and layer by layer; preprocessing: in words."""
    tensors = [node.output for node in graph.nodes]
    macs = [extent(node.function.macs, node.params) for node in graph.nodes]
    rows = tuple(
        (node.name, node.function.name, tensor_shape(node.output), node.output.spelled, count)
        for node, count in zip(graph.nodes, macs)
    )
    starts = "input" if len(graph.inputs) == 1 else "inputs"
    facts: dict[str, Cell] = {
        "calls": _counted(node.function.name for node in graph.nodes),
        starts: _listed([_tensor(tensor) for tensor in graph.inputs]),
        "outputs": _listed([_tensor(t) for t in tensors if t.name in graph.outputs]),
        "macs": sum(macs),
        "weight_bytes": weight_bytes(graph),
        "float_reference": "yes" if from_float else "no",
    }
    if notes:
        facts["notes"] = notes
    if preprocessing:
        facts["preprocessing"] = cut(preprocessing, 100)
    if graph.states:
        facts["states"] = _listed([_tensor(t) for t in graph.states])
    columns = ("layer", "function", "output", "format", "macs")
    return Glance(f"Network {cut(graph.name)!r}", facts, Table(columns, rows))


def of_operators(graph: FloatGraph) -> Glance:
    """Return what a float network is, in facts and operator by operator."""
    table = float_table(graph)
    shapes = {name: "x".join(map(str, shape)) for name, shape in graph.shapes.items()}
    facts: dict[str, Cell] = {
        "operators": _counted(type(node.operator).__name__ for node in graph.nodes),
        "input": f"{cut(graph.input)}: {shapes[graph.input]} {graph.layout or ''}".strip(),
        "outputs": _listed([f"{cut(name)}: {shapes[name]}" for name in graph.outputs]),
        "parameters": sum(row[-1] for row in table.rows if isinstance(row[-1], int)),
    }
    return Glance(f"FloatNetwork {cut(graph.name)!r}", facts, table)


def _counted(names: Iterable[str]) -> str:
    """Return how many, and of what, most first."""
    counts = Counter(names)
    return f"{sum(counts.values())}: {_listed([f'{n} {name}' for name, n in counts.most_common()])}"


def _listed(parts: Sequence[str]) -> str:
    more = len(parts) - _NAMES
    return ", ".join([*parts[:_NAMES], *([f"{more} more"] if more > 0 else [])])


def _tensor(tensor: Tensor) -> str:
    return f"{cut(tensor.name)}: {tensor_words(tensor)}"
