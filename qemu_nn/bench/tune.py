"""Which row is fastest on this host for each call of a network: what plans then take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from ..analysis.table import Cell, Table
from ..ir.graph import Graph, Node
from ..kernels import table as kernels
from ..kernels.table import Row
from ..runtime.plan import plan
from ..runtime.session import BATCHES, Session, batched, random_inputs
from ..runtime.tuned import call_of
from ..targets import Profile
from ..testing.cases import Case
from .contest import profile_of
from .stopwatch import TURNS, race

#: A row is taken instead of the planner's own if it needs at most as much of that one's time.
GAIN = 0.95

_COLUMNS = ("call", "usual", "us", "fastest", "fastest_us")


def tune(
    graphs: Iterable[Graph], device: Mapping[str, Any], turns: int = TURNS
) -> tuple[Table, dict[str, str]]:
    """Time all fast rows of each call of the networks, in turns.

    device: as contest() takes it. Returns a line for each call of which there are several rows,
    with the best microseconds of the planner's own row and of the fastest one; and the calls with
    the variants that are to be taken instead, or "" where the planner's own is not to be changed.
    """
    lines: list[tuple[Cell, ...]] = []
    found: dict[str, str] = {}
    for graph in graphs:
        profile = profile_of(graph, device)
        for node in _calls(graph, profile):
            call = call_of(node)
            rows = _rows(node, profile)
            if call in found or len(rows) < 2:
                continue
            times = _times(node, rows, profile, turns)
            usual, fastest = rows[0].variant, min(times, key=lambda name: times[name])
            found[call] = fastest if times[fastest] <= GAIN * times[usual] else ""
            us = (round(times[name] * 1e6, 3) for name in (usual, fastest))
            lines.append((call, usual, next(us), fastest, next(us)))
    return Table(_COLUMNS, tuple(lines)), found


def _calls(graph: Graph, profile: Profile) -> Iterator[Node]:
    """Those of a plan for one sample, and for batches where these have plans of their own."""
    own = plan(graph, profile).graph
    for each in (own, *(batched(own, size) for size in BATCHES)):
        yield from each.nodes if each else ()


def _rows(node: Node, profile: Profile) -> list[Row]:
    """The fast rows that run a call here, the planner's own first."""
    function = node.function
    rows = kernels.rows_of(function.op, function.type)
    params = kernels.make_params(rows[0].op, profile, function.struct_values(node.params))
    able = [row for row in rows if row.kind == "fast" and row.serves(profile, params)]
    return sorted(able, key=lambda row: not row.pays(params))


def _times(node: Node, rows: list[Row], profile: Profile, turns: int) -> dict[str, float]:
    """Variant -> seconds of one call, the best."""
    graph, count = Case(node.function.name, node.params).graph()
    x = random_inputs(graph, 1)
    sessions = {row.variant: Session(graph, profile, row.variant) for row in rows}
    timings = race({name: partial(s.run, x) for name, s in sessions.items()}, turns)
    return {name: timing.best / count for name, timing in timings.items()}
