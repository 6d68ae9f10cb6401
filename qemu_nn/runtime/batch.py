"""Measurement of speed with batches of several sizes."""

from __future__ import annotations

import time

import numpy as np

from .session import Session

#: Samples of a batch for each thread.
PIECE = 64


def measure_inferences_per_second(session: Session, x: np.ndarray, seconds: float = 0.5) -> float:
    """Return how many samples like these the session computes in a second, over at least
    `seconds`.
    """
    start, passes, spent = time.perf_counter(), 0, 0.0
    while spent < seconds:
        session.run(x)
        passes, spent = passes + 1, time.perf_counter() - start
    return passes * len(x) / spent
