"""Runs of networks that differ little, on one batch of inputs: only calls after a change run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np

from ..ir.graph import Graph, Node
from ..runtime.session import Session
from ..targets import Profile

#: Most bytes of the tensors that are kept.
_BYTES = 1 << 27

#: Share of the calls that a nearer network must save before its tensors are kept instead.
_SHARE = 0.25


class Rerun:
    """Runner of networks of one profile on float inputs x.

    It keeps the tensors of one network. Of each further network it runs the calls that differ, and
    those that read their results. The integers are those of a run of the whole network. If later
    networks are more similar to each other than to the one that is kept, one of them replaces it.
    """

    def __init__(self, x: np.ndarray, profile: Profile) -> None:
        self.x, self.profile = x, profile
        self._kept: Optional[Graph] = None
        self._values: dict[str, np.ndarray] = {}
        self._last: Optional[Graph] = None
        self.calls = 0  # that ran so far

    def run(self, graph: Graph) -> dict[str, np.ndarray]:
        """Return the integers of the outputs."""
        changed = list_changed(graph, self._kept)
        nearer = list_changed(graph, self._last)
        self._last = graph
        if len(changed) - len(nearer) >= _SHARE * len(graph.nodes) and self._fits(graph):
            codes = graph.input.format.quantize(self.x)
            self.calls += len(graph.nodes)
            made = Session(graph, self.profile).run(codes, trace=True)
            self._kept, self._values = graph, {graph.input.name: codes, **made}
            return {name: self._values[name] for name in graph.outputs}
        return self._run_part(graph, changed)

    def _fits(self, graph: Graph) -> bool:
        sizes = [np.dtype(t.dtype).itemsize * int(np.prod(t.shape)) for t in graph.tensors.values()]
        return len(self.x) * sum(sizes) <= _BYTES

    def _run_part(self, graph: Graph, changed: list[Node]) -> dict[str, np.ndarray]:
        """Return the outputs, after a run of some of the calls."""
        made = {node.name for node in changed}
        wanted = tuple(name for name in graph.outputs if name in made)
        found = {name: self._values[name] for name in graph.outputs if name not in made}
        if not wanted:
            return found
        read = {name for node in changed for name in node.inputs} - made
        starts = tuple(tensor for name, tensor in graph.tensors.items() if name in read)
        used = {array for node in changed for array in (node.weights, node.bias)}
        arrays = {key: array for key, array in graph.arrays.items() if key in used}
        part = Graph(graph.name, starts, tuple(changed), wanted, arrays)
        values = {tensor.name: self._value(graph, tensor.name) for tensor in starts}
        self.calls += len(changed)
        given = values if len(values) > 1 else next(iter(values.values()))
        return {**found, **Session(part, self.profile).run(given)}

    def _value(self, graph: Graph, name: str) -> np.ndarray:
        """Return the integers of a tensor that did not change, or of the input."""
        if name == graph.input.name:
            return graph.input.format.quantize(self.x)
        return self._values[name]


def list_changed(graph: Graph, other: Optional[Graph]) -> list[Node]:
    """Return the calls whose results may differ from those of another network."""
    if other is None or graph.inputs != other.inputs:
        return list(graph.nodes)
    known = {node.name: node for node in other.nodes}
    same = {tensor.name for tensor in graph.inputs}
    changed = []
    for node in graph.nodes:
        held = node == known.get(node.name) and same.issuperset(node.inputs)
        keys = (node.weights, node.bias) if held else ()
        if held and all(_is_same(graph.arrays, other.arrays, key) for key in keys):
            same.add(node.name)
        else:
            changed.append(node)
    return changed


def _is_same(
    mine: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray], key: Optional[str]
) -> bool:
    if key is None:
        return True
    return mine[key] is theirs[key] or np.array_equal(mine[key], theirs[key])
