"""Timing of several competitors in turns, so that a busy host slows all of them equally."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable

#: Seconds of one competitor's turn, and number of turns.
TURN, TURNS = 0.005, 21

#: Seconds of rest before a turn, in which spinning threads go to sleep.
REST = 0.02


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the best turn, the median over the turns and the quartiles around it."""

    best: float
    median: float
    low: float
    high: float


def time_each(
    competitors: Mapping[str, Callable[[], object]],
    turns: int = TURNS,
    turn: float = TURN,
    rest: float = 0.0,
) -> dict[str, Timing]:
    """Return the time of one call of each competitor; each turn fills `turn` seconds with calls.

    rest: seconds of sleep before each turn, followed by an uncounted call.
    """
    calls = {name: _choose_calls(run, turn) for name, run in competitors.items()}
    times: dict[str, list[float]] = {name: [] for name in competitors}
    for _ in range(max(2, turns)):
        for name, run in competitors.items():
            if rest:
                time.sleep(rest)
                run()
            times[name].append(_measure_seconds(run, calls[name]) / calls[name])
    return {name: _summarize_timing(seconds) for name, seconds in times.items()}


def _choose_calls(run: Callable[[], object], turn: float) -> int:
    """Return the number of calls that fill a turn; the first call may still prepare, and is not
    counted.
    """
    run()
    calls = 1
    while calls < 1 << 24:
        spent = _measure_seconds(run, calls)
        if spent > turn / 4:
            return max(1, round(calls * turn / spent))
        calls *= 2
    return calls


def _measure_seconds(run: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return time.perf_counter() - start


def _summarize_timing(times: list[float]) -> Timing:
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return Timing(min(times), median, low, high)
