"""Trial networks for a device, and the distance of their scores to the float scores."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..operators import Identity, Reshape
from ..quantizer.search import Search
from ..runtime.evaluate import evaluate
from ..targets import Profile
from .budgets import DeviceBudget
from .checkpoint import State, copy_in_c_order
from .format_search import Job, Progress
from .rerun import Rerun

#: Least energy of a signal or of noise.
_TINY = 1e-30


@dataclass(frozen=True)
class StepPlan:
    """Steps in their order, a deadline by time.monotonic(), a budget, and the search's options."""

    steps: tuple[str, ...]
    until: float
    search: Search
    budget: Optional[DeviceBudget] = None
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
    """A network with all formats, as the device computes it.

    real: the network before its weights were rounded to the grids of the formats.
    """

    job: Job
    formats: Any
    real: FloatGraph

    def lower_calls(self) -> Graph:
        """Return the calls."""
        return self.job.scheme.lower(self.job.graph, self.formats)

    def copy_in_c_order(self) -> Trial:
        """Return the trial with the array order of a file of its state."""
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
    """Judge of trials by the distance of their scores to the float scores on inputs x.

    scores: the float network's, by output. budget: limits of a network. runs: of the trials of
    each thread, which differ little.
    """

    x: np.ndarray
    scores: dict[str, np.ndarray]
    budget: Optional[DeviceBudget] = None
    runs: dict[tuple[int, Profile], Rerun] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "runs": {}}

    def __call__(self, trial: Trial) -> float:
        """Return the signal-to-noise ratio of the scores in decibels, as compute_ratio() has it."""
        return compute_ratio(self.noise(trial))

    def noise(self, trial: Trial) -> np.ndarray:
        """Return the noise of each sample, relative to the mean signal of all: the mean over
        outputs.

        The noise is infinite if no device has these formats, or the budget is exceeded.
        """
        try:
            if self.budget is not None and self.budget.compute_excess(trial.lower_calls()):
                return np.full(len(self.x), np.inf)
            got = self.compute_scores(trial)
        except Error:
            return np.full(len(self.x), np.inf)
        return self.compute_noise(got)

    def compute_scores(self, trial: Trial) -> dict[str, np.ndarray]:
        """Return the scores of a trial by output, as floats; raise Error if no device computes
        them.
        """
        graph, profile = trial.lower_to_scores(), trial.job.scheme.profile
        key = threading.get_ident(), profile
        run = self.runs.setdefault(key, Rerun(self.x, profile)).run(graph)
        tensors = {name: graph.node(name).output.format for name in self.scores}
        return {n: tensors[n].dequantize(run[n]).reshape(r.shape) for n, r in self.scores.items()}

    def compute_noise(self, got: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the noise of each sample, as noise(), for scores that a trial computed."""
        noises = [_measure_noise(got[name], real) for name, real in self.scores.items()]
        return np.asarray(np.mean(noises, axis=0))

    def part(self, rows: np.ndarray) -> Judge:
        """Return the same on some of the samples."""
        scores = {name: real[rows] for name, real in self.scores.items()}
        return replace(self, x=self.x[rows], scores=scores, runs={})


def compute_ratio(noise: np.ndarray) -> float:
    """Return the signal-to-noise ratio in decibels; noise: of each sample, relative to the mean
    signal.
    """
    return -10 * math.log10(max(float(noise.mean()), _TINY))


def estimate_ratio(noise: np.ndarray) -> float:
    """Return the signal-to-noise ratio in decibels that unseen samples are likely to reach.

    noise: of each sample, relative to the mean signal. The result adds one standard error to the
    mean noise, because noise in a few samples, such as saturation, is rarely observed completely.
    """
    return compute_ratio(noise.mean(keepdims=True) + noise.std() / math.sqrt(len(noise)))


def _measure_noise(values: np.ndarray, real: np.ndarray) -> np.ndarray:
    error, signal = (np.sum(each**2, 1, dtype=np.float64) for each in (values - real, real))
    return np.asarray(error / max(float(signal.mean()), _TINY))


def judge_of(job: Job, x: np.ndarray) -> Judge:
    """Return the judge of a job's networks on inputs x."""
    graph = job.scheme.prepare(job.graph, softmax=False)[0]
    held = {find_holder(graph, name): value for name, value in evaluate(graph, x).items()}
    return Judge(x, {name: value.reshape(len(x), -1) for name, value in held.items()})


def find_holder(graph: FloatGraph, name: str) -> str:
    """Return the tensor with the same values on the device, after calls that move nothing."""
    while name not in graph.starts and type(graph.node(name).operator) in (Reshape, Identity):
        name = graph.node(name).inputs[0]
    return name
