"""Images with their sign bits flipped between calls, for dot products of unsigned by signed bytes.

A kernel that reads such an image needs no copy of it. An image that another call or the caller
reads keeps its sign bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..ir.graph import Graph
from .step import Step


def flip_signs(graph: Graph, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps, with sign flips of images that one call writes and one call reads."""
    if graph.loops:
        return tuple(steps)  # the next iteration may read what one iteration writes
    reads = Counter(name for step in steps for name in step.node.inputs)
    made = {step.node.name: index for index, step in enumerate(steps)}
    flipped = list(steps)
    for index, step in enumerate(steps):
        name = step.node.inputs[0] if step.node.inputs else ""
        if name not in made or reads[name] > 1 or name in graph.outputs:
            continue
        writer = made[name]
        (read, _), (_, written) = (s.row.sign_flips(s.params) for s in (step, steps[writer]))
        if read and written:
            for at, flips in ((writer, written), (index, read)):
                flipped[at] = replace(flipped[at], sign_flipped=flipped[at].sign_flipped | flips)
    return tuple(flipped)
