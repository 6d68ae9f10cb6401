"""Networks on trial: what the device is to compute, and how close that comes to real scores."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..operators import Identity, Reshape
from ..quantizer.search import Search
from ..runtime.evaluate import evaluate
from ..runtime.session import Session
from .budgets import Budget
from .checkpoint import State, copy_in_c_order
from .format_search import Job, Progress

#: Energies below it are no signal, and no noise.
_TINY = 1e-30


@dataclass(frozen=True)
class StepPlan:
    """Steps to take in order, a deadline by time.monotonic(), a budget; how
    to search."""

    steps: tuple[str, ...]
    until: float
    search: Search
    budget: Optional[Budget] = None
    progress: Optional[Progress] = None

    def iterate_in_time(self, turns: Iterable[Any]) -> Iterator[Any]:
        """Yield items until the time is up."""
        for turn in self.progress(turns) if self.progress else turns:
            if time.monotonic() >= self.until:
                return
            yield turn

    @property
    def late(self) -> bool:
        """True if the time is up."""
        return time.monotonic() >= self.until


@dataclass(frozen=True)
class Trial:
    """A network with formats for all of it; what the device is to compute.

    real: the network before its weights were made to lie on the grids of the formats.
    """

    job: Job
    formats: Any
    real: FloatGraph

    def lower_calls(self) -> Graph:
        """Return the calls."""
        return self.job.scheme.lower(self.job.graph, self.formats)

    def copy_in_c_order(self) -> Trial:
        """Return the same, as a file of a state has it."""
        real, graph = copy_in_c_order(self.real), self.job.graph
        graph = real if graph is self.real else copy_in_c_order(graph)
        return replace(self, real=real, job=replace(self.job, graph=graph))

    @property
    def state(self) -> State:
        """The parts that a checkpoint keeps."""
        return State(self.job.scheme, self.formats, self.real, self.job.graph)

    def lower_to_scores(self) -> Graph:
        """Return the calls up to the scores, without a softmax after them."""
        graph = self.job.scheme.prepare(self.job.graph, softmax=False)[0]
        return self.job.scheme.lower(graph, self.formats)


@dataclass(frozen=True)
class Judge:
    """Judge of a trial: distance of its scores to the float network's, on inputs x.

    scores: the float network's, by output. budget: what a network may take at most.
    """

    x: np.ndarray
    scores: dict[str, np.ndarray]
    budget: Optional[Budget] = None

    def __call__(self, trial: Trial) -> float:
        """Return the signal-to-noise ratio of the scores in decibels, as compute_ratio() has it."""
        return compute_ratio(self.noise(trial))

    def noise(self, trial: Trial) -> np.ndarray:
        """Return the noise of each sample, relative to the mean signal of all: the mean over
        outputs.

        It is infinite where no device has these formats, or the budget is exceeded.
        """
        try:
            if self.budget is not None and self.budget.compute_excess(trial.lower_calls()):
                return np.full(len(self.x), np.inf)
            graph = trial.lower_to_scores()
            session = Session(graph, trial.job.scheme.profile)
            got = session.run(graph.input.format.quantize(self.x))
        except Error:
            return np.full(len(self.x), np.inf)
        noises = [
            _measure_noise(graph, name, got[name], real) for name, real in self.scores.items()
        ]
        return np.asarray(np.mean(noises, axis=0))

    def part(self, rows: np.ndarray) -> Judge:
        """Return the same on some of the samples."""
        scores = {name: real[rows] for name, real in self.scores.items()}
        return replace(self, x=self.x[rows], scores=scores)


def compute_ratio(noise: np.ndarray) -> float:
    """Return the signal-to-noise ratio in decibels; noise: of each sample, relative to the mean
    signal.
    """
    return -10 * math.log10(max(float(noise.mean()), _TINY))


def estimate_ratio(noise: np.ndarray) -> float:
    """Return the signal-to-noise ratio in decibels that unseen samples are likely to reach.

    The mean noise has a standard error, and counts with so much more: noise that a few samples
    have, such as saturation, is rarely seen whole.
    """
    return compute_ratio(noise.mean(keepdims=True) + noise.std() / math.sqrt(len(noise)))


def _measure_noise(graph: Graph, name: str, got: np.ndarray, real: np.ndarray) -> np.ndarray:
    values = graph.node(name).output.format.dequantize(got).reshape(real.shape)
    error, signal = (np.sum(each**2, 1, dtype=np.float64) for each in (values - real, real))
    return np.asarray(error / max(float(signal.mean()), _TINY))


def judge_of(job: Job, x: np.ndarray) -> Judge:
    """Return what scores networks for a job on inputs x."""
    graph = job.scheme.prepare(job.graph, softmax=False)[0]
    held = {find_holder(graph, name): value for name, value in evaluate(graph, x).items()}
    return Judge(x, {name: value.reshape(len(x), -1) for name, value in held.items()})


def find_holder(graph: FloatGraph, name: str) -> str:
    """Return the tensor that holds the values of another on the device, where nothing moves."""
    while name not in graph.starts and type(graph.node(name).operator) in (Reshape, Identity):
        name = graph.node(name).inputs[0]
    return name
