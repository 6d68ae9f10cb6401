"""Merges padding with zeros into the convolutions and averages behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Conv, Operator, Pad, Pool
from ..operators.base import Pads


def merge_pads(graph: FloatGraph) -> FloatGraph:
    """The same network with a Pad only where a reader cannot pad by itself."""
    pads = {node.name: node for node in graph.nodes if isinstance(node.operator, Pad)}
    nodes = []
    for node in graph.nodes:
        pad = pads.get(node.inputs[0])
        operator = _merged(pad, node.operator) if pad else None
        if pad is None or operator is None:
            nodes.append(node)
        else:
            nodes.append(replace(node, operator=operator, inputs=pad.inputs))
    read = {name for node in nodes for name in node.inputs} | set(graph.outputs)
    return graph.with_nodes(n for n in nodes if n.name in read or n.name not in pads)


def _merged(pad: FloatNode, operator: Operator) -> Optional[Operator]:
    """The operator on the image without the padding; channels last."""
    assert isinstance(pad.operator, Pad)
    if pad.operator.value != 0 or len(pad.operator.pads) != 3 or any(pad.operator.pads[2]):
        return None
    (top, bottom), (left, right), _ = pad.operator.pads
    if min(top, left, bottom, right) < 0:
        return None
    around = (top, left, bottom, right)
    if isinstance(operator, Conv) and min(operator.pads) >= 0:
        return replace(operator, pads=_sum(operator.pads, around))
    if not isinstance(operator, Pool) or operator.kind != "average" or operator.ceil:
        return None
    pads = _sum(operator.pads, around)
    counts = operator.count_pads or not any(operator.pads)
    fits = all(cells < side for cells, side in zip(pads, (*operator.kernel, *operator.kernel)))
    return replace(operator, pads=pads, count_pads=True) if counts and fits else None


def _sum(first: Pads, second: Pads) -> Pads:
    a, b, c, d = (x + y for x, y in zip(first, second))
    return (a, b, c, d)
