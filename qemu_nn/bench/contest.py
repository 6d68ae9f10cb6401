"""Whole networks: time of one inference here and in the peers that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np

from ..analysis.table import Cell, Table
from ..errors import Error
from ..graph import Graph
from ..runtime.session import Session
from ..targets import Profile
from .peers import PEERS
from .stopwatch import TURNS, race

OURS = "qemu_nn"

_COLUMNS = ("network", "batch", "threads", "runtime", "median_us", "low_us", "high_us", "ratio")


@dataclass(frozen=True)
class Report:
    """What was measured, as a table, and what was not, in sentences."""

    table: Table
    notes: tuple[str, ...] = ()


def contest(
    graphs: Iterable[Graph],
    profile: Profile,
    batches: Sequence[int] = (1, 32),
    threads: Sequence[int] = (1,),
    variant: Optional[str] = None,
    turns: int = TURNS,
) -> Report:
    """Microseconds of one inference: median and quartiles, all runtimes in turns.

    ratio: the runtime's median by ours. Peers compute the same layers, not the same bits; one
    that is missing or can not compute a network is named in the notes. Raises Error where the
    profile can not run a network or no layer has the variant.
    """
    rows: list[tuple[Cell, ...]] = []
    notes: dict[str, None] = {}
    for graph in graphs:
        for batch in batches:
            x = random_batch(graph, batch)
            for count in threads:
                session = Session(graph, profile, variant, count)
                runtimes = {OURS: _ours(session, x), **_theirs(graph, x, count, notes)}
                timings = race(runtimes, turns)
                ours = timings[OURS].median
                for name, timing in timings.items():
                    us = (
                        round(t / batch * 1e6, 2) for t in (timing.median, timing.low, timing.high)
                    )
                    ratio = round(timing.median / ours, 2)
                    rows.append((graph.name, batch, count, name, *us, ratio))
    return Report(Table(_COLUMNS, tuple(rows)), tuple(notes))


def random_batch(graph: Graph, batch: int) -> np.ndarray:
    """Inputs over the whole range, always the same; one time step for a recurrent network."""
    limits = np.iinfo(graph.input.dtype)
    steps = (1,) if graph.states else ()
    values = np.random.default_rng(0).integers(
        limits.min, limits.max, (batch, *steps, *graph.input.shape), endpoint=True
    )
    return values.astype(graph.input.dtype)


def _ours(session: Session, x: np.ndarray) -> Callable[[], object]:
    return lambda: session.run(x)


def _theirs(
    graph: Graph, x: np.ndarray, threads: int, notes: dict[str, None]
) -> dict[str, Callable[[], object]]:
    """The peers that can compute these inputs; the others leave a note."""
    ready: dict[str, Callable[[], object]] = {}
    for name, prepare in PEERS.items():
        try:
            ready[name] = prepare(graph, x, threads)
        except ImportError as missing:
            notes[f"no {name}: {missing.name} is missing; pip install 'qemu_nn[peers]'"] = None
        except Error as error:
            notes[f"no {name}: {error}"] = None
    return ready
