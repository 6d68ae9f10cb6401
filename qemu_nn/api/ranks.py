"""Functions that compute the same layer, ranked by the cycles that they take on a device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Optional

import numpy as np

from ..analysis.table import Cell, Table
from ..cycles.table import COUNTERS
from ..errors import Error
from ..functions import FUNCTIONS, Function
from ..ir.formats import differing
from ..ir.graph import Graph, Node
from ..runtime.plan import CLOBBER
from ..runtime.session import Session, random_inputs
from ..targets import DEFAULT_CORE, DEFAULT_TFLM, KERNELS, Profile
from .estimate import estimate
from .network import Network

_COLUMNS = ("layer", "rank", "function", "instructions", "least", "cycles", "most", "used")

#: What is left of a function's name is what all that compute the same have in common.
_OWN_WORDS = re.compile(r"_(basic|fast|RGB|nonsquare|wrapper|opt|even|1x1|1_x_n|3x3)(?=_|$)")

#: Random inputs on which two functions must give the same bits.
_INPUTS = 4


def ranked(
    network: Network,
    target: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    kernels: str = KERNELS[0],
    tflm: str = DEFAULT_TFLM,
) -> Table:
    """Every function that gives a layer's bits, of each layer that several do, by usual cycles.

    Arguments as Network.session() takes them. Raises Error as estimate() does.
    """
    if kernels != KERNELS[0]:
        raise Error(f"instruction counts are of CMSIS-NN's kernels, not of {kernels!r}")
    profile = network.profile(target, cmsis, rounding, tflm=tflm)
    graph = network.graph
    build = {"cmsis": cmsis, "rounding": rounding, "tflm": tflm}
    own = _estimated(graph, target, build)
    wanted = _computed(graph, profile)
    assert wanted is not None
    rows: list[tuple[Cell, ...]] = []
    for at, node in enumerate(graph.nodes):
        found = {node.function.name: own[node.name]}
        for other in _others(node):
            nodes = (*graph.nodes[:at], other, *graph.nodes[at + 1 :])
            swapped = replace(graph, nodes=nodes)
            if _same(_computed(swapped, profile), wanted):
                found[other.function.name] = _estimated(swapped, target, build)[node.name]
        if len(found) > 1:
            rows += _rows(node, found)
    return Table(_COLUMNS, tuple(rows))


def ranks_text(table: Table) -> str:
    """The table for a terminal."""
    return table.text() if table.rows else "no layer has another function that gives its bits"


def _rows(node: Node, found: Mapping[str, Mapping[str, Cell]]) -> Iterator[tuple[Cell, ...]]:
    """A layer's functions, the fastest first."""
    order = sorted(found, key=lambda name: (int(found[name]["cycles"] or 0), name))
    for rank, name in enumerate(order, 1):
        figures = (found[name][column] for column in _COLUMNS[3:7])
        used = "yes" if name == node.function.name else "no"
        yield (node.name, rank, name, *figures, used)


def _others(node: Node) -> Iterator[Node]:
    """The node with each other function that may compute the same, and its arguments."""
    own = node.function
    if own.name not in COUNTERS:
        return
    for other in FUNCTIONS.values():
        if other is own or other.name not in COUNTERS or _family(other) != _family(own):
            continue
        given = ((name, _argument(node.params, name)) for name in other.params)
        params = {name: value for name, value in given if value is not None}
        if len(params) == len(other.params) and other.order is not None:
            yield replace(node, function=other, params=params)


def _family(function: Function) -> str:
    return _OWN_WORDS.sub("", function.name)


def _argument(params: Mapping[str, int], name: str) -> Optional[int]:
    """An argument of another function: square ones have one for both axes."""
    if name in params:
        return params[name]
    if name.endswith(("_x", "_y")):
        return params.get(name[:-2])
    across, down = params.get(f"{name}_x"), params.get(f"{name}_y")
    return across if across == down else None


def _computed(graph: Graph, profile: Profile) -> Optional[dict[str, np.ndarray]]:
    """What the layers compute of random inputs; None where the device refuses a call."""
    with suppress(Error):
        session = Session(graph, profile, trace=True)
        return session.run(random_inputs(session.graph, _INPUTS, 2), trace=True)
    return None


def _same(computed: Optional[Mapping[str, np.ndarray]], wanted: Mapping[str, np.ndarray]) -> bool:
    return computed is not None and not any(
        name not in computed or differing(computed[name], values).any()
        for name, values in wanted.items()
        if not name.startswith(CLOBBER)
    )


def _estimated(graph: Graph, target: str, build: dict[str, Any]) -> dict[str, dict[str, Cell]]:
    """Layer -> its row of the estimate."""
    rows = estimate(Network(graph), target, **build).layers.records()
    return {str(row["layer"]): row for row in rows}
