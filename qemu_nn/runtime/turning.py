"""Images between two calls with their sign bits turned over, as products of unsigned bytes read them.

The row that reads such an image would lay out a copy of it first. Bytes that somebody else reads,
another call or the caller, are not turned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from .._native import lib
from ..ir.graph import Graph
from ..targets import Profile
from .step import Step

#: Structs of parameters of the layers whose rows write and read turned images, and their variant.
_LAYERS, _VARIANT = ("qn_s_conv", "qn_s_depthwise"), "avx512vnni"

#: Channels of a pixel whose reader reads nothing behind it.
_WHOLE = 16


def turn(graph: Graph, steps: Sequence[Step], profile: Profile) -> tuple[Step, ...]:
    """The steps, with turned images wherever one writes and just one reads it so."""
    if graph.loops or (profile.path == "mve" and profile.rounding == "single"):
        return tuple(steps)  # sums in lanes are computed by plain rows
    reads = Counter(name for step in steps for name in step.node.inputs)
    writers = {
        step.node.name: index
        for index, step in enumerate(steps)
        if _is_layer(step) and reads[step.node.name] == 1 and step.node.name not in graph.outputs
    }
    turned = list(steps)
    for index, step in enumerate(steps):
        writer = writers.get(step.node.inputs[0]) if step.node.inputs else None
        if writer is not None and _reads_as_it_is(step):
            ways = (writer, lib.QN_TURNED_OUT), (index, lib.QN_TURNED_IN)
            for at, way in ways:
                turned[at] = replace(turned[at], turned=turned[at].turned | way)
    return tuple(turned)


def _is_layer(step: Step) -> bool:
    op = step.row.op
    return op.params in _LAYERS and op.type != "s16" and step.row.variant == _VARIANT


def _reads_as_it_is(step: Step) -> bool:
    """Is every pixel of the image a window of its own, with whole vectors of channels?"""
    p = step.node.params
    return (
        step.row.op.params == "qn_s_conv"
        and _is_layer(step)
        and all(p[f"{name}_{axis}"] == 1 for name in ("filter", "stride") for axis in "hw")
        and all(p[f"pad_{axis}"] == 0 for axis in "hw")
        and all(p[f"input_{axis}"] == p[f"output_{axis}"] for axis in "hw")
        and p["input_c"] == p["filter_c"]
        and p["input_c"] % _WHOLE == 0
    )
