"""Finds channel shuffles: a reshape into groups, a transposition of two axes, a reshape back."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Reshape, Shuffle, Transpose


def recognise_shuffles(graph: FloatGraph) -> FloatGraph:
    """The same network with each of them as one operator, under the name of its last."""
    nodes = []
    for node in graph.nodes:
        found = _shuffle(graph, node)
        nodes.append(found or node)
    return graph.with_nodes(nodes)


def _shuffle(graph: FloatGraph, last: FloatNode) -> Optional[FloatNode]:
    """What `last` is the end of; the nodes before it may have other readers, and stay for them."""
    makers = {node.name: node for node in graph.nodes}
    turn = makers.get(last.inputs[0])
    first = makers.get(turn.inputs[0]) if turn else None
    if turn is None or first is None or not isinstance(turn.operator, Transpose):
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
        if parts == split and whole and turn.operator.order == tuple(swapped):
            return replace(last, operator=Shuffle(split[axis], axis), inputs=first.inputs)
    return None
