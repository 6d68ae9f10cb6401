"""Table of a float network: inputs, function and parameters of each operator."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from .table import Cell, Said, Table, shape_cell
from .table_layout import narrow_table


def float_table(graph: FloatGraph) -> Table:
    """Return a row for the input and for each node: operator, inputs, shape of a sample,
    parameters.
    """
    shape = shape_cell(graph.shape)
    start = Said(f"{shape} {graph.layout or ''}".strip(), shape.value)
    rows: list[tuple[Cell, ...]] = [(graph.input, "input", Said("", []), start, None)]
    for node in graph.nodes:
        output = shape_cell(graph.shapes[node.name])
        operator = type(node.operator).__name__
        sources = Said(", ".join(node.inputs), list(node.inputs))
        rows.append((node.name, operator, sources, output, _parameters(node) or None))
    return Table(("layer", "operator", "reads", "output", "parameters"), tuple(rows))


def float_values(graph: FloatGraph) -> dict[str, Any]:
    """Return a float network as JSON has it: inputs, outputs, and the rows of the table."""
    starts = graph.starts.items()
    images = graph.layout if len(graph.shape) == 3 else None
    inputs = [
        {"name": name, "shape": list(shape), "layout": images if name == graph.input else None}
        for name, shape in starts
    ]
    outputs = [{"name": name, "shape": list(graph.shapes[name])} for name in graph.outputs]
    ends = {"network": graph.name, "inputs": inputs, "outputs": outputs}
    return {**ends, "layers": float_table(graph).records()}


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
