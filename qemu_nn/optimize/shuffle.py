"""Finds channel shuffles: a reshape into groups, a transposition of two axes, a reshape back."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Reshape, Shuffle, Transpose


def recognise_shuffles(graph: FloatGraph) -> FloatGraph:
    """The same network with each channel shuffle as one operator, named like its last one."""
    nodes = []
    for node in graph.nodes:
        nodes.append(_shuffle(graph, node) or node)
    return graph.with_nodes(nodes)


def _shuffle(graph: FloatGraph, last: FloatNode) -> Optional[FloatNode]:
    """The shuffle that ends at `last`, if any; the nodes before it stay for other readers."""
    makers = {node.name: node for node in graph.nodes}
    transposition = makers.get(last.inputs[0])
    first = makers.get(transposition.inputs[0]) if transposition else None
    if transposition is None or first is None or not isinstance(transposition.operator, Transpose):
        return None
    if not (isinstance(first.operator, Reshape) and isinstance(last.operator, Reshape)):
        return None
    before, split = graph.shapes[first.inputs[0]], graph.shapes[first.name]
    if graph.shapes[last.name] != before or len(split) != len(before) + 1:
        return None
    for axis, channels in enumerate(before):
        swapped = list(range(len(split)))
        swapped[axis : axis + 2] = axis + 1, axis
        parts = (*before[:axis], *split[axis : axis + 2], *before[axis + 1 :])
        whole = split[axis] * split[axis + 1] == channels
        if parts == split and whole and transposition.operator.order == tuple(swapped):
            return replace(last, operator=Shuffle(split[axis], axis), inputs=first.inputs)
    return None
