"""Where the stages meet on a float network's way to a device: optimize, observe, settle, lower."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from .data import Batch, batches
from .errors import Error
from .float_graph import FloatGraph
from .formats import quantize as to_integers
from .lower import device_part, lower, prepare
from .optimize import optimize
from .pipeline import FloatNetwork, Network
from .quantizer.policies import policy
from .quantizer.search import Score, Search, Variable, search
from .quantizer.settle import Formats, Overrides, settle
from .quantizer.statistics import observe
from .runtime.evaluate import each_tensor, evaluate
from .runtime.session import Session
from .statistics import Statistics
from .targets import DEFAULT_CORE, Profile, profile

Progress = Callable[[Iterable], Iterable]


def quantize(
    network: FloatNetwork,
    data: Any,
    *,
    target: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    bits: int = 8,
    method: Union[str, float] = "minmax",
    weight_method: Union[str, float] = "minmax",
    formats: Optional[Overrides] = None,
    functions: Optional[Mapping[str, str]] = None,
    softmax: bool = True,
    layout: Optional[str] = None,
    search_range: int = 3,
    tolerance: float = 0.0,
    threads: int = 1,
    resume: Union[str, Path, None] = None,
    progress: Optional[Progress] = None,
) -> Network:
    """The network in powers of two, as calls of CMSIS-NN's q7 (bits=8) or q15 (bits=16) functions.

    data: calibration inputs as data.batches() takes them, with labels for a search. method, for
    activations, and weight_method: "minmax", "mse", "kl", a percentile as a number; method may
    be "search": from minmax on, up to `search_range` integer bits fewer are tried for every
    format on the exact network, while its accuracy on the data (without labels: its closeness to
    the float scores) is more than `tolerance` below the float network's; `resume` keeps what is
    decided in a file. formats: fraction bits that are given: layer -> {"output": 5, "weights": 7,
    "bias": 6}. functions: layer -> C function, where the fastest that fits is not wanted.
    softmax: keep one at the end. layout: of images in the data, where their shape does not tell.

    The result's `notes` tell what had to give way. Raises ModelError that names every operator
    the device has no function for, Error for options and data that do not fit.
    """
    if bits not in (8, 16):
        raise Error(f"weights and activations have 8 or 16 bits, not {bits}")
    job = _job(network, bits, profile(target, cmsis, rounding), functions, softmax)
    wanted = policy("minmax" if method == "search" else method)
    source = batches(data, network.graph.shape, network.graph.layout, layout)
    turn = partial(_device_input, job.reference, job.graph.input)
    kept: list[Batch] = []

    def inputs() -> Iterable[np.ndarray]:
        for batch in progress(source) if progress else source:
            x = turn(_channels_last(batch.x, network.graph))
            if method == "search":
                kept.append(Batch(x, batch.y))
            yield x

    job = replace(job, statistics=observe(job.graph, inputs()))
    settled = partial(job.settled, policy=wanted, weight_policy=policy(weight_method))
    given = formats or {}
    if method == "search":
        how = Search(search_range, tolerance, None, threads, Path(resume) if resume else None)
        given = _searched(job, settled, given, kept, how, progress)
    final = settled(given)
    graph = lower(job.graph, final, job.profile, functions)
    Session(graph, job.profile)  # the device accepts every call
    return Network(graph, job.reference, (*job.notes, *final.notes))


@dataclass(frozen=True)
class _Job:
    """One network on its way to one device.

    reference: optimized, channels last. graph: the device's part of it, in operators that have
    functions.
    """

    reference: FloatGraph
    graph: FloatGraph
    profile: Profile
    bits: int
    functions: Optional[Mapping[str, str]]
    notes: tuple[str, ...]
    statistics: Mapping[str, Statistics]

    def settled(self, given: Overrides, policy: Any, weight_policy: Any) -> Formats:
        """Formats, where these are given."""
        return settle(self.graph, self.statistics, self.bits, policy, weight_policy, given)


def _job(
    network: FloatNetwork,
    bits: int,
    wanted: Profile,
    functions: Optional[Mapping[str, str]],
    softmax: bool,
) -> _Job:
    reference, notes = optimize(network.graph)
    graph, more = prepare(device_part(reference), bits, softmax)
    if graph.input != reference.input:
        notes = (*notes, f"the device's input is {graph.input}: the host computes what is before")
    # What can not be lowered is known before any data is read.
    zeros = dict.fromkeys(graph.shapes, bits - 1)
    weights = {node.name: bits - 1 for node in graph.nodes}
    lower(graph, Formats(bits, zeros, weights, {}), wanted, functions)
    return _Job(reference, graph, wanted, bits, functions, (*notes, *more), {})


def _channels_last(x: np.ndarray, graph: FloatGraph) -> np.ndarray:
    return np.moveaxis(x, 1, -1) if graph.layout == "NCHW" else x


def _device_input(reference: FloatGraph, name: str, x: np.ndarray) -> np.ndarray:
    """The tensor that the device gets, of float inputs."""
    if name == reference.input:
        return x
    return next(value for tensor, value in each_tensor(reference, x) if tensor == name)


def _searched(
    job: _Job,
    settled: Callable[[Overrides], Formats],
    given: Overrides,
    kept: list[Batch],
    how: Search,
    progress: Optional[Progress],
) -> Overrides:
    """The formats that a search gives, on all of the data."""
    x = np.concatenate([batch.x for batch in kept])
    labels = [batch.y for batch in kept if batch.y is not None]
    y = np.concatenate(labels) if len(labels) == len(kept) else None
    graph = prepare(job.graph, job.bits, softmax=False)[0]
    scores = evaluate(graph, x)[graph.outputs[0]].reshape(len(x), -1)
    scorer = _Scorer(replace(job, graph=graph), settled, x, y, scores)
    start = settled(given)
    taken = {(name, role) for name, roles in given.items() for role in roles}
    variables: list[Variable] = [(n, "weights", f) for n, f in start.weights.items()]
    variables += [(n, "output", start.tensors[n]) for n in (graph.input, *start.weights)]
    variables += [(n, "bias", f) for n, f in start.biases.items()]
    variables = [v for v in variables if (v[0], v[1]) not in taken]
    goal = None if y is None else float(np.mean(scores.argmax(1) == y))
    digest = hashlib.sha256(x.tobytes())
    for part in (y, *(v for v in variables), given, job.profile, how.span, how.tolerance):
        digest.update(repr(part.tolist() if isinstance(part, np.ndarray) else part).encode())
    how = replace(how, goal=goal, key=digest.hexdigest())
    return search(variables, given, scorer, how, progress or iter)


@dataclass(frozen=True)
class _Scorer:
    """How well the exact network does on data x, with labels y, next to the float scores."""

    job: _Job
    settled: Callable[[Overrides], Formats]
    x: np.ndarray
    y: Optional[np.ndarray]
    scores: np.ndarray

    def __call__(self, given: Overrides) -> Score:
        """The network with formats given, run on all of the data."""
        graph = lower(self.job.graph, self.settled(given), self.job.profile, self.job.functions)
        start = graph.input
        x = to_integers(self.x, start.frac or 0, start.dtype)
        result = Session(graph, self.job.profile).run(x)[graph.outputs[0]].reshape(len(x), -1)
        frac = graph.node(graph.outputs[0]).output.frac or 0
        right = 0.0 if self.y is None else float(np.mean(result.argmax(1) == self.y))
        error = np.sum((np.ldexp(result.astype(float), -frac) - self.scores) ** 2, 1)
        signal = np.maximum(np.sum(self.scores**2, 1), np.finfo(float).tiny)
        return Score(right, -float(np.mean(np.minimum(error / signal, 1))))
