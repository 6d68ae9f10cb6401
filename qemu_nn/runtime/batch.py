"""Runs large batches in pieces, so that they can be watched and stopped; measures speed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Callable, Optional

import numpy as np

from ..errors import Error
from .session import Session, State

#: Samples that each thread computes before the next step of progress.
PIECE = 64


def run(
    session: Session,
    x: np.ndarray,
    state: State = None,
    trace: bool = False,
    progress: Optional[Callable[[Iterable], Iterable]] = None,
) -> dict[str, np.ndarray]:
    """Session.run() in pieces, so that a large batch can be watched and stopped.

    progress: wraps the iteration over pieces, as tqdm does.
    """
    x = np.atleast_1d(x)
    states = state.values() if isinstance(state, Mapping) else () if state is None else (state,)
    if any(np.shape(part)[:1] != (len(x),) for part in states):
        raise Error(f"state must have one row for each of the {len(x)} inputs")
    size = PIECE * session.threads
    results: dict[str, np.ndarray] = {}
    starts = range(0, max(len(x), 1), size)
    for start in progress(starts) if progress else starts:
        piece = slice(start, start + size)
        for name, values in session.run(x[piece], _rows(state, piece), trace).items():
            if name not in results:
                results[name] = np.empty((len(x), *values.shape[1:]), values.dtype)
            results[name][piece] = values
    return results


def _rows(state: State, piece: slice) -> State:
    if isinstance(state, Mapping):
        return {name: np.asarray(part)[piece] for name, part in state.items()}
    return None if state is None else np.asarray(state)[piece]


def inferences_per_second(session: Session, x: np.ndarray, seconds: float = 0.5) -> float:
    """How many samples like these the session computes in a second, over at least `seconds`."""
    start, passes, spent = time.perf_counter(), 0, 0.0
    while spent < seconds:
        session.run(x)
        passes, spent = passes + 1, time.perf_counter() - start
    return passes * len(x) / spent
