"""A network at a glance: a few lines for a terminal, a table for a notebook."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import shorten_middle
from ..functions.shapes import get_extent
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph, Tensor
from ..ir.stored import weight_bytes
from .float_table import float_table
from .summary import describe_tensor, format_facts, format_tensor_shape
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
        return f"{self.title}\n{format_facts(self.facts)}"

    def html(self) -> str:
        """Return the same and the layers, as a notebook shows it."""
        return f"<pre>{html.escape(self.text())}</pre>{self.layers.html()}"


def summarize_calls(graph: Graph, from_float: bool, notes: int, preprocessing: str = "") -> Glance:
    """Summarize a quantized network in facts and layer by layer; preprocessing: in words."""
    tensors = [node.output for node in graph.nodes]
    macs = [get_extent(node.function.macs, node.params) for node in graph.nodes]
    rows = tuple(
        (
            node.name,
            node.function.name,
            format_tensor_shape(node.output),
            node.output.spelled,
            count,
        )
        for node, count in zip(graph.nodes, macs)
    )
    starts = "input" if len(graph.inputs) == 1 else "inputs"
    facts: dict[str, Cell] = {
        "calls": _count_kinds(node.function.name for node in graph.nodes),
        starts: _list_words([_describe_tensor(tensor) for tensor in graph.inputs]),
        "outputs": _list_words([_describe_tensor(t) for t in tensors if t.name in graph.outputs]),
        "macs": sum(macs),
        "weight_bytes": weight_bytes(graph),
        "float_reference": "yes" if from_float else "no",
    }
    if notes:
        facts["notes"] = notes
    if preprocessing:
        facts["preprocessing"] = shorten_middle(preprocessing, 100)
    if graph.states:
        facts["states"] = _list_words([_describe_tensor(t) for t in graph.states])
    columns = ("layer", "function", "output", "format", "macs")
    return Glance(f"Network {shorten_middle(graph.name)!r}", facts, Table(columns, rows))


def summarize_operators(graph: FloatGraph) -> Glance:
    """Summarize a float network in facts and operator by operator."""
    table = float_table(graph)
    shapes = {name: "x".join(map(str, shape)) for name, shape in graph.shapes.items()}
    layout = graph.layout or ""
    facts: dict[str, Cell] = {
        "operators": _count_kinds(type(node.operator).__name__ for node in graph.nodes),
        "input": f"{shorten_middle(graph.input)}: {shapes[graph.input]} {layout}".strip(),
        "outputs": _list_words(
            [f"{shorten_middle(name)}: {shapes[name]}" for name in graph.outputs]
        ),
        "parameters": sum(row[-1] for row in table.rows if isinstance(row[-1], int)),
    }
    return Glance(f"FloatNetwork {shorten_middle(graph.name)!r}", facts, table)


def _count_kinds(names: Iterable[str]) -> str:
    """Return the total, and the count of each kind, most first."""
    counts = Counter(names)
    words = _list_words([f"{n} {name}" for name, n in counts.most_common()])
    return f"{sum(counts.values())}: {words}"


def _list_words(parts: Sequence[str]) -> str:
    more = len(parts) - _NAMES
    return ", ".join([*parts[:_NAMES], *([f"{more} more"] if more > 0 else [])])


def _describe_tensor(tensor: Tensor) -> str:
    return f"{shorten_middle(tensor.name)}: {describe_tensor(tensor)}"
