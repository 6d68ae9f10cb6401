"""Runs of a network that a compiler made for an NPU, under the names of the original network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..ir.graph import Graph, Node
from ..targets import Profile
from .inputs import Inputs, State, arrange_by_name
from .per_layer import Calls
from .session import Session


def trace_as_original(
    session: Session, original: Graph, x: Inputs, state: State = None
) -> dict[str, np.ndarray]:
    """Return the tensors of a network for inputs of the original one.

    A state that the original does not keep between runs, such as an LSTM's in the arena of an NPU,
    starts anew for each sample.
    """
    graph = session.graph
    named = arrange_by_name(original, x)
    alone = bool(graph.states) and not original.states
    given = []
    for tensor, first in zip(graph.inputs, original.inputs):
        values = named[first.name]
        lead = values.shape[: values.ndim - len(first.shape)]
        given.append(values.reshape(*lead, *((1,) if alone else ()), *tensor.shape))
    results = session.run(given if len(given) > 1 else given[0], state, trace=True)
    return {name: values[:, 0] if alone else values for name, values in results.items()}


def shape_inputs(graph: Graph, node: Node, known: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the inputs of a call, in the shapes that it reads."""
    tensors = graph.tensors
    return [known[name].reshape(len(known[name]), *tensors[name].shape) for name in node.inputs]


class CompiledRun:
    """A compiled network that computes the layers of the original one.

    A layer that no operation of the NPU writes alone is computed by the core's function from the
    tensors of the NPU.
    """

    def __init__(self, compiled: Graph, original: Graph, profile: Profile) -> None:
        self._session = Session(compiled, profile, trace=True)
        self._original = original
        self._calls = Calls(original, profile)

    def run(self, x: Inputs, trace: bool = True) -> dict[str, np.ndarray]:
        """Return all layers of the original network; trace: always."""
        named = arrange_by_name(self._original, x)
        traced = trace_as_original(self._session, self._original, named)
        known: dict[str, np.ndarray] = dict(named)
        for node in self._original.nodes:
            if node.name in traced:
                values = traced[node.name]
                known[node.name] = values.reshape(len(values), *node.output.shape)
            else:
                known[node.name] = self._calls.run(node, shape_inputs(self._original, node, known))
        return {node.name: known[node.name] for node in self._original.nodes}
