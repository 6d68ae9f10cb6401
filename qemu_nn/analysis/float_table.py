"""Table of a float network: inputs, function and parameters of each operator."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from .table import Cell, Table
from .table_layout import narrow_table


def float_table(graph: FloatGraph) -> Table:
    """Return a row for the input and for each node: operator, inputs, shape of a sample,
    parameters.
    """
    shape = "x".join(map(str, graph.shape))
    start = f"{shape} {graph.layout or ''}".strip()
    rows: list[tuple[Cell, ...]] = [(graph.input, "input", "", start, None)]
    for node in graph.nodes:
        output = "x".join(map(str, graph.shapes[node.name]))
        operator = type(node.operator).__name__
        sources = ", ".join(node.inputs)
        rows.append((node.name, operator, sources, output, _parameters(node) or None))
    return Table(("layer", "operator", "reads", "output", "parameters"), tuple(rows))


def float_text(graph: FloatGraph, full: bool = False) -> str:
    """Return the table for a terminal, in 120 columns, with the numbers of the input layers.

    full: with complete names, at any width.
    """
    table = float_table(graph)
    if full:
        return table.text()
    number = {row[0]: str(i) for i, row in enumerate(table.rows)}
    reads = ["", *(", ".join(number.get(n, n) for n in node.inputs) for node in graph.nodes)]
    rows = ((*row[:2], text, *row[3:]) for row, text in zip(table.rows, reads))
    return narrow_table(Table(table.columns, tuple(rows))).text()


def _parameters(node: FloatNode) -> int:
    values = (getattr(node.operator, field.name) for field in fields(node.operator))  # type: ignore[arg-type]
    return sum(value.size for value in values if isinstance(value, np.ndarray))
