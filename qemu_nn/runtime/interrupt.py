"""Runs that end if Python raises an exception, such as Ctrl-C, in the waiting thread.

C asks Python at intervals whether to continue (csrc/runtime/executor.c). Python then runs its
signal handlers. Their exception is stored, and raised again after C has returned.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, Optional

from .._native import ffi

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


class _Thread(threading.local):
    """Interrupt state of a thread.

    left: set when no thread waits for its runs. raised: exception that ended its last run.
    """

    left: Optional[threading.Event] = None
    raised: Optional[BaseException] = None


_thread = _Thread()


def _keep(_type: object, raised: BaseException, _traceback: object) -> None:
    _thread.raised = raised


@ffi.def_extern(error=1, onerror=_keep)  # type: ignore[untyped-decorator]
def qn_python_stops() -> int:
    """True if the run of this thread must stop, or a signal handler raises here."""
    return int(_thread.left is not None and _thread.left.is_set())


def resume() -> NoReturn:
    """Raise the exception that ended the run of this thread."""
    raised, _thread.raised = _thread.raised, None
    raise raised or KeyboardInterrupt


def heed(left: threading.Event) -> None:
    """End the runs of this thread when `left` is set."""
    _thread.left = left


@contextmanager
def open_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads for runs, which end if the block raises."""
    from concurrent.futures import ThreadPoolExecutor  # imported here: few programs need it

    left = threading.Event()
    with ThreadPoolExecutor(threads, initializer=heed, initargs=(left,)) as executor:
        try:
            yield executor
        except BaseException:
            left.set()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
