"""Samples shared by threads of Python, where C has none (Windows)."""

from __future__ import annotations

from typing import Any

from .._native import lib


class Share:
    """As many threads as are asked for, the caller's among them."""

    def __init__(self, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # here, as few sessions need it

        self._pool = ThreadPoolExecutor(threads - 1)

    def execute(
        self, results: object, plan: Any, arenas: list[Any], samples: int, *arguments: Any
    ) -> int:
        """All threads at once, each on its part of the batch: a status of csrc/qn.h."""
        count = len(arenas)
        bounds = [samples * i // count for i in range(count + 1)]
        own, *parts = [
            (results, plan, *part, *arguments) for part in zip(arenas, bounds, bounds[1:])
        ]
        others = [self._pool.submit(_work, *part) for part in parts]
        return min([_work(*own), *(other.result() for other in others)])


def _work(results: object, *arguments: Any) -> int:
    """One thread's part; holds the results, as an interrupted caller lets go of them."""
    status: int = lib.qn_execute(*arguments)
    return status
