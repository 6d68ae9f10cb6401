"""Whole networks: time of one inference here and in the peers that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Callable, Optional

import numpy as np

from ..analysis.table import Cell, Table
from ..functions import NPU_FUNCTIONS
from ..io import stages
from ..io.optional_deps import format_install_command
from ..ir.builds import find_target
from ..ir.graph import Graph
from ..kernels.devices import profile_for
from ..runtime.compiled import Compiled
from ..runtime.plan import plan
from ..runtime.session import Session, draw_inputs
from ..runtime.workspace import Batch
from ..targets import NPU, Profile, Target
from .peers import PEERS
from .stopwatch import REST, TURNS, time_each

OURS = "qemu_nn"

#: Name of the plain rows in comparisons with other runtimes.
PLAIN = "plain rows"

_COLUMNS = (
    *("network", "batch", "threads", "runtime"),
    *("best_us", "median_us", "low_us", "high_us", "times_ours"),
)


def run_contest(
    graphs: Iterable[Graph],
    target: Target,
    variant: Optional[str] = None,
    batches: Sequence[int] = (1, 32),
    threads: Sequence[int] = (1,),
    turns: int = TURNS,
    plain: bool = False,
) -> tuple[Table, tuple[str, ...]]:
    """Return microseconds of one inference, all runtimes in turns: the best, the median, the
    quartiles.

    target: for networks other than the NPU's, which have no peers. plain: also time the rows that
    define the bits, on single samples of networks with one input. times_ours: the runtime's median
    divided by ours. Peers compute the same layers, not the same bits. The notes, returned next to
    the table, name missing peers and networks that a peer cannot compute. Raises Error if the
    device cannot run a network, or no layer has the variant.
    """
    rows: list[tuple[Cell, ...]] = []
    notes: dict[str, None] = {}
    sizes = list(product(graphs, batches, threads))
    for graph, batch, count in stages.count(sizes):
        stages.announce(f"times {graph.name}")
        x = draw_inputs(graph, batch)
        profile = choose_profile(graph, target)
        session = Session(graph, profile, variant, count)
        peers = {} if profile == NPU else _list_peers(graph, x, count, notes)
        runtimes = {OURS: _time_ours(session, x), **peers}
        if plain and len(graph.inputs) == 1 and not graph.states:
            runtimes[PLAIN] = _run_plain(graph, profile, x)
        timings = time_each(runtimes, turns, rest=REST if count > 1 else 0.0)
        ours = timings[OURS].median / batch
        for name, t in timings.items():
            samples = 1 if name == PLAIN else batch
            us = (round(s / samples * 1e6, 2) for s in (t.best, t.median, t.low, t.high))
            times_ours = round(t.median / samples / ours, 2)
            rows.append((graph.name, batch, count, name, *us, times_ours))
    return Table(_COLUMNS, tuple(rows)), tuple(notes)


def choose_profile(graph: Graph, target: Target) -> Profile:
    """Return the NPU's, or that of the target for this network."""
    npu = all(node.function.name in NPU_FUNCTIONS for node in graph.nodes)
    return NPU if npu else profile_for(graph.ops, find_target(graph, target))


def _time_ours(session: Session, x: np.ndarray) -> Callable[[], object]:
    return lambda: session.run(x)


def _run_plain(graph: Graph, profile: Profile, x: np.ndarray) -> Callable[[], object]:
    """Return one sample on the rows that define the bits."""
    one = x[:1]
    run = Compiled(plan(graph, profile, "plain"), 1).prepare(Batch((1,), 1, 1))
    return lambda: run(one)


def _list_peers(
    graph: Graph, x: np.ndarray, threads: int, notes: dict[str, None]
) -> dict[str, Callable[[], object]]:
    """Return the peers that can compute these inputs; add a note for each of the rest."""
    ready: dict[str, Callable[[], object]] = {}
    for name, prepare in PEERS.items():
        try:
            ready[name] = prepare(graph, x, threads)
        except ImportError as fault:
            what = f"{fault.name} is missing" if fault.name else str(fault)
            notes[f"no {name}: {what}; {format_install_command('peers')}"] = None
        except Exception as fault:  # a peer's troubles, of whatever kind, do not end the run
            notes[f"no {name}: {fault}"] = None
    return ready
