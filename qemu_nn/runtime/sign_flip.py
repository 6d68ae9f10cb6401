"""Images between calls with their sign bits turned over, as products of unsigned bytes want them.

The row that reads such an image would lay out a copy of it first. Bytes that somebody else reads,
another call or the caller, are not turned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..ir.graph import Graph
from .step import Step


def turn(graph: Graph, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, with turned images wherever one call writes and just one reads them so."""
    if graph.loops:
        return tuple(steps)  # what one turn of a loop writes may be read in the next one
    reads = Counter(name for step in steps for name in step.node.inputs)
    made = {step.node.name: index for index, step in enumerate(steps)}
    turned = list(steps)
    for index, step in enumerate(steps):
        name = step.node.inputs[0] if step.node.inputs else ""
        if name not in made or reads[name] > 1 or name in graph.outputs:
            continue
        writer = made[name]
        (read, _), (_, written) = (s.row.turns(s.params) for s in (step, steps[writer]))
        if read and written:
            turned[writer] = replace(turned[writer], turned=turned[writer].turned | written)
            turned[index] = replace(turned[index], turned=turned[index].turned | read)
    return tuple(turned)
