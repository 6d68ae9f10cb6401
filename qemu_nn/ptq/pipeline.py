"""Pipeline of the steps that make a quantized network more accurate; keeps the steps that do."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Callable, Optional, Union

import numpy as np

from ..errors import Error
from ..evaluation.batches import Batch
from ..io.stages import announce
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.statistics import Statistics
from ..operators import Conv, Dense, Identity, Operator
from ..quantizer.affine_rules import Rescale
from ..quantizer.coordinate_descent import Goal
from ..quantizer.search import Given, Score, search
from ..quantizer.statistics import observe
from ..quantizer.steps import STEPS, After, Before, StepInputs, observe_inputs
from ..runtime.cluster import Compute, open_compute
from ..runtime.evaluate import evaluate
from .candidate import Judge, StepPlan, Trial, estimate_ratio, find_holder, judge_of
from .checkpoint import Checkpoint, State, copy_in_c_order, name_search_record, record_of
from .format_search import Job

Method = Union[str, float]

LOGGER = logging.getLogger("qemu_nn.quantize")

#: Samples of one observation of the network; limit of the values of a traced run.
_BATCH, _TRACED = 64, 1 << 25

#: With at least this many samples two folds judge steps, otherwise four.
_MANY = 64

#: Least number of samples for a search and for methods that cut off the largest values. Fewer
#: samples do not show the cost of clipping.
_ENOUGH = 256

#: Methods for activations, those without clipping first, and for weights.
METHODS = ("extrapolate", "minmax", "mse", "kl", 99.99, 99.9)
WEIGHT_METHODS = ("minmax", "mse")
#: Pairs of these methods that are tried with every network of a step before formats.
RESCALED = (("extrapolate", "minmax"), ("mse", "minmax"), ("mse", "mse"), (99.9, "mse"))


@dataclass(frozen=True)
class _Course:
    """One course of the pipeline: a network that is fitted on some samples.

    judge: samples that did not fit it; None for the course on all samples, which yields the result.
    """

    trial: Trial
    fit: Judge
    judge: Optional[Judge]


def improve_network(
    job: Job, tried: Given, kept: Sequence[Batch], plan: StepPlan
) -> tuple[Job, Any]:
    """Return a network of the same function up to rounding, with a note for each step, and its
    formats.

    Steps are judged by cross-validation. The samples are dealt into folds. For each fold, a course
    of its own takes all steps on the other folds alone, ranges and formats included. A step is kept
    if the noise of the held-out samples falls by more than the standard error of its change. A last
    course takes the steps that are kept on all samples: its network is the result.
    """
    x = np.concatenate([batch.x for batch in kept])
    if len(x) < 2:
        raise Error(
            "there is one sample, but steps= and effort='best' need two or more: one to fit, "
            "and one to judge"
        )
    job = replace(job, graph=copy_in_c_order(job.graph))
    courses = _make_courses(job, tried, replace(judge_of(job, x), budget=plan.budget))
    start = Checkpoint(tuple(course.trial.state for course in courses))
    options = (plan.steps, plan.search.span, plan.budget)
    record = record_of(plan.search.resume, job, start, x, options)
    checkpoint = record.read()
    if checkpoint is not start:
        courses = [_resume_course(own, state) for own, state in zip(courses, checkpoint.states)]
    judges = _Judges(tuple(course.judge for course in courses if course.judge))
    noise = judges.judge_all(course.trial for course in courses[:-1])
    notes = [*checkpoint.notes]
    if not notes:
        ratio, folds = estimate_ratio(noise), len(courses) - 1
        how = f"by cross-validation: {len(x)} samples in {folds} folds"
        notes.append(f"{job.graph.name}: {ratio:.1f} dB before any step, {how}")
    with open_compute(judges, plan.search.client, plan.search.threads) as compute:
        for done, name in enumerate(plan.steps[checkpoint.done :], checkpoint.done + 1):
            if plan.late:
                notes.append(f"{name}: there was no time for it")
                continue
            if name == "search" and len(x) < _ENOUGH:
                notes.append(f"{name}: it needs {_ENOUGH} samples, and is left out")
                continue
            announce(f"step {done} of {len(plan.steps)}, {name}")
            began, outcome = time.monotonic(), "it does not help, and is left out"
            chosen = _choose_way(name, courses, noise, plan, compute)
            if chosen is not None:
                before, after = estimate_ratio(noise), estimate_ratio(chosen.noise)
                outcome = f"{chosen.label}{before:.1f} -> {after:.1f} dB"
                courses, noise = chosen.courses, chosen.noise
            LOGGER.info("%s: %s; %.1f s", name, outcome, time.monotonic() - began)
            notes.append(f"{name}: {outcome}")
            if not plan.late:  # it may have been cut short
                states = tuple(course.trial.state for course in courses)
                record.write(Checkpoint(states, tuple(notes), done))
    now = courses[-1].trial
    real = job.reference if now.real is job.graph else make_reference(job.reference, now.real)
    return replace(now.job, reference=real, notes=(*now.job.notes, *notes)), now.formats


def _make_courses(job: Job, tried: Given, judge: Judge) -> list[_Course]:
    """Return a course for each fold, and that of all samples."""
    count = min(2 if len(judge.x) >= _MANY else 4, len(judge.x))
    numbers = np.arange(len(judge.x)) % count
    courses = []
    for fold in range(count):
        fit = judge.part(numbers != fold)
        own = replace(job, statistics=_make_statistics(job.graph, fit.x))
        courses.append(
            _Course(Trial(own, own.formats(tried), job.graph), fit, judge.part(numbers == fold))
        )
    return [*courses, _Course(Trial(job, job.formats(tried), job.graph), judge, None)]


def _resume_course(course: _Course, state: State) -> _Course:
    seen = _make_statistics(state.real, course.fit.x)
    job = replace(course.trial.job, graph=state.graph, scheme=state.scheme, statistics=seen)
    return replace(course, trial=Trial(job, state.formats, state.real))


@dataclass(frozen=True)
class _Judges:
    """Judges of the folds."""

    each: tuple[Judge, ...]

    def __call__(self, numbered: tuple[int, Trial]) -> np.ndarray:
        """Return the noise of the network of a fold on the fold's samples."""
        fold, trial = numbered
        return self.each[fold].noise(trial)

    def judge_all(self, trials: Iterable[Trial]) -> np.ndarray:
        """Return the noise of all samples, each computed by the network that it did not fit."""
        return np.concatenate([self(numbered) for numbered in enumerate(trials)])


@dataclass(frozen=True)
class _Choice:
    """Courses after a step, and the noise of all samples."""

    label: str
    courses: list[_Course]
    noise: np.ndarray


def _make_statistics(graph: FloatGraph, x: np.ndarray) -> Mapping[str, Statistics]:
    return observe(graph, (x[i : i + _BATCH] for i in range(0, len(x), _BATCH)))


def make_reference(whole: FloatGraph, part: FloatGraph) -> FloatGraph:
    """Return the float network with the device's part of it replaced by one of the same function.

    Analysis can then compare each tensor with matching float values.
    """
    first = next(i for i, node in enumerate(whole.nodes) if part.input in node.inputs)
    made = {node.name for node in part.nodes}
    behind = [node for node in whole.nodes[first:] if node.name not in made]
    own = [replace(node, operator=_to_file_operator(node.operator)) for node in part.nodes]
    return whole.with_nodes([*whole.nodes[:first], *own, *behind])


def _to_file_operator(operator: Operator) -> Operator:
    """Return an operator that files have: layers with weights of 32 bits, no changes of formats."""
    if isinstance(operator, Rescale):
        return Identity()
    if not isinstance(operator, (Conv, Dense)):
        return operator
    bias = None if operator.bias is None else operator.bias.astype(np.float32)
    return replace(operator, weights=operator.weights.astype(np.float32), bias=bias)


@dataclass(frozen=True)
class _Closeness:
    """Scores formats that a search tries, on the samples of each fold that did not fit its
    network.
    """

    courses: tuple[_Course, ...]

    def __call__(self, tried: Given) -> Score:
        """Return the signal-to-noise ratio alone, whatever labels say."""
        noises = []
        for course in self.courses:
            assert course.judge is not None
            noises.append(course.judge.noise(_assign_tried(course, tried)))
        return Score(0.0, estimate_ratio(np.concatenate(noises)))


def _assign_tried(course: _Course, tried: Given) -> Trial:
    """Return the network of a course with the formats that a search tries."""
    job = course.trial.job
    return Trial(job, job.formats(tried), job.graph)


def _choose_way(
    name: str, courses: Sequence[_Course], noise: np.ndarray, plan: StepPlan, compute: Compute
) -> Optional[_Choice]:
    """Return the courses after the variant of a step with the least noise; None if no variant
    helps.
    """
    *folds, whole = courses
    tried = _search_formats(folds, whole, plan) if name == "search" else {}
    made = [dict(_Ways(own, plan, tried).of(name)) for own in folds]
    for label, after in _rank_ways(name, made, [own.trial for own in folds], noise, compute):
        ways = _Ways(whole, plan, tried).of(name)
        last = next((trial for own, trial in ways if own == label), None)
        if last is not None:
            trials = [*(own.get(label, c.trial) for own, c in zip(made, folds)), last]
            changed = [replace(c, trial=t.copy_in_c_order()) for c, t in zip(courses, trials)]
            return _Choice(f"{label}, " if label else "", changed, after)
    return None


def _search_formats(folds: Sequence[_Course], whole: _Course, plan: StepPlan) -> Given:
    """Return the formats that a search finds: one choice for all courses."""
    job, how = whole.trial.job, plan.search
    variables = job.scheme.variables(job.graph, job.formats({}), job.given)
    digest = hashlib.sha256(whole.fit.x.tobytes())
    digest.update(repr((variables, job.given, job.scheme.profile, how.span)).encode())
    for node in job.graph.nodes:
        digest.update(np.asarray(getattr(node.operator, "weights", 0)).tobytes())
    half = plan.until - (plan.until - time.monotonic()) / 2
    turns = replace(plan, until=half).iterate_in_time
    how = replace(how, key=digest.hexdigest(), resume=name_search_record(how.resume, "search"))
    return search(variables, {}, _Closeness(tuple(folds)), how, turns)


def _rank_ways(
    name: str,
    made: Sequence[Mapping[str, Trial]],
    now: Sequence[Trial],
    noise: np.ndarray,
    compute: Compute,
) -> list[tuple[str, np.ndarray]]:
    """Return the variants of a step that help, with their noise, the least first.

    A fold without a variant keeps its network. made: the variants of each fold; now: its network.
    """
    labels = [*dict.fromkeys(label for own in made for label in own)]
    folds = range(len(made))
    trials = [(fold, made[fold].get(label, now[fold])) for label in labels for fold in folds]
    noises = dict(compute(trials))
    ranked = []
    for number, label in enumerate(labels):
        after = np.concatenate([noises[number * len(made) + fold] for fold in folds])
        if _helps(noise, after, STEPS[name].least):
            ranked.append((label, after))
    return sorted(ranked, key=lambda way: -estimate_ratio(way[1]))


def _helps(noise: np.ndarray, after: np.ndarray, least: float) -> bool:
    """True if the noise of the samples falls by at least these decibels, and by more than chance
    explains.
    """
    if not np.isfinite(after).all():
        return False
    if not np.isfinite(noise).all():
        return True
    gain = noise - after
    certain = gain.mean() > gain.std() / math.sqrt(len(gain))
    return bool(certain) and estimate_ratio(after) >= estimate_ratio(noise) + least


@dataclass(frozen=True)
class _Ways:
    """Variants of a step: labels, and networks fitted on the samples of a course.

    tried: the formats that a search has found.
    """

    course: _Course
    plan: StepPlan
    tried: Given

    @property
    def now(self) -> Trial:
        """The network before the step."""
        return self.course.trial

    def of(self, name: str) -> Iterator[tuple[str, Trial]]:
        """Yield a label and a network for each way."""
        step = STEPS[name]
        if isinstance(step, Before):
            yield from self._before(step)
        elif isinstance(step, After):
            yield from self._after(step)
        else:
            yield from self._methods() if name == "formats" else self._search()

    def _before(self, step: Before) -> Iterator[tuple[str, Trial]]:
        job = self.now.job
        seen = observe_inputs(job.graph, self.course.fit.x, job.given, job.scheme.powers)
        for label, graph in self.plan.iterate_in_time(step.candidates(job.graph, seen)):
            observed = self._observe_network(graph)
            yield from _assign(label, observed)
            for method, weights in self._allow(RESCALED if step.rescales else ()):
                scheme = job.scheme.with_methods(method, weights)
                more = f"{label}, with {method} and {weights}"
                yield from _assign(more, replace(observed, scheme=scheme))

    def _methods(self) -> Iterator[tuple[str, Trial]]:
        observed = self._observe_network(self.now.job.graph)
        for method, weights in self._allow(product(METHODS, WEIGHT_METHODS)):
            scheme = observed.scheme.with_methods(method, weights)
            label = f"{method} for activations, {weights} for weights"
            yield from _assign(label, replace(observed, scheme=scheme))

    def _allow(self, pairs: Iterable[tuple[Method, Method]]) -> list[tuple[Method, Method]]:
        """Return the methods that this many samples can judge; a fold fits on half of them."""
        cuts = 2 * len(self.course.fit.x) >= _ENOUGH
        return [pair for pair in pairs if cuts or pair[0] in METHODS[:2]]

    def _observe_network(self, graph: FloatGraph) -> Job:
        return replace(
            self.now.job, graph=graph, statistics=_make_statistics(graph, self.course.fit.x)
        )

    def _search(self) -> Iterator[tuple[str, Trial]]:
        if self.tried:
            yield "", _assign_tried(self.course, self.tried)

    def _after(self, step: After) -> Iterator[tuple[str, Trial]]:
        job = self.now.job
        held = _hold_formats(self.now, self.course.fit, self.plan)
        for label, graph in step.candidates(job.graph, held):
            yield label, replace(self.now, job=replace(job, graph=graph))


def _assign(label: str, job: Job) -> Iterator[tuple[str, Trial]]:
    try:
        yield label, Trial(job, job.formats({}), job.graph)
    except Error:  # no device has these formats
        return


def _hold_formats(now: Trial, fit: Judge, plan: StepPlan) -> StepInputs:
    """Return the inputs of steps that keep formats unchanged."""
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

    return StepInputs(formats, now.real, real.__getitem__, measure, plan.iterate_in_time, goal)
