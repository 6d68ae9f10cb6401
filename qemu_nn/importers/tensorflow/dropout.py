"""Removal of the dropout of training: a random mask over scaled elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

from .reading import TensorflowNode

#: Operators that compute a dropout mask from random numbers, and the most nodes of one.
_MAKES_MASKS = ("Floor", "Cast", "GreaterEqual", "Add", "AddV2", "Sub", "Mul")
_MOST_NODES = 16


def remove_dropout(nodes: Mapping[str, TensorflowNode]) -> dict[str, TensorflowNode]:
    """Return the graph for inference, with dropout nodes as identities."""
    kept = {}
    for node in nodes.values():
        source = _find_undropped(nodes, node)
        kept[node.name] = node if source is None else replace(node, op="Identity", inputs=(source,))
    return kept


def _find_undropped(nodes: Mapping[str, TensorflowNode], node: TensorflowNode) -> Optional[str]:
    """Return the tensor whose elements a node drops: Mul(scaled, mask) or SelectV2(mask, scaled,
    0).

    scaled is x divided or multiplied by a factor.
    """
    if node.op == "Mul" and len(node.inputs) == 2:
        scaled, mask = node.inputs
    elif node.op in ("Select", "SelectV2") and len(node.inputs) == 3:
        mask, scaled, _ = node.inputs
    else:
        return None
    makes = nodes.get(mask)
    if makes is None or makes.op not in ("Floor", "Cast", "GreaterEqual"):
        return None
    scaling = nodes.get(scaled)
    if scaling is None or scaling.op not in ("RealDiv", "Mul") or not _random(nodes, makes):
        return None
    return scaling.inputs[0] if scaling.inputs else None


def _random(nodes: Mapping[str, TensorflowNode], mask: TensorflowNode) -> bool:
    """True if a mask is computed from random numbers."""
    seen, stack = set[str](), [mask]
    while stack and len(seen) < _MOST_NODES:
        node = stack.pop()
        if node.op == "RandomUniform":
            return True
        if node.op in _MAKES_MASKS and node.name not in seen:
            seen.add(node.name)
            stack.extend(nodes[name] for name in node.inputs if name in nodes)
    return False
