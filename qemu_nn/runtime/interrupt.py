"""Runs that end where Python raises something in the thread that waits for them, as Ctrl-C does.

C asks now and then whether to go on (csrc/runtime/executor.c). To ask is to come back to Python,
which runs its signal handlers then: what they raise is kept, and raised again when C has left the
run.
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
    """left: set when nobody waits for this thread's runs. raised: what ended its last one."""

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
    """Raise what has ended the run of this thread."""
    raised, _thread.raised = _thread.raised, None
    raise raised or KeyboardInterrupt


def heed(left: threading.Event) -> None:
    """Runs of this thread end when `left` is set."""
    _thread.left = left


@contextmanager
def open_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads for runs, which end when something is raised in the block."""
    from concurrent.futures import ThreadPoolExecutor  # here, as few programs need it

    left = threading.Event()
    with ThreadPoolExecutor(threads, initializer=heed, initargs=(left,)) as executor:
        try:
            yield executor
        except BaseException:
            left.set()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
