"""Every row of the kernel table on its own cases, through the executor."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Callable, Optional

from ..analysis.table import Cell, Table
from ..errors import DeviceWarning
from ..io.stages import announce, count
from ..kernels import table as kernels
from ..kernels.devices import is_of_esp_dl, profile_for
from ..kernels.table import Row
from ..runtime.session import Session, draw_inputs
from ..targets import DEFAULT_CORE, NPU, Profile, all_profiles, list_ruled_profiles
from ..testing.cases import CASES, Case
from .peak import get_peaks
from .stopwatch import Timing, time_each

_COLUMNS = (
    *("row", "shape", "best_us", "us", "low_us", "high_us"),
    *("rate", "unit", "peak_percent", "speedup"),
)

#: Turns of each row, and the most calls in one: a hundred calls of a plain row are long enough.
_TURNS = 9


def time_rows(cases: Iterable[Case] = CASES, turns: int = _TURNS) -> Table:
    """Return a line for each case and row of this host, all rows of a case in turns.

    us: microseconds of one call, the best turn, median and quartiles. rate: 10^9
    multiply-accumulates in a second, or elements of the input without multiplications.
    peak_percent: of this host's peak of the row's instruction set. speedup: against the plain row
    of the same bits. The last two use the best turns, as the least disturbed.
    """
    rows: list[tuple[Cell, ...]] = []
    announce("times rows")
    for case in count(list(cases)):
        usable = _list_usable(case)
        runs, calls = _make_runs(case, usable)
        if case.macs:
            runs.update((str(peak), peak.run) for row in usable for peak in get_peaks(row))
        timings = time_each(runs, turns)
        rows += [_make_line(case, row, calls, timings) for row in usable]
    return Table(_COLUMNS, tuple(rows))


def _list_usable(case: Case) -> list[Row]:
    """Return the rows that this host can run and that take the shape."""
    function = case.declared
    able = []
    for row in kernels.list_rows(function.op, function.type):
        node = case.graph()[0].nodes[-1]
        params = kernels.make_params(
            row.op, choose_row_profile(row), function.struct_values(node.params)
        )
        if row.runs_here() and row.takes(params):
            able.append(row)
    return able


def choose_row_profile(row: Row) -> Profile:
    """Return a profile that the row claims: the usual device if possible, or the next one."""
    if row.claims(NPU):
        return NPU
    target = "esp32p4" if is_of_esp_dl(row.op.name) else DEFAULT_CORE  # it has every function
    usual = profile_for([(row.op.name, row.op.type)], target)
    return next(p for p in (usual, *all_profiles(), *list_ruled_profiles()) if row.claims(p))


def _find_plain(row: Row) -> Row:
    """Return the row that defines the same bits."""
    rows = kernels.list_rows(row.op.name, row.op.type)
    return next(r for r in rows if r.kind == "plain" and r.claims(choose_row_profile(row)))


def _make_runs(case: Case, rows: Iterable[Row]) -> tuple[dict[str, Callable[[], object]], int]:
    """Return a function that runs the calls of each row, and the number of calls."""
    graph, count = case.graph()
    x = draw_inputs(graph, case.batch)

    def run(row: Row) -> Callable[[], object]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeviceWarning)  # times do not depend on results
            session = Session(graph, choose_row_profile(row), row.variant)
        return lambda: session.run(x)

    return {str(row): run(row) for row in rows}, count * case.batch


def _make_line(case: Case, row: Row, calls: int, timings: Mapping[str, Timing]) -> tuple[Cell, ...]:
    timing, plain = timings[str(row)], timings[str(_find_plain(row))]
    rate = (case.macs or case.elements) * calls / timing.median
    percent: Optional[int] = None
    for peak in get_peaks(row) if case.macs else []:
        share = case.macs * calls / timing.best / (peak.macs / timings[str(peak)].best)
        percent = round(100 * share)
    seconds = (timing.best, timing.median, timing.low, timing.high)
    us = (round(t / calls * 1e6, 3) for t in seconds)
    unit = "GMAC/s" if case.macs else "Gelement/s"
    speedup = round(plain.best / timing.best, 1)
    return (str(row), str(case), *us, round(rate / 1e9, 2), unit, percent, speedup)
