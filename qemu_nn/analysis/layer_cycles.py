"""Cycles of the layers of a network on a core, from recorded instruction counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Optional

from ..cycles.model import PATHS, STANDS_FOR, CallEstimate, estimate_call
from ..cycles.own import estimate_own
from ..cycles.table import COUNTERS
from ..cycles.timing import TIMINGS, compute_cycles
from ..functions import FUNCTIONS
from ..functions.base import Function
from ..functions.shapes import get_extent
from ..ir.graph import Graph, Node

#: Optimization level and float ABI that firmware is usually built with.
_USUAL = ("-O3", "hard")

#: The function that sums weights for another function.
_SUMS = "arm_vector_sum_s8"


def estimate_usual_cycles(graph: Graph, core: str, cmsis: str) -> tuple[int, dict[str, str]]:
    """Return the cycles of an inference, and layer -> function of the layers without counts.

    The cycles exclude layers without counts. Raises Error if the core or release has no counts.
    """
    total, unknown = 0.0, {}
    for node in graph.nodes:
        found = estimate_layer_cycles(node, core, cmsis)
        total += found or 0.0
        if found is None:
            unknown[node.name] = node.function.name
    return round(total), unknown


def estimate_layer_cycles(node: Node, core: str, cmsis: str) -> Optional[float]:
    """Return the cycles of one layer without flash wait states; None if it has no counts.

    Raises Error if the core or release has no counts.
    """
    return _compute_cached_cycles(
        node.function.name, tuple(sorted(get_arguments(node).items())), core, cmsis
    )


@functools.lru_cache(maxsize=4096)
def _compute_cached_cycles(
    name: str, params: tuple[tuple[str, int], ...], core: str, cmsis: str
) -> Optional[float]:
    calls = iterate_calls(FUNCTIONS[name], dict(params), (core, cmsis, *_USUAL))
    spent = [compute_cycles(call.instructions, call.mix, TIMINGS[core])[1] for call in calls]
    return sum(spent) if spent else None


def get_arguments(node: Node) -> dict[str, int]:
    """Return a node's scalar C arguments, and whether it has a bias."""
    return {**node.params, "bias": int(node.bias is not None)}


def get_sizes(function: Function, params: Mapping[str, int]) -> tuple[int, int, int]:
    """Return elements of the output and of all inputs of a call, and its multiplications."""
    made = math.prod(function.output.shape(params))
    read = sum(math.prod(array.shape(params)) for array in function.inputs)
    return made, read, get_extent(function.macs, params)


def iterate_calls(
    function: Function, params: Mapping[str, int], setting: tuple[str, str, str, str]
) -> Iterator[CallEstimate]:
    """Yield the call; on a core with Helium, first the call that sums its weights."""
    core = setting[0]
    path = PATHS.get(STANDS_FOR.get(core, core))
    if path is None:  # the sentence of an unknown core, whatever the function is
        estimate_call(next(iter(COUNTERS)), {}, *setting)
    if function.name not in COUNTERS:
        own = estimate_own(function.name, get_sizes(function, params), core, setting[1])
        if own is not None:
            yield own
        return
    sums = function.order.sums if function.order else ()
    if path == "mve" and sums and function.buffer_bytes(params, path):
        columns, rows = (get_extent(size, params) for size in sums[:2])
        yield estimate_call(_SUMS, {"cols": columns, "rows": rows, "rhs_offset": 0}, *setting)
    yield estimate_call(function.name, params, *setting)
