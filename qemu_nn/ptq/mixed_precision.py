"""Mixed precision: 4, 8 or 16 bits by layer, within a budget."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np

from ..analysis.table import Cell, Table
from ..errors import Error
from ..evaluation.batches import Batch
from ..lowering.mixed import chooses_width, find_neighbours, mix_widths
from ..lowering.s8_conv_dense import choose_narrow_function
from ..quantizer.affine_rules import Rescale
from ..quantizer.fusion import find_clamps
from ..runtime.cluster import Compute, open_compute
from .budgets import WORDS, DeviceBudget
from .candidate import Judge, StepPlan, Trial, judge_of
from .format_search import Job

#: Noise of a change that shows in no score, relative to the signal.
_LEAST_NOISE = 1e-12

#: Columns of the curve: changed layers, their new bits, the costs of the network, and the
#: signal-to-noise ratio of its scores in decibels.
COLUMNS = ("layer", "bits", *WORDS, "snr")

#: Layer -> its bits: 4 for weights, 8 for both, 16 for activations.
Bits = Mapping[str, int]


def narrow_layers(
    job: Job, kept: Sequence[Batch], budget: DeviceBudget, way: StepPlan
) -> tuple[Job, Table]:
    """Return the job with layer widths that meet the budget, a note for each change, and their
    table.

    The first row of the table is the unchanged network. All layers start at their largest width.
    While the network exceeds the budget, the change with the least noise for its saving is made,
    measured on the exact network and all data. Afterwards layers are widened again if they fit.
    Raises Error if the narrowest network does not fit.
    """
    judge = judge_of(job, np.concatenate([batch.x for batch in kept]))
    choices = list_width_choices(job, budget)
    bits = {name: max(own) for name, own in choices.items()}
    with open_compute(judge, way.search.client, way.search.threads) as compute:
        found = _Search(job, budget, choices, find_neighbours(job.graph), judge, compute, way)
        place = found.widen_loudest(found.search_narrow(_Place(bits, make_trial(job, bits))))
    notes = [*job.notes, *place.notes]
    if unknown := budget.list_uncounted(place.trial.lower_calls()):
        names = ", ".join(sorted({*unknown.values()}))
        notes.append(f"cycles of {names} are not known, and not counted")
    return replace(place.trial.job, notes=tuple(notes)), Table(COLUMNS, place.rows)


@dataclass(frozen=True)
class _Place:
    """A choice of widths, its network, the signal-to-noise ratio of its scores, and a note and a
    row for every change before it.
    """

    bits: Bits
    trial: Trial
    ratio: float = 0.0
    notes: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()


@dataclass(frozen=True)
class _Move:
    """A change of the bits of some layers."""

    layers: tuple[str, ...]
    bits: int

    def __call__(self, bits: Bits) -> Bits:
        """Return the widths after the change."""
        return {**bits, **dict.fromkeys(self.layers, self.bits)}

    def narrows(self, bits: Bits) -> bool:
        """True if the change reduces the bits of all its layers."""
        return all(bits[layer] > self.bits for layer in self.layers)

    def __str__(self) -> str:
        return f"{' and '.join(self.layers)}: {self.bits} bits"


def list_width_choices(job: Job, budget: DeviceBudget) -> dict[str, tuple[int, ...]]:
    """Return layer -> its possible widths."""
    found: dict[str, tuple[int, ...]] = {}
    written = find_clamps(job.graph)
    unknown = {*budget.list_uncounted(make_trial(job, {}).lower_calls())}
    for node in job.graph.nodes:
        if not chooses_width(node.operator):
            continue
        own = [8]
        if node.name in written and not {node.name, written[node.name].tensor} & {
            *job.scheme.functions
        }:
            if "flash" in budget.limits and choose_narrow_function(node.operator):
                own.append(4)
            if budget.widens and _may_be_wide(job, node.name, budget, unknown):
                own.append(16)
        found[node.name] = tuple(sorted(own))
    return found


def _may_be_wide(job: Job, name: str, budget: DeviceBudget, unknown: Collection[str]) -> bool:
    """True if the device has functions and formats for the wide layer, and the cycle budget counts
    them.

    unknown: layers without counts in any case. Without this rule, uncounted functions would seem
    free.
    """
    try:
        return {*budget.list_uncounted(make_trial(job, {name: 16}).lower_calls())} <= {*unknown}
    except Error:
        return False


def make_trial(job: Job, bits: Bits) -> Trial:
    """Return the network with these widths, and 8 bits for all further layers."""
    graph, dtype = mix_widths(job.graph, [name for name, own in bits.items() if own == 16])
    scheme: Any = job.scheme
    narrow = {
        name: choose_narrow_function(job.graph.node(name).operator)
        for name, own in bits.items()
        if own == 4
    }
    statistics = dict(job.statistics)
    for node in graph.nodes:
        if isinstance(node.operator, Rescale):
            statistics.setdefault(node.name, statistics[node.inputs[0]])
    scheme = replace(
        scheme,
        functions={**scheme.functions, **narrow},
        activations=replace(scheme.activations, dtype=dtype),
    )
    job = replace(job, graph=graph, scheme=scheme, statistics=statistics)
    return Trial(job, job.formats({}), graph)


@dataclass(frozen=True)
class _Search:
    """Search for widths that meet a budget.

    choices: layer -> its widths. near: layer -> layers that share a tensor with it. Sharing a width
    costs less, because nothing rescales between them.
    """

    job: Job
    budget: DeviceBudget
    choices: Mapping[str, tuple[int, ...]]
    near: Mapping[str, set[str]]
    judge: Judge
    compute: Compute
    way: StepPlan

    def search_narrow(self, place: _Place) -> _Place:
        """Return the first place that meets the budget, on the way down or back.

        On the way back: 4-bit weights may take more cycles than 8-bit ones. After the deadline,
        savings are not computed again for each place.
        """
        noise: dict[_Move, float] = {}
        saved: dict[_Move, float] = {}
        back = False
        place = self._note_place(place, None, "all as wide as they may be")
        while excess := self.budget.compute_excess(place.trial.lower_calls()):
            left = {} if back else {m: saved[m] for m in saved if m.narrows(place.bits)}
            saved = left if left and self.way.late else self._list_savings(place, excess, back)
            if not saved and not back:
                back, saved = True, self._list_savings(place, excess, True)
            if not saved:
                raise Error(
                    f"{self._choose_least(place)}; no other bits of a layer bring it nearer"
                )
            self._measure(place, [move for move in saved if move not in noise], noise)
            move = min(saved, key=lambda each: _rank_savings(noise.get(each), saved[each]))
            place = self._note_place(self._apply_move(place, move), move)
            changed = {*move.layers}.union(*(self.near[layer] for layer in move.layers))
            noise = {known: own for known, own in noise.items() if not changed & {*known.layers}}
        return place

    def widen_loudest(self, place: _Place) -> _Place:
        """Return the place after widening layers again that still fit, the noisiest first, until
        the deadline.
        """
        if self.way.late:
            return place
        noise: dict[_Move, float] = {}
        fitting = [move for move in self._list_moves(place.bits, 1) if self._fits(place, move)]
        self._measure(place, fitting, noise)
        for move in sorted(noise, key=lambda each: noise[each]):
            if self.way.late or noise[move] >= 0:
                break
            wider = all(place.bits[layer] < move.bits for layer in move.layers)
            if wider and self._fits(place, move):
                tried = self._note_place(self._apply_move(place, move), move, f"{move} again")
                place = tried if tried.ratio > place.ratio else place
        return place

    def _list_moves(self, bits: Bits, sign: int) -> Iterator[_Move]:
        """Yield all changes of a layer, and of neighbours together; sign: 1 adds bits, -1 removes
        them.
        """
        for layer, own in self.choices.items():
            for to in own:
                if sign * to > sign * bits[layer]:
                    yield _Move((layer,), to)
                    for other in sorted(self.near[layer]):
                        both = to in self.choices[other] and sign * to > sign * bits[other]
                        if both and layer < other and 4 not in (to, bits[layer], bits[other]):
                            yield _Move((layer, other), to)

    def _apply_move(self, place: _Place, move: _Move) -> _Place:
        bits = move(place.bits)
        return replace(place, bits=bits, trial=make_trial(self.job, bits))

    def _fits(self, place: _Place, move: _Move) -> bool:
        return not self.budget.compute_excess(self._apply_move(place, move).trial.lower_calls())

    def _list_savings(self, place: _Place, excess: float, back: bool) -> dict[_Move, float]:
        """Return the changes to fewer bits that reduce the excess over the budget, and by how much.

        If no single change reduces it, return all that do not increase it. back: to any bits, and
        only changes that reduce it.
        """
        signs = (-1, 1) if back else (-1,)
        saved = {}
        for sign in signs:
            for move in self._list_moves(place.bits, sign):
                calls = self._apply_move(place, move).trial.lower_calls()
                saved[move] = excess - self.budget.compute_excess(calls)
        nearer = {move: gain for move, gain in saved.items() if gain > 0}
        if nearer or back:
            return nearer
        return {move: gain for move, gain in saved.items() if not gain} or saved

    def _choose_least(self, place: _Place) -> str:
        costs = self.budget.compute_costs(place.trial.lower_calls())
        name = next(name for name, cost in costs.items() if cost > self.budget.limits[name])
        return f"it takes {costs[name]} {WORDS[name]}, more than {name}={self.budget.limits[name]}"

    def _measure(self, place: _Place, moves: Sequence[_Move], noise: dict[_Move, float]) -> None:
        """Measure the added noise of each of these changes, until the deadline."""
        trials = [self._apply_move(place, move).trial for move in moves]
        now = _convert_noise(place.ratio)
        for number, reached in self.compute(self.way.iterate_in_time(trials)):
            noise[moves[number]] = _convert_noise(reached) - now

    def _note_place(self, place: _Place, move: Optional[_Move], what: str = "") -> _Place:
        """Return the place with its signal-to-noise ratio, a note and a row."""
        graph, ratio = place.trial.lower_calls(), self.judge(place.trial)
        costs = self.budget.compute_costs(graph).items()
        words = [what or str(move), *(f"{cost} {WORDS[name]}" for name, cost in costs)]
        notes = (*place.notes, f"{', '.join(words)}, {ratio:.1f} dB")
        changed = (", ".join(move.layers), move.bits) if move else ("", None)
        rows = (*place.rows, (*changed, *self.budget.figures(graph), round(ratio, 2)))
        return replace(place, ratio=ratio, notes=notes, rows=rows)


def _rank_savings(noise: Optional[float], saved: float) -> tuple[bool, float]:
    """Return the sort key of a change: the least noise for its saving; unknown noise last, by
    saving alone.
    """
    if noise is None:
        return True, -saved
    return False, max(noise, _LEAST_NOISE) / max(saved, _LEAST_NOISE)


def _convert_noise(ratio: float) -> float:
    """Convert a signal-to-noise ratio in decibels."""
    share: float = 10.0 ** (-ratio / 10)
    return share
