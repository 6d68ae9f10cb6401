"""Removal of operators without effect, and fusion of operators that form one."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Conv, Identity, Operator, Pad, Pool, Reshape, Shuffle, Transpose
from ..operators.base import Pads

#: Least float32; padding of a maximum with it or with minus infinity never counts.
_LEAST = float(np.finfo(np.float32).min)


def tidy(graph: FloatGraph) -> FloatGraph:
    """Return the same network without identities, and with one reshape for several in sequence.

    An identity that is an output passes its name to its input tensor. It is kept if that tensor is
    an input of the network or another output.
    """
    renamed: dict[str, str] = {}
    nodes: list[FloatNode] = []
    for node in graph.nodes:
        node = replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs))
        if not _is_identity(graph, node):
            nodes.append(_join_reshapes(node, nodes))
        elif node.name not in graph.outputs:
            renamed[node.name] = node.inputs[0]
        elif node.inputs[0] in graph.starts or node.inputs[0] in graph.outputs:
            nodes.append(node)
        else:
            nodes = rename(nodes, node.inputs[0], node.name)
            renamed[node.inputs[0]] = node.name
            renamed = {
                old: node.name if new == node.inputs[0] else new for old, new in renamed.items()
            }
    return graph.with_nodes(_list_read(nodes, set(graph.outputs)))


def _is_identity(graph: FloatGraph, node: FloatNode) -> bool:
    """True if the operator changes neither shape nor elements."""
    operator = node.operator
    if isinstance(operator, Transpose):
        return operator.order == tuple(sorted(operator.order))
    same = isinstance(operator, Reshape) and graph.shapes[node.name] == _get_shape(graph, node)
    return same or isinstance(operator, Identity)


def _get_shape(graph: FloatGraph, node: FloatNode) -> tuple[int, ...]:
    return graph.shapes[graph.node(node.name).inputs[0]]


def _join_reshapes(node: FloatNode, nodes: list[FloatNode]) -> FloatNode:
    """Make a reshape of a reshape read the input of the first one."""
    if isinstance(node.operator, Reshape):
        for earlier in nodes:
            if earlier.name == node.inputs[0] and isinstance(earlier.operator, Reshape):
                return replace(node, inputs=earlier.inputs)
    return node


def rename(nodes: list[FloatNode], old: str, new: str) -> list[FloatNode]:
    """Return the same nodes with a renamed tensor."""
    return [
        replace(
            node,
            name=new if node.name == old else node.name,
            inputs=tuple(new if name == old else name for name in node.inputs),
        )
        for node in nodes
    ]


def _list_read(nodes: list[FloatNode], wanted: set[str]) -> list[FloatNode]:
    """Return the nodes that the outputs depend on."""
    kept = []
    for node in reversed(nodes):
        if node.name in wanted:
            wanted.update(node.inputs)
            kept.append(node)
    return kept[::-1]


def recognise_shuffles(graph: FloatGraph) -> FloatGraph:
    """Return the same network with each channel shuffle as one operator, named like its last one.

    A shuffle is a reshape into groups, a transposition of two axes, and a reshape back.
    """
    nodes = []
    for node in graph.nodes:
        nodes.append(_shuffle(graph, node) or node)
    return graph.with_nodes(nodes)


def _shuffle(graph: FloatGraph, last: FloatNode) -> Optional[FloatNode]:
    """Return the shuffle that ends at `last`, if any; the nodes before it are kept for further
    readers.
    """
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


def merge_pads(graph: FloatGraph) -> FloatGraph:
    """Return the same network with padding merged into convolutions and poolings after it: zeros,
    or before a maximum the least number.

    A Pad is kept only for readers that cannot pad.
    """
    pads = {node.name: node for node in graph.nodes if isinstance(node.operator, Pad)}
    nodes = []
    for node in graph.nodes:
        pad = pads.get(node.inputs[0])
        operator = _merge_padding(pad, node.operator) if pad else None
        if pad is None or operator is None:
            nodes.append(node)
        else:
            nodes.append(replace(node, operator=operator, inputs=pad.inputs))
    read = {name for node in nodes for name in node.inputs} | set(graph.outputs)
    return graph.with_nodes(n for n in nodes if n.name in read or n.name not in pads)


def _merge_padding(pad: FloatNode, operator: Operator) -> Optional[Operator]:
    """Return the operator on the image without the padding; channels last."""
    assert isinstance(pad.operator, Pad)
    if len(pad.operator.pads) != 3 or any(pad.operator.pads[2]):
        return None
    (top, bottom), (left, right), _ = pad.operator.pads
    if min(top, left, bottom, right) < 0:
        return None
    around = (top, left, bottom, right)
    if isinstance(operator, Pool) and operator.kind == "max":
        pads = _sum(operator.pads, around)
        fits = pad.operator.value <= _LEAST and not operator.ceil and _is_below(pads, operator)
        return replace(operator, pads=pads) if fits else None
    if pad.operator.value != 0:
        return None
    if isinstance(operator, Conv) and min(operator.pads) >= 0:
        return replace(operator, pads=_sum(operator.pads, around))
    if not isinstance(operator, Pool) or operator.kind != "average" or operator.ceil:
        return None
    pads = _sum(operator.pads, around)
    counts = operator.count_pads or not any(operator.pads)
    fits = counts and _is_below(pads, operator)
    return replace(operator, pads=pads, count_pads=True) if fits else None


def _is_below(pads: Pads, operator: Pool) -> bool:
    """True if padding is below the sides of a pooling's windows."""
    return all(cells < side for cells, side in zip(pads, (*operator.kernel, *operator.kernel)))


def _sum(first: Pads, second: Pads) -> Pads:
    a, b, c, d = (x + y for x, y in zip(first, second))
    return (a, b, c, d)
