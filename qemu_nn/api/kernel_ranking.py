"""Functions that compute the same layer, ranked by the cycles that they take on a device."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Optional, Union

import numpy as np

from ..analysis.layer_cycles import estimate_layer_cycles
from ..analysis.table import Cell, Table, verdict
from ..cycles.table import COUNTERS
from ..errors import DeviceWarning, Error
from ..functions import FUNCTIONS, Function, layouts
from ..io.stages import count
from ..ir.formats import find_differing
from ..ir.graph import Graph, Node
from ..ptq.budgets import DeviceBudget
from ..runtime.plan import CLOBBER
from ..runtime.session import Session, draw_inputs
from ..targets import (
    DEFAULT_CORE,
    PATHS,
    Profile,
    Target,
    core_words,
    cores_of,
    resolve,
)
from .estimate import estimate
from .network import Network

_COLUMNS = ("layer", "rank", "function", "instructions", "least", "cycles", "most", "used")

#: The part of a layer's cycles that a choice gains at least: less, an estimate cannot tell.
_WORTH = 0.01

#: Random inputs on which two functions must give the same bits.
_INPUTS = 4


def ranked(network: Network, target: Union[str, Target] = DEFAULT_CORE) -> Table:
    """Return every function that gives a layer's bits, of each layer that several do, by usual
    cycles.

    target: as Network.session() takes it. Raises Error as estimate() does.
    """
    profile = network.profile(target)
    graph = network.graph
    own = _estimated(graph, target)
    wanted = _computed(graph, profile)
    assert wanted is not None
    rows: list[tuple[Cell, ...]] = []
    for node in count(graph.nodes):
        found = {node.function.name: own[node.name]}
        for other, swapped in _others(graph, node):
            if _gives(swapped, profile, wanted):
                found[other.function.name] = _estimated(swapped, target)[node.name]
        if len(found) > 1:
            rows += _rows(node, found)
    return Table(_COLUMNS, tuple(rows))


def quickest(
    graph: Graph,
    target: str,
    profile: Profile,
    named: Collection[str],
    budget: Optional[DeviceBudget] = None,
) -> tuple[Graph, tuple[str, ...]]:
    """Return the network with the quickest function for each layer, and a note for each that
    changes.

    Of the functions that give a layer's bits and keep within the budget; those that are `named`
    stay. Nothing changes where there are no instruction counts. Another note says which other cores
    get other bits.
    """
    core, start, wanted = resolve(target), graph, None
    notes: list[str] = []
    for name in [node.name for node in graph.nodes]:
        node = graph.node(name)
        own = _cycles(node, core, profile)
        if own is None or node.function.name in named:
            continue
        for cycles, other, swapped in _faster(graph, node, own * (1 - _WORTH), core, profile):
            wanted = wanted or _computed(start, profile)
            if wanted is None:  # the device refuses a call, of which whoever plans it tells
                return start, ()
            fits = _gives(swapped, profile, wanted)
            if fits and (budget is None or not budget.compute_excess(swapped)):
                graph, was = swapped, node.function.name
                gain = f"{100 * (1 - cycles / own):.0f} % fewer cycles on {core}"
                notes.append(f"{name}: {other.function.name} instead of {was}, {gain}, same bits")
                break
    return graph, (*notes, *_parted(start, graph, profile))


def _faster(
    graph: Graph, node: Node, most: float, core: str, profile: Profile
) -> list[tuple[float, Node, Graph]]:
    """Return what _others() finds that takes at most so many cycles, the fastest first."""
    found = []
    for other, swapped in _others(graph, node):
        cycles = _cycles(other, core, profile)
        if cycles is not None and cycles <= most:
            found.append((cycles, other, swapped))
    return sorted(found, key=lambda one: one[0])


def _cycles(node: Node, core: str, profile: Profile) -> Optional[float]:
    with suppress(Error):  # there are no instruction counts
        return estimate_layer_cycles(node, core, profile.cmsis)
    return None


def _parted(start: Graph, graph: Graph, profile: Profile) -> Iterator[str]:
    """Yield a note where two networks of the same bits give others on other cores' paths."""
    if graph is start:
        return
    for path in PATHS:
        other = replace(profile, path=path)
        before = None if path == profile.path else _computed(start, other)
        if before is not None:
            cores = core_words(cores_of([path]))
            if not _gives(graph, other, before):
                yield f"{cores} do not take these functions, or compute other bits with them"


def ranks_text(table: Table) -> str:
    """Return the table for a terminal."""
    return table.text() if table.rows else "no layer has another function that gives its bits"


def _rows(node: Node, found: Mapping[str, Mapping[str, Cell]]) -> Iterator[tuple[Cell, ...]]:
    """Yield a layer's functions, the fastest first."""
    order = sorted(found, key=lambda name: (int(found[name]["cycles"] or 0), name))
    for rank, name in enumerate(order, 1):
        figures = (found[name][column] for column in _COLUMNS[3:7])
        used = verdict(name == node.function.name)
        yield (node.name, rank, name, *figures, used)


def _others(graph: Graph, node: Node) -> Iterator[tuple[Node, Graph]]:
    """Yield the node with each other function that may compute the same, and the network with
    that.
    """
    own = node.function
    if own.name not in COUNTERS:
        return
    for other in FUNCTIONS.values():
        if other is own or other.name not in COUNTERS or other.family != own.family:
            continue
        given = ((name, _argument(node.params, name)) for name in other.params)
        params = {name: value for name, value in given if value is not None}
        if len(params) < len(other.params) or other.order is None or other.not_called:
            continue
        changed = replace(node, function=other, params=params)
        nodes = tuple(changed if each is node else each for each in graph.nodes)
        yield changed, replace(graph, nodes=nodes, arrays=_arranged(graph, node, other))


def _arranged(graph: Graph, node: Node, other: Function) -> Mapping[str, np.ndarray]:
    """Return the network's arrays, with a layer's weights in the order in which `other` reads
    them.
    """
    was, now = node.function.interleave, other.interleave
    if was == now or node.weights is None:
        return graph.arrays
    weights = graph.arrays[node.weights]
    if was is not None:
        rows, columns = node.params["num_of_rows"], node.params["dim_vec"]
        weights = layouts.unpack(weights, rows, columns, was)
    if now is not None:
        weights = layouts.pack(weights, now)
    return {**graph.arrays, node.weights: weights}


def _argument(params: Mapping[str, int], name: str) -> Optional[int]:
    """Return an argument of another function: square ones have one for both axes."""
    if name in params:
        return params[name]
    if name.endswith(("_x", "_y")):
        return params.get(name[:-2])
    across, down = params.get(f"{name}_x"), params.get(f"{name}_y")
    return across if across == down else None


def _computed(graph: Graph, profile: Profile) -> Optional[dict[str, np.ndarray]]:
    """Return what the layers compute of random inputs; None where the device refuses a call."""
    with suppress(Error), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        session = Session(graph, profile, trace=True)
        return session.run(draw_inputs(session.graph, _INPUTS, 2), trace=True)
    return None


def _gives(graph: Graph, profile: Profile, wanted: Mapping[str, np.ndarray]) -> bool:
    """True if a device runs the network, and its layers compute what is wanted."""
    if any(node.function.fault(node.params, profile) for node in graph.nodes):
        return False
    computed = _computed(graph, profile)
    return computed is not None and not any(
        name not in computed or find_differing(computed[name], values).any()
        for name, values in wanted.items()
        if not name.startswith(CLOBBER)
    )


def _estimated(graph: Graph, target: Union[str, Target]) -> dict[str, dict[str, Cell]]:
    """Return layer -> its row of the estimate."""
    rows = estimate(Network(graph), target).layers.records()
    return {str(row["layer"]): row for row in rows}
