"""A parallel loop over samples on threads of Python, where C has none (Windows)."""

from __future__ import annotations

from threading import Event
from typing import Any

from .._native import lib
from .interrupt import heed

#: Seconds after which a waiting caller lets Python run its signal handlers.
_PATIENCE = 0.05


class ParallelFor:
    """Runs batches on a number of threads, the caller's among them."""

    def __init__(self, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # here, as few sessions need it

        self._pool = ThreadPoolExecutor(threads - 1)

    def execute(
        self, results: object, plan: Any, arenas: list[Any], samples: int, *arguments: Any
    ) -> int:
        """All threads at once, each on its part of the batch: a status of csrc/include/qn.h."""
        from concurrent.futures import wait

        count = len(arenas)
        bounds = [samples * i // count for i in range(count + 1)]
        own, *parts = [(plan, *part, *arguments) for part in zip(arenas, bounds, bounds[1:])]
        left = Event()
        others = [self._pool.submit(_work, left, results, *part) for part in parts]
        try:
            status: int = lib.qn_execute(*own)
            while status == lib.QN_OK and wait(others, _PATIENCE).not_done:
                pass
        finally:
            left.set()  # whatever ends the caller's part ends the others; done ones do not look
            wait(others)
        return min([status, *(other.result() for other in others)])


def _work(left: Event, results: object, *arguments: Any) -> int:
    """One thread's part; holds the results, as a caller interrupted twice lets go of them."""
    heed(left)
    status: int = lib.qn_execute(*arguments)
    return status
