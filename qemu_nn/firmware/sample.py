"""What one run computed, made into goldens in program order."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..io.archive import little_endian
from ..ir.graph import Graph
from ..ir.tensors import Tensor
from ..runtime.plan import CLOBBER

#: Layer -> what it computes for one input, [T, *shape] in a recurrent network, [*shape] otherwise.
Trace = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Golden:
    """What one layer computes for one input, or what the input or a state is.

    tensor: the layer's, if it has one: its format. group: "", or its folder inside the input's:
    "t0" at that time step, "start" before the first. others: profile in words -> CRC-32 of what it
    computes instead, where its bits differ.
    """

    layer: str
    values: np.ndarray
    tensor: Optional[Tensor] = None
    group: str = ""
    others: Mapping[str, int] = field(default_factory=dict)


def format_words(tensor: Tensor) -> Optional[str]:
    """What an integer q of a tensor stands for: Q0.7, or 0.0235 x (q+128); None if nobody knows.

    Harmless in a comment.
    """
    known = tensor.frac is not None or tensor.scale is not None
    return str(tensor.format).replace("*", " x ") if known else None


def crc32(values: np.ndarray) -> int:
    """CRC-32 of an array's little-endian bytes."""
    return zlib.crc32(little_endian(values).tobytes())


def sample(
    graph: Graph, x: np.ndarray, start: Trace, trace: Trace, rivals: Mapping[str, Trace]
) -> Iterator[Golden]:
    """The goldens of one input: the start states, then for each time step the input and all layers.

    x: [*input shape], or [T, *input shape] for a recurrent network. start: state -> its values.
    rivals: profile in words -> what it computes; a layer that it has not is passed over, but for
    what is left of an input: all of it, where that device does not destroy it.
    """
    tensors = (graph.input, *graph.states, *(node.output for node in graph.nodes))
    known = {tensor.name: tensor for tensor in tensors}
    for name, values in start.items():
        yield Golden(name, values, known[name], "start")
    rivals = {name: {graph.input.name: x, **rival} for name, rival in rivals.items()}
    read = {f"{CLOBBER}{node.name}": node.inputs[0] for node in graph.nodes if node.inputs}
    groups = [(f"t{step}", (step,)) for step in range(len(x))] if graph.states else [("", ())]
    for group, at in groups:
        yield Golden(graph.input.name, x[at], graph.input, group)
        for layer, values in trace.items():
            there = {
                name: rival.get(layer, rival.get(read.get(layer, "")))
                for name, rival in rivals.items()
            }
            others = _others(values[at], {n: r[at] for n, r in there.items() if r is not None})
            yield Golden(layer, values[at], known.get(layer), group, others)


def _others(values: np.ndarray, rivals: Trace) -> dict[str, int]:
    """CRC-32 by profile, where it differs from that of the values."""
    return {
        name: crc32(rival)
        for name, rival in rivals.items()
        if not np.array_equal(rival.ravel(), values.ravel())
    }
