"""Takes the steps that make a quantized network more accurate, and keeps those that do."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np

from ..errors import Error
from ..evaluation.batches import Batch
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.statistics import Statistics
from ..operators import Conv, Dense, Identity, Operator
from ..quantizer.affine_rules import Rescale
from ..quantizer.coordinate_descent import Goal
from ..quantizer.search import Given, Score, search
from ..quantizer.statistics import observe
from ..quantizer.steps import STEPS, After, Before, Held, observe_inputs
from ..runtime.cluster import Compute, computing
from ..runtime.evaluate import evaluate
from .candidate import Judge, Plan, Trial, find_holder, judge_of
from .checkpoint import copy_in_c_order, name_search_record, record_of
from .format_search import Job

LOGGER = logging.getLogger("qemu_nn.quantize")

#: Samples that the network is observed on at a time, and values of a traced run at most.
_BATCH, _TRACED = 64, 1 << 25

#: So many networks of a step are judged, those that fit best: a range that fits tightly may be too
#: narrow for other data.
_TRIES = 3

#: Methods for activations and for weights that the step "formats" compares.
METHODS = ("minmax", "mse", "kl", 99.99, 99.9)
WEIGHT_METHODS = ("minmax", "mse")
#: Pairs of them that are tried with every network of another step before formats.
RESCALED = (("minmax", "minmax"), ("mse", "minmax"), ("mse", "mse"), (99.9, "mse"))


def improve_network(job: Job, formats: Any, kept: Sequence[Batch], plan: Plan) -> tuple[Job, Any]:
    """Return a network of the same function up to rounding, with a note for each step, and its
    formats.

    Half of the samples fit a step; it is kept if the other half do not score worse with it. In the
    end all of them say how far values reach.
    """
    x, job = (
        np.concatenate([batch.x for batch in kept]),
        replace(job, graph=copy_in_c_order(job.graph)),
    )
    if len(x) < 2:
        raise Error("steps= and effort='best' need two samples: one to fit, and one to judge")
    judge = replace(judge_of(job, x), budget=plan.budget)
    fit, held_back = judge.part(slice(0, None, 2)), judge.part(slice(1, None, 2))
    options = (plan.steps, plan.search.span, plan.budget)
    record = record_of(plan.search.resume, job, formats, x, options)
    state = record.read()
    now = Trial(replace(job, graph=state.graph, scheme=state.scheme), state.formats, state.real)
    best, ranged, notes = held_back(now), state.ranged, [*state.notes]
    if not notes:
        notes = [f"{job.graph.name}: {best:.1f} dB before any step, on data held back"]
    with computing(fit, plan.search.client, plan.search.threads) as compute:
        for done, name in enumerate(plan.steps[state.done :], state.done + 1):
            if plan.late:
                notes.append(f"{name}: there was no time for it")
                continue
            began = time.monotonic()
            if isinstance(STEPS[name], After) and ranged:
                now, best, ranged = *_recompute_ranges(now, best, x, held_back), False
            outcome = "it does not help, and is left out"
            for label, tried in _Stage(now, fit, compute, plan).take(name):
                reached = held_back(tried)
                if reached >= best + STEPS[name].least:
                    outcome = f"{label}{best:.1f} -> {reached:.1f} dB"
                    now, best = tried.copy_in_c_order(), reached
                    ranged = name != "search" and not isinstance(STEPS[name], After)
                    break
            LOGGER.info("%s: %s; %.1f s", name, outcome, time.monotonic() - began)
            notes.append(f"{name}: {outcome}")
            if not plan.late:  # it may have been cut short
                record.write(now.state(ranged, notes, done))
    if ranged:
        now, _ = _recompute_ranges(now, best, x, held_back)
    real = job.reference if now.real is job.graph else make_reference(job.reference, now.real)
    return replace(now.job, reference=real, notes=(*now.job.notes, *notes)), now.formats


def _recompute_ranges(now: Trial, best: float, x: np.ndarray, judge: Judge) -> tuple[Trial, float]:
    """Return the network with the ranges of all samples, as how they are chosen is decided, and its
    score; the network as it is, of the score `best`, where it is no better with them.
    """
    job = replace(now.job, statistics=_make_statistics(now.job.graph, x))
    for _, tried in _assign("", job):
        reached = judge(tried)
        if reached >= best:
            return tried, reached
    return now, best


def _make_statistics(graph: FloatGraph, x: np.ndarray) -> Mapping[str, Statistics]:
    return observe(graph, (x[i : i + _BATCH] for i in range(0, len(x), _BATCH)))


def make_reference(whole: FloatGraph, part: FloatGraph) -> FloatGraph:
    """Return the float network with the device's part of it replaced by one of the same function.

    So analysis compares each tensor with the real values that it stands for.
    """
    first = next(i for i, node in enumerate(whole.nodes) if part.input in node.inputs)
    made = {node.name for node in part.nodes}
    behind = [node for node in whole.nodes[first:] if node.name not in made]
    own = [replace(node, operator=_reject_single_precision(node.operator)) for node in part.nodes]
    return whole.with_nodes([*whole.nodes[:first], *own, *behind])


def _reject_single_precision(operator: Operator) -> Operator:
    """Return an operator that files have: layers with weights of 32 bits, no changes of formats."""
    if isinstance(operator, Rescale):
        return Identity()
    if not isinstance(operator, (Conv, Dense)):
        return operator
    bias = None if operator.bias is None else operator.bias.astype(np.float32)
    return replace(operator, weights=operator.weights.astype(np.float32), bias=bias)


@dataclass(frozen=True)
class _Closeness:
    """Scores formats that a search tries."""

    job: Job
    judge: Judge

    def __call__(self, tried: Given) -> Score:
        """Return the signal-to-noise ratio alone, whatever labels say."""
        trial = Trial(self.job, self.job.formats(tried), self.job.graph)
        return Score(0.0, self.judge(trial))


@dataclass(frozen=True)
class _Stage:
    """One step on its way: from where, on which data. The others are not seen, so that they also
    judge ranges."""

    now: Trial
    fit: Judge
    compute: Compute
    plan: Plan

    def take(self, name: str) -> list[tuple[str, Trial]]:
        """Return labels and networks that a step makes, which are better on the data to fit than
        that before it, the best first.
        """
        step = STEPS[name]
        if isinstance(step, (Before, After)):
            return self._choose_best(
                self._prepare_step(step) if isinstance(step, Before) else self._finish_step(step)
            )
        ways = {
            "formats": self._choose_methods,
            "rows": self._choose_row_scales,
            "search": self._search,
        }
        return self._choose_best(ways[name]())

    def _prepare_step(self, step: Before) -> Iterator[tuple[str, Trial]]:
        job = self.now.job
        seen = observe_inputs(job.graph, self.fit.x, job.given, job.scheme.powers)
        for label, graph in self.plan.iterate_in_time(step.candidates(job.graph, seen)):
            observed = self._observe_network(graph)
            yield from _assign(label, observed)
            for method, weights in RESCALED if step.rescales else ():
                scheme = job.scheme.with_methods(method, weights)
                more = f"{label}, with {method} and {weights}"
                yield from _assign(more, replace(observed, scheme=scheme))

    def _choose_methods(self) -> Iterator[tuple[str, Trial]]:
        observed = self._observe_network(self.now.job.graph)
        for method in METHODS:
            for weights in WEIGHT_METHODS:
                scheme = observed.scheme.with_methods(method, weights)
                label = f"{method} for activations, {weights} for weights"
                yield from _assign(label, replace(observed, scheme=scheme))

    def _choose_row_scales(self) -> Iterator[tuple[str, Trial]]:
        job = self.now.job
        scheme = job.scheme.by_rows(job.graph)
        if scheme != job.scheme:
            yield from _assign("", replace(self._observe_network(job.graph), scheme=scheme))

    def _observe_network(self, graph: FloatGraph) -> Job:
        return replace(self.now.job, graph=graph, statistics=_make_statistics(graph, self.fit.x))

    def _choose_best(self, labelled: Iterable[tuple[str, Trial]]) -> list[tuple[str, Trial]]:
        found = [("", self.now), *labelled]
        scores = dict(self.compute([trial for _, trial in found]))
        better = [number for number in range(1, len(found)) if scores[number] > scores[0]]
        better.sort(key=lambda number: -scores[number])
        return [(f"{found[n][0]}, " if found[n][0] else "", found[n][1]) for n in better[:_TRIES]]

    def _search(self) -> Iterator[tuple[str, Trial]]:
        job, how = self._observe_network(self.now.job.graph), self.plan.search
        variables = job.scheme.variables(job.graph, job.formats({}), job.given)
        digest = hashlib.sha256(self.fit.x.tobytes())
        digest.update(repr((variables, job.given, job.scheme.profile, how.span)).encode())
        for node in job.graph.nodes:
            digest.update(np.asarray(getattr(node.operator, "weights", 0)).tobytes())
        half = self.plan.until - (self.plan.until - time.monotonic()) / 2
        turns = replace(self.plan, until=half).iterate_in_time
        how = replace(how, key=digest.hexdigest(), resume=name_search_record(how.resume, "search"))
        tried = search(variables, {}, _Closeness(job, self.fit), how, turns)
        if tried:
            yield "", Trial(job, job.formats(tried), job.graph)

    def _finish_step(self, step: After) -> Iterator[tuple[str, Trial]]:
        job = self.now.job
        held = _fix_formats(self.now, self.fit, self.plan)
        for label, graph in step.candidates(job.graph, held):
            yield label, replace(self.now, job=replace(job, graph=graph))


def _assign(label: str, job: Job) -> Iterator[tuple[str, Trial]]:
    try:
        yield label, Trial(job, job.formats({}), job.graph)
    except Error:  # no device has these formats
        return


def _fix_formats(now: Trial, fit: Judge, plan: Plan) -> Held:
    """Return what steps need that leave formats as they are."""
    job, formats, x = now.job, now.formats, fit.x
    most = max(2, _TRACED // sum(math.prod(shape) for shape in job.graph.shapes.values()))
    every = slice(None, None, math.ceil(len(x) / most))
    x, scores = x[every], {n: v[every] for n, v in fit.scores.items()}
    real = evaluate(now.real, x, trace=True)

    def lower(graph: FloatGraph) -> Graph:
        named = {n: own for n, own in job.scheme.functions.items() if n in graph.shapes}
        return replace(job.scheme, functions=named).lower(graph, formats)

    goal = Goal(x, scores, lower, job.scheme.profile)

    def measure(graph: FloatGraph) -> Callable[[str], np.ndarray]:
        lowered = lower(graph)
        traced = goal.trace_integers(lowered)

        def values(name: str) -> np.ndarray:
            held = find_holder(graph, name)
            codes = lowered.tensors[held].format.dequantize(traced[held])
            return codes.reshape(-1, *graph.shapes[name])

        return values

    return Held(formats, now.real, real.__getitem__, measure, plan.iterate_in_time, goal)
