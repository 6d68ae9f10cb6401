"""Job of one network for one device, and the search for its formats."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np

from ..evaluation.batches import Batch
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.statistics import Statistics
from ..quantizer.search import Given, Score, Search, search
from ..runtime.evaluate import evaluate
from ..runtime.session import Session
from .schemes import Overrides, Scheme

Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Job:
    """One network for one device.

    reference: optimized, channels last. graph: the device's part, in operators that have functions.
    """

    reference: FloatGraph
    graph: FloatGraph
    scheme: Scheme
    given: Overrides
    notes: tuple[str, ...]
    statistics: Mapping[str, Statistics]

    def formats(self, tried: Given) -> Any:
        """Return all formats, including the trial formats of a search."""
        return self.scheme.assign_formats(self.graph, self.statistics, self.given, tried)

    def lower_calls(self, tried: Given) -> Graph:
        """Return the calls, with the formats that a search tries."""
        return self.scheme.lower(self.graph, self.formats(tried))


def search_all_formats(
    job: Job, kept: list[Batch], how: Search, progress: Optional[Progress]
) -> Given:
    """Return the formats that a search chooses, on all of the data."""
    x = np.concatenate([batch.x for batch in kept])
    labels = [batch.y for batch in kept if batch.y is not None]
    y = np.concatenate(labels) if len(labels) == len(kept) else None
    job = replace(job, graph=job.scheme.prepare(job.graph, softmax=False)[0])
    scores = evaluate(job.graph, x)[job.graph.outputs[0]].reshape(len(x), -1)
    variables = job.scheme.variables(job.graph, job.formats({}), job.given)
    goal = None if y is None else float(np.mean(scores.argmax(1) == y))
    digest = hashlib.sha256(x.tobytes())
    about = (y, *variables, job.given, job.scheme.profile, how.span, how.tolerance)
    for part in about:
        digest.update(repr(part.tolist() if isinstance(part, np.ndarray) else part).encode())
    how = replace(how, goal=goal, key=digest.hexdigest())
    return search(variables, {}, Scorer(job, x, y, scores), how, progress or iter)


@dataclass(frozen=True)
class Scorer:
    """Scores the exact network on data x with labels y, or against the float scores."""

    job: Job
    x: np.ndarray
    y: Optional[np.ndarray]
    scores: np.ndarray

    def __call__(self, tried: Given) -> Score:
        """Return the score of the network with the formats that are tried."""
        graph = self.job.lower_calls(tried)
        x = graph.input.format.quantize(self.x)
        session = Session(graph, self.job.scheme.profile)
        result = session.run(x)[graph.outputs[0]].reshape(len(x), -1)
        got = graph.node(graph.outputs[0]).output.format.dequantize(result)
        right = 0.0 if self.y is None else float(np.mean(result.argmax(1) == self.y))
        error = np.sum((got - self.scores) ** 2, 1)
        signal = np.maximum(np.sum(self.scores**2, 1), np.finfo(float).tiny)
        return Score(right, -float(np.mean(np.minimum(error / signal, 1))))
