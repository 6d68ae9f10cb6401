"""Merging of concatenations of two tensors into concatenations of several tensors."""

from __future__ import annotations

from collections import Counter

from ...ir.graph import Graph


def join_concatenations(graph: Graph) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Return concatenations with all their inputs, and the calls that these replace.

    A reader concatenates adjacent pairs, then pairs of the results. With n inputs, the left side of
    the last call therefore has the largest power of two below n.
    """
    readers = Counter(name for node in graph.nodes for name in node.inputs)
    readers.update(graph.outputs)
    calls = {node.name: node for node in graph.nodes if "concatenation" in node.function.name}
    joins: dict[str, tuple[str, ...]] = {}
    inside: set[str] = set()
    for name, node in calls.items():
        parts = []
        for source in node.inputs:
            call = calls.get(source)
            own = call is not None and readers[source] == 1
            if own and call is not None:
                own = call.params["outer"] == node.params["outer"]
                own = own and call.output.format == node.output.format
            parts.append(joins[source] if own else (source,))
        left, right = map(len, parts)
        if left & (left - 1) or right > left:
            joins[name] = node.inputs
        else:
            joins[name] = (*parts[0], *parts[1])
            inside |= {source for source, of in zip(node.inputs, parts) if of != (source,)}
    return joins, inside
