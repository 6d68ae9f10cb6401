"""Drops operators that change nothing, and nodes whose output no node reads."""

from __future__ import annotations

from dataclasses import replace

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Identity, Reshape, Transpose


def tidy(graph: FloatGraph) -> FloatGraph:
    """The same network without identities, and with one reshape where several follow each other.

    An identity that is an output gives its name to its input tensor; it stays where that tensor is
    the network's input or another output.
    """
    renamed: dict[str, str] = {}
    nodes: list[FloatNode] = []
    for node in graph.nodes:
        node = replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs))
        if not _is_identity(graph, node):
            nodes.append(_joined(node, nodes))
        elif node.name not in graph.outputs:
            renamed[node.name] = node.inputs[0]
        elif node.inputs[0] == graph.input or node.inputs[0] in graph.outputs:
            nodes.append(node)
        else:
            nodes = _renamed(nodes, node.inputs[0], node.name)
            renamed[node.inputs[0]] = node.name
            renamed = {
                old: node.name if new == node.inputs[0] else new for old, new in renamed.items()
            }
    return graph.with_nodes(_read(nodes, set(graph.outputs)))


def _is_identity(graph: FloatGraph, node: FloatNode) -> bool:
    """Whether the operator leaves shape and elements as they are."""
    operator = node.operator
    if isinstance(operator, Transpose):
        return operator.order == tuple(sorted(operator.order))
    same = isinstance(operator, Reshape) and graph.shapes[node.name] == _shape(graph, node)
    return same or isinstance(operator, Identity)


def _shape(graph: FloatGraph, node: FloatNode) -> tuple[int, ...]:
    return graph.shapes[graph.node(node.name).inputs[0]]


def _joined(node: FloatNode, nodes: list[FloatNode]) -> FloatNode:
    """A reshape of a reshape reads what that one reads."""
    if isinstance(node.operator, Reshape):
        for earlier in nodes:
            if earlier.name == node.inputs[0] and isinstance(earlier.operator, Reshape):
                return replace(node, inputs=earlier.inputs)
    return node


def _renamed(nodes: list[FloatNode], old: str, new: str) -> list[FloatNode]:
    return [
        replace(
            node,
            name=new if node.name == old else node.name,
            inputs=tuple(new if name == old else name for name in node.inputs),
        )
        for node in nodes
    ]


def _read(nodes: list[FloatNode], wanted: set[str]) -> list[FloatNode]:
    """The nodes that the outputs depend on."""
    kept = []
    for node in reversed(nodes):
        if node.name in wanted:
            wanted.update(node.inputs)
            kept.append(node)
    return kept[::-1]
