"""Which layers get weights of 4 bits, so that a network's weights fit into so many bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import Error
from ..ir.builds import weight_bytes
from ..ir.float_graph import FloatNode
from ..lower.s8_weighted import narrow_function
from ..quantizer.search import Search
from ..runtime.cluster import computing
from .data import Batch
from .improve import Trial, judge_of
from .searching import Job

#: Noise of a layer that shows in no score, relative to the signal.
_LEAST_NOISE = 1e-12


def narrowed(job: Job, kept: Sequence[Batch], flash: int, how: Search) -> Job:
    """The job with functions of 4-bit weights for some layers, and a note for each.

    Each layer is tried alone on the exact network and all of the data. Those that add the least
    noise for each byte they save come first, until the weights fit into `flash` bytes. Raises Error
    where they never do.
    """
    judge = judge_of(job, np.concatenate([batch.x for batch in kept]))
    size = _size(_trial(job))
    if size <= flash:
        return job
    tried = [(node, trial) for node in job.graph.nodes for trial in _narrow(job, [node])]
    with computing(judge, how.client, how.threads) as compute:
        scores = dict(compute([trial for _, trial in tried]))
    start = _noise(judge(_trial(job)))
    ranked = []
    for number, (node, trial) in enumerate(tried):
        saved, noise = size - _size(trial), _noise(scores[number]) - start
        if saved > 0 and np.isfinite(scores[number]):
            ranked.append((max(noise, _LEAST_NOISE) / saved, number, node))
    notes, chosen = (
        [f"8 bits: {size:,} bytes of weights and biases, {judge(_trial(job)):.1f} dB"],
        [],
    )
    for _, _, node in sorted(ranked, key=lambda each: each[:2]):
        chosen.append(node)
        (trial,) = _narrow(job, chosen)
        size = _size(trial)
        notes.append(
            f"{node.name}: 4 bits, {size:,} bytes of weights and biases, {judge(trial):.1f} dB"
        )
        if size <= flash:
            return replace(trial.job, notes=(*job.notes, *notes))
    raise Error(
        f"its weights take {size:,} bytes where all that can have 4 bits do, more than "
        f"flash={flash}"
    )


def _trial(job: Job) -> Trial:
    return Trial(job, job.formats({}), job.graph)


def _narrow(job: Job, nodes: Sequence[FloatNode]) -> Iterator[Trial]:
    """The network with 4-bit weights in these layers, if they all have a function for them and the
    user names no other."""
    found = {node.name: narrow_function(node.operator) for node in nodes}
    functions = {name: function for name, function in found.items() if function is not None}
    if functions != found or functions.keys() & job.scheme.functions.keys():
        return
    scheme: Any = replace(job.scheme, functions={**job.scheme.functions, **functions})
    yield _trial(replace(job, scheme=scheme))


def _size(trial: Trial) -> int:
    return weight_bytes(trial.lowered())


def _noise(ratio: float) -> float:
    """Of a signal-to-noise ratio in decibels."""
    return 10.0 ** (-ratio / 10)
