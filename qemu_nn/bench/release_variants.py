"""Comparison of a network's results between all states of CMSIS-NN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Optional

import numpy as np

from ..analysis.table import Cell, Table
from ..errors import Error
from ..io.stages import announce, count
from ..ir.graph import Graph, Tensor
from ..releases import RULES, Release
from ..runtime.inputs import Inputs, State
from ..runtime.release_runs import StateRun, find_runs, remove_name
from ..runtime.session import Session, draw_inputs
from ..targets import Profile

_COLUMNS = ("states", "layer", "differing", "elements", "commits")

#: Default inputs.
_INPUTS = 8

#: Output of each layer by name, or the reason for none.
_Result = tuple[tuple[str, bytes], ...]


def compare_release_variants(
    graph: Graph, wanted: Profile, x: Optional[Inputs] = None, state: State = None
) -> Table:
    """Return a line for each run of states and each layer that differs from the wanted profile.

    differing: number of elements. commits: those that changed such calls at the start of the run. A
    run without differences has one line. x, state: inputs of Session.run(); default: random inputs.
    Raises Error as a session does.
    """
    x = draw_inputs(graph, _INPUTS) if x is None else x

    def outputs(profile: Profile) -> _Result:
        try:
            results = Session(graph, profile, trace=True).run(x, state, trace=True)
        except Error as error:
            reason = remove_name(str(error).rpartition("): ")[2], profile)
            return ((f"refused: {reason}", b""),)
        return tuple((name, values.tobytes()) for name, values in results.items())

    base = outputs(wanted)
    tensors = graph.tensors
    rows: list[tuple[Cell, ...]] = []
    before: Optional[Release] = None
    announce("computes states of CMSIS-NN")
    for run, result in count(find_runs(graph, wanted, outputs)):
        commits = ", ".join(_commits(graph, before, run))
        for cells in _lines(dict(base), result, tensors):
            rows.append((str(run), *cells, commits))
        before = run.states[-1]
    return Table(_COLUMNS, tuple(rows))


def _lines(
    base: dict[str, bytes], result: _Result, tensors: dict[str, Tensor]
) -> Iterator[tuple[Cell, ...]]:
    """Yield layer, differing and elements of each layer that differs; one line if none does."""
    if result[0][0].startswith("refused: ") and not result[0][1]:
        yield result[0][0], None, None
        return
    equal = True
    for name, data in result:
        if data != base.get(name) and name in tensors:
            equal = False
            dtype = np.dtype(tensors[name].dtype)
            one, other = (np.frombuffer(each, dtype) for each in (data, base.get(name, b"")))
            differing = int((one != other).sum()) if one.size == other.size else None
            yield name, differing, one.size
    if equal:
        yield "equal", 0, sum(len(data) for _, data in result)


def _commits(graph: Graph, before: Optional[Release], run: StateRun) -> Iterable[str]:
    """Return the commits of rules for the network's calls that begin or end before a run."""
    if before is None:
        return ()
    ops = {f"{op}_{type}" for op, type in graph.ops}
    changed = (
        rule
        for rule in RULES
        if (not rule.ops or ops & set(rule.ops))
        and rule.holds_for(before) != rule.holds_for(run.states[0])
    )
    return dict.fromkeys(rule.commit for rule in changed)
