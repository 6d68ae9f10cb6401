"""Search for the smallest network whose accuracy drops by at most a given share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ..analysis.table import Cell, Table
from ..errors import Error
from ..evaluation.batches import Batch
from ..quantizer.statistics import observe
from .budgets import WORDS, AccuracyGoal, DeviceBudget
from .candidate import Judge, StepPlan, compute_ratio, judge_of
from .format_search import Job
from .mixed_precision import COLUMNS, Bits, list_width_choices, make_trial, narrow_layers

#: Samples of one observation of the network.
_BATCH = 64


@dataclass(frozen=True)
class _Place:
    """Bits of all layers, and what the network takes and gives with them.

    cost: of the kind that is to be small. accuracy: share of correct classes. ratio: signal to
    noise of the scores in decibels.
    """

    bits: Bits
    cost: int
    accuracy: float
    ratio: float
    row: tuple[Cell, ...]


@dataclass(frozen=True)
class _Search:
    """Search for bits of layers; classes: what is right of the samples that judge."""

    job: Job
    budget: DeviceBudget
    cost: str
    judge: Judge
    classes: np.ndarray
    way: StepPlan

    def measure(self, bits: Bits, changed: str = "") -> _Place:
        """Return the place of these bits; changed: the layer that was changed last."""
        trial = make_trial(self.job, bits)
        graph, scores = trial.lower_calls(), self.judge.compute_scores(trial)
        accuracy = float(np.mean(next(iter(scores.values())).argmax(1) == self.classes))
        ratio = compute_ratio(self.judge.compute_noise(scores))
        first = (changed, bits.get(changed), *self.budget.figures(graph))
        row = (*first, round(ratio, 2), round(accuracy, 4))
        return _Place(bits, self.budget.cost(self.cost, graph), accuracy, ratio, row)

    def narrow(
        self, start: _Place, choices: Mapping[str, Sequence[int]], least: float
    ) -> list[_Place]:
        """Return the places on the way to the narrowest network that is accurate enough.

        Each layer alone is narrowed first; the layers whose noise is least for their saving follow
        each other. A layer that costs too much accuracy stays wide.
        """
        able = [name for name, own in choices.items() if min(own) < start.bits[name]]
        alone = {}
        for name in self.way.iterate_in_time(able):
            alone[name] = self.measure({**start.bits, name: min(choices[name])}, name)
        noise = {
            name: _to_noise(place.ratio) - _to_noise(start.ratio) for name, place in alone.items()
        }
        saving = {name: max(start.cost - place.cost, 1) for name, place in alone.items()}
        places = [start]
        for name in sorted(alone, key=lambda each: noise[each] / saving[each]):
            bits = {**places[-1].bits, name: min(choices[name])}
            place = self.measure(bits, name)
            if place.accuracy >= least:
                places.append(place)
        return self._widen_again(places, start, least)

    def _widen_again(self, places: list[_Place], start: _Place, least: float) -> list[_Place]:
        """Append places with the layers wide again that save nothing."""
        for name in [str(place.row[0]) for place in reversed(places[1:])]:
            now = places[-1]
            place = self.measure({**now.bits, name: start.bits[name]}, name)
            if place.cost <= now.cost and place.ratio > now.ratio and place.accuracy >= least:
                places.append(place)
        return places


def find_smallest(
    job: Job, kept: Sequence[Batch], goal: AccuracyGoal, way: StepPlan
) -> tuple[Job, Table, DeviceBudget]:
    """Return the job with the widths of the smallest network that is accurate enough, a row for
    each network on the way, and the budget of what it takes.

    Every second sample judges; the others set the ranges meanwhile. The widths that are found are
    those of the result, whose ranges all samples set. Raises Error if there are too few samples, if
    the network does not end in scores of classes, or if no network is accurate enough.
    """
    x = np.concatenate([batch.x for batch in kept])
    labels = [batch.y for batch in kept if batch.y is not None]
    least = math.ceil(1 / goal.drop) if goal.drop else 1
    if len(x[1::2]) < least:
        raise Error(
            f"accuracy={goal.drop:g} needs {2 * least} samples, of which every second one "
            f"judges, but the data have {len(x)}: give more, or a larger accuracy="
        )
    judge = judge_of(job, x[1::2])
    (scores, *more) = judge.scores.values()
    if more or scores.shape[1] < 2:
        raise Error(
            f"accuracy= needs one output with scores of classes, which {job.graph.name} "
            "does not have: give flash=, ram= or cycles="
        )
    chosen = scores.argmax(1)
    classes = np.concatenate(labels)[1::2] if len(labels) == len(kept) else chosen
    fit = x[::2]
    seen = observe(job.graph, (fit[i : i + _BATCH] for i in range(0, len(fit), _BATCH)))
    found = _Search(replace(job, statistics=seen), goal.budget, goal.smallest, judge, classes, way)
    real = float(np.mean(chosen == classes))
    choices = list_width_choices(job, goal.budget)
    start = found.measure({name: max(own) for name, own in choices.items()})
    floor = real - goal.drop - 1e-9
    if start.accuracy < floor:
        raise Error(
            f"accuracy={goal.drop:g} cannot be reached: {start.accuracy:.2%} of "
            f"{len(classes)} samples are right with all layers as wide as they may be, and "
            f"{real:.2%} of the float network: give more calibration data, or a larger "
            "accuracy="
        )
    places = found.narrow(start, choices, floor)
    last = places[-1]
    words = WORDS[goal.smallest]
    notes = [
        f"{name}: {last.bits[name]} bits" for name in choices if last.bits[name] < start.bits[name]
    ]
    notes.append(
        f"{start.cost} -> {last.cost} {words}, {start.accuracy:.2%} -> {last.accuracy:.2%} right "
        f"of {len(classes)} samples that judge; float network {real:.2%}"
    )
    table = Table((*COLUMNS, "accuracy"), tuple(place.row for place in places))
    result = make_trial(job, last.bits)
    cost = goal.budget.cost(goal.smallest, result.lower_calls())
    taken = replace(goal.budget, limits={goal.smallest: cost})
    return replace(result.job, notes=(*job.notes, *notes)), table, taken


def _to_noise(ratio: float) -> float:
    return float(10.0 ** (-ratio / 10))


def choose_widths(
    job: Job, kept: Sequence[Batch], way: StepPlan, goal: Optional[AccuracyGoal]
) -> tuple[Job, Optional[Table], StepPlan]:
    """Return the job with the widths that a budget or an accuracy asks for, their table, and the
    plan with the budget that later steps must keep.
    """
    if goal is not None:
        job, curve, budget = find_smallest(job, kept, goal, way)
        return job, curve, replace(way, budget=budget)
    if way.budget is None:
        return job, None, way
    job, table = narrow_layers(job, kept, way.budget, way)
    return job, table, way
