"""Slowdowns between two benchmark runs, beyond the noise of both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Optional

from ..analysis.table import Cell, Table
from ..errors import Error, ModelError
from ..io.arguments import have
from ..io.files import MEGABYTE, read_bytes
from ..io.typed_json import Fields, parse_json
from ..kernels.table import ROWS
from .contest import OURS, PLAIN
from .peers import PEERS

#: Difference between two runs of equal code, for example by memory addresses.
FLOOR = 0.10

#: References timed in alternation, best first: ratios to them compare across runs.
_YARDSTICKS = (PLAIN, *PEERS)

_COLUMNS = ("what", "yardstick", "before_us", "now_us", "change_percent", "noise_percent")
_PLAIN_ROWS = {str(row) for row in ROWS if row.kind == "plain"}
_MOST = 16 * MEGABYTE


@dataclass(frozen=True)
class Figure:
    """Microseconds of the best turn, and the interquartile range as a share of the median."""

    best: float
    spread: float = 0.0


@dataclass
class Measured:
    """Measurement of a network or a row, and of its references."""

    ours: Optional[Figure] = None
    beside: dict[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class BenchRun:
    """Measurements of a run by name, and its host.

    networks: their names, with batches and threads if the file has them. where: the file.
    """

    host: Mapping[str, Any]
    measured: Mapping[str, Measured]
    networks: tuple[tuple[str, int, int], ...]
    rows: bool
    where: str


def read_run(path: Path) -> BenchRun:
    """Read a file of `qemu-nn bench --save`. Raises ModelError, with the place, for any other
    content.
    """
    return parse_run(parse_json(read_bytes(path, _MOST), str(path)))


def parse_run(content: Fields) -> BenchRun:
    """Parse the JSON object of a report. Raises ModelError as read_run()."""
    measured: dict[str, Measured] = {}
    networks: dict[tuple[str, int, int], None] = {}
    for line in content.objects("networks") if "networks" in content else []:
        name, batch, threads = line.text("network"), line.integer("batch"), line.integer("threads")
        networks[name, batch, threads] = None
        one = measured.setdefault(f"{name}, batch {batch}, threads {threads}", Measured())
        runtime = line.text("runtime")
        if runtime == OURS:
            one.ours = _format_figure(line, "median_us")
        else:
            one.beside[runtime] = _format_figure(line, "median_us")
    rows = content.objects("kernels") if "kernels" in content else []
    measured.update(_list_measured_rows(rows))
    host = content.object("host").values
    return BenchRun(host, measured, tuple(networks), bool(rows), content.where)


def list_known(
    before: BenchRun,
    names: Sequence[str],
    rows: bool,
    batches: Sequence[int],
    threads: Sequence[int],
) -> dict[str, list[tuple[int, int]]]:
    """Return the measured batches and threads of the requested networks of a file.

    An empty request means all. Raises Error for names, rows and sizes that the file lacks.
    """
    if rows and not before.rows:
        raise Error(f"{before.where} has no figures of rows: write some with bench --rows --save")
    sizes: dict[str, list[tuple[int, int]]] = {}
    all_names = dict.fromkeys(name for name, _, _ in before.networks)
    for name, batch, count in before.networks:
        if batch in (batches or [batch]) and count in (threads or [count]):
            sizes.setdefault(name, []).append((batch, count))
    for name in names:
        if name not in all_names:
            raise Error(f"{before.where} has no figures of {name}; {have(all_names, name)}")
        if name not in sizes:
            raise Error(
                f"{before.where} has figures of {name} with another --batch or --threads: give "
                "the same"
            )
    return sizes


def _list_measured_rows(lines: Sequence[Fields]) -> dict[str, Measured]:
    """Return rows by name and shape, with a number if calls of different arguments have
    one shape.
    """
    figures: dict[tuple[str, str, int], Figure] = {}
    seen: Counter[tuple[str, str]] = Counter()
    plain: dict[str, str] = {}
    for line in lines:
        row, shape = line.text("row"), line.text("shape")
        seen[row, shape] += 1
        figures[row, shape, seen[row, shape]] = _format_figure(line, "us")
        if row in _PLAIN_ROWS:
            plain.setdefault(row.rpartition(".")[0], row)
    measured = {}
    for (row, shape, number), figure in figures.items():
        unit = figures.get((plain.get(row.rpartition(".")[0], ""), shape, number))
        if row not in _PLAIN_ROWS:
            name = f"{row}, {shape}" + (f" ({number})" if number > 1 else "")
            measured[name] = Measured(figure, {PLAIN: unit} if unit else {})
    return measured


def _format_figure(line: Fields, median: str) -> Figure:
    times = [line.number(name, None) for name in ("best_us", median, "low_us", "high_us")]
    if not all(time is None or 0 < time < math.inf for time in times):
        raise line.error("times must be above 0")
    best, middle, low, high = times
    if best is None:
        raise line.error("'best_us' is missing")
    spread = (high - low) / middle if middle and low and high else 0.0
    return Figure(best, max(0.0, spread))


def compare(before: BenchRun, now: BenchRun) -> Table:
    """Return a line for each common measurement: the change in percent (above 0: slower).

    The best turns are compared, because they are the least disturbed. They are compared directly,
    and, if both runs have it, relative to the reference timed in the same turns. The smaller change
    counts, because a slower program shows in both. Between two processors, only the relative change
    counts. The noise combines the independent spreads of the times, and FLOOR.
    """
    same = before.host.get("processor") == now.host.get("processor")
    lines = []
    for name, new in now.measured.items():
        old = before.measured.get(name)
        if old is not None and old.ours and new.ours:
            lines.append((name, *_format_change(old, new, same)))
    return Table(_COLUMNS, tuple(lines))


def _format_change(old: Measured, new: Measured, same: bool) -> tuple[Cell, ...]:
    assert old.ours is not None
    assert new.ours is not None
    unit = next((name for name in _YARDSTICKS if name in old.beside and name in new.beside), None)
    pairs = [(old.ours, new.ours)]
    if unit is not None:
        pairs.append((new.beside[unit], old.beside[unit]))
    ratio = math.prod(b.best / a.best for a, b in pairs)
    if same:
        ratio = min(ratio, new.ours.best / old.ours.best)
    noise = math.hypot(FLOOR, *(figure.spread for pair in pairs for figure in pair))
    percent = (round(100 * (ratio - 1), 1), round(100 * noise, 1))
    return (unit, old.ours.best, new.ours.best, *percent)


def list_slower(compared: Table) -> Table:
    """Return the lines whose change is above their noise, the worst first."""
    index, noise = _COLUMNS.index("change_percent"), _COLUMNS.index("noise_percent")
    rows: list[Any] = list(compared.rows)
    found = [row for row in rows if row[index] > row[noise]]
    return Table(_COLUMNS, tuple(sorted(found, key=itemgetter(index), reverse=True)))


def explain_unlike(before: BenchRun, host: Mapping[str, Any]) -> Optional[str]:
    """Return why the figures compare badly with this host's; raise ModelError if they do not
    compare at all.
    """
    sets = "instruction sets"
    old, new = before.host.get(sets), host.get(sets)
    if old != new:
        raise ModelError(
            f"the file has figures of a host with {old}, this run has {new}: measure both with the "
            "same instruction sets (--cpu)"
        )
    names = before.host.get("processor"), host.get("processor")
    return None if names[0] == names[1] else f"other processors: {names[0]} before, {names[1]} now"
