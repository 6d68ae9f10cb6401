"""Runs large batches in pieces, so that they can be watched and stopped; measures speed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Callable, Optional

import numpy as np

from ..errors import Error
from .inputs import Inputs, State, by_name, rows
from .session import Session

#: Samples that each thread computes before the next step of progress.
PIECE = 64


def run(
    session: Session,
    x: Inputs,
    state: State = None,
    trace: bool = False,
    progress: Optional[Callable[[Iterable], Iterable]] = None,
) -> dict[str, np.ndarray]:
    """Session.run() in pieces, so that a large batch can be watched and stopped.

    progress: wraps the iteration over pieces, as tqdm does.
    """
    x = {name: np.atleast_1d(part) for name, part in by_name(session.graph, x).items()}
    samples = max(map(len, x.values()))
    states = state.values() if isinstance(state, Mapping) else () if state is None else (state,)
    if any(np.shape(part)[:1] != (samples,) for part in states):
        raise Error(f"state must have one row for each of the {samples} inputs")
    size = PIECE * session.threads
    results: dict[str, np.ndarray] = {}
    starts = range(0, max(samples, 1), size)
    for start in progress(starts) if progress else starts:
        piece = slice(start, start + size)
        for name, values in session.run(rows(x, piece), _rows(state, piece), trace).items():
            if name not in results:
                results[name] = np.empty((samples, *values.shape[1:]), values.dtype)
            results[name][piece] = values
    return results


def _rows(state: State, piece: slice) -> State:
    return None if state is None else rows(state, piece)  # type: ignore[return-value]


def inferences_per_second(session: Session, x: np.ndarray, seconds: float = 0.5) -> float:
    """How many samples like these the session computes in a second, over at least `seconds`."""
    start, passes, spent = time.perf_counter(), 0, 0.0
    while spent < seconds:
        session.run(x)
        passes, spent = passes + 1, time.perf_counter() - start
    return passes * len(x) / spent
