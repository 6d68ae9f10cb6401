"""Runs the calls of a network one by one, each on inputs of the caller's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from ..ir.builds import build_calls
from ..ir.graph import Graph, Node, Tensor
from ..kernels.table import call, choose, list_rows, make_params
from ..targets import Profile
from .session import Session


class Calls:
    """Every call of a network, planned once for a device."""

    def __init__(self, graph: Graph, profile: Profile) -> None:
        graph = self._graph = build_calls(graph, profile)
        self._profile = profile = profile.library  # the calls are built
        tensors = graph.tensors
        states = {tensor.name for tensor in graph.states}
        self._sessions = {
            node.name: Session(self._make_single(node, tensors[node.inputs[0]]), profile)
            for node in graph.nodes
            if len(node.inputs) == 1 and node.inputs[0] not in states
        }

    def _make_single(self, node: Node, start: Tensor) -> Graph:
        names = [name for name in (node.weights, node.bias) if name is not None]
        arrays = {name: self._graph.arrays[name] for name in names}
        alone = replace(node, builds=(), effect="")  # it is built, and the network has warned
        return Graph(self._graph.name, (start,), (alone,), (node.name,), arrays)

    def run(self, node: Node, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Return the output [N, ...] of one call, of the device's build, on integer inputs [N,
        ...].
        """
        if node.name in self._sessions:
            session = self._sessions[node.name]
            shape = session.graph.input.shape
            return session.run(inputs[0].reshape(-1, *shape))[node.name]
        rows = list_rows(node.function.op, node.function.type)
        values = node.function.struct_values(node.params)
        params = make_params(rows[0].op, self._profile, values)
        row = choose(rows, self._profile, params)
        weights, bias = (self._get_array(name) for name in (node.weights, node.bias))
        out = np.empty((len(inputs[0]), *node.output.shape), node.output.dtype)
        for index in range(len(out)):
            copies = [np.array(x[index], order="C") for x in inputs]  # calls may write to a state
            call(row, params, copies, out[index], weights, bias)
        return out

    def _get_array(self, name: Optional[str]) -> Optional[np.ndarray]:
        return None if name is None else np.ascontiguousarray(self._graph.arrays[name])
