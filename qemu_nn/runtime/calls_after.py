"""The calls of a network that depend on one of its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..ir.graph import Graph
from ..targets import Profile
from .session import Session


@dataclass(frozen=True)
class CallsAfter:
    """Calls after a tensor, up to some outputs.

    session: of these calls; None if no output depends on the tensor but the tensor itself. others:
    further tensors that they read.
    """

    tensor: str
    session: Optional[Session]
    others: tuple[str, ...]

    def run(self, codes: np.ndarray, others: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs for other integers [K * N, ...] of the tensor, and the tensor.

        others: integers [N, ...] of further tensors, by name.
        """
        got = {self.tensor: codes}
        if self.session is not None:
            others = {name: _repeat_samples(others[name], len(codes)) for name in self.others}
            got.update(self.session.run({**got, **others} if others else codes))
        return got


def _repeat_samples(codes: np.ndarray, count: int) -> np.ndarray:
    """Return samples [N, ...] again and again, so many in all."""
    spread = np.broadcast_to(codes, (count // len(codes), *codes.shape))
    return spread.reshape(-1, *codes.shape[1:])


def plan_calls_after(
    graph: Graph, tensor: str, outputs: Iterable[str], profile: Profile
) -> CallsAfter:
    """Return the calls that depend on a tensor, up to these outputs."""
    reached = {tensor}
    for node in graph.nodes:
        if reached & {*node.inputs}:
            reached.add(node.name)
    calls = tuple(node for node in graph.nodes if node.name in reached - {tensor})
    wanted = tuple(each for each in outputs if each in reached - {tensor})
    others = tuple(sorted({each for node in calls for each in node.inputs} - reached))
    if not wanted:
        return CallsAfter(tensor, None, others)
    starts = tuple(graph.tensors[each] for each in (tensor, *others))
    used = {array for node in calls for array in (node.weights, node.bias)}
    arrays = {key: array for key, array in graph.arrays.items() if key in used}
    part = Graph(graph.name, starts, calls, wanted, arrays)
    return CallsAfter(tensor, Session(part, profile), others)
