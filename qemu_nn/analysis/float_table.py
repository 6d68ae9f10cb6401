"""The table of a float network: what each operator reads, computes and holds."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from .table import Cell, Table


def float_table(graph: FloatGraph) -> Table:
    """A row for the input and for each node: operator, inputs, shape of a sample, parameters."""
    shape = "x".join(map(str, graph.shape))
    start = f"{shape} {graph.layout or ''}".strip()
    rows: list[tuple[Cell, ...]] = [(graph.input, "input", "", start, None)]
    for node in graph.nodes:
        output = "x".join(map(str, graph.shapes[node.name]))
        operator = type(node.operator).__name__
        sources = ", ".join(node.inputs)
        rows.append((node.name, operator, sources, output, _parameters(node) or None))
    return Table(("layer", "operator", "reads", "output", "parameters"), tuple(rows))


def _parameters(node: FloatNode) -> int:
    values = (getattr(node.operator, field.name) for field in fields(node.operator))  # type: ignore[arg-type]
    return sum(value.size for value in values if isinstance(value, np.ndarray))
