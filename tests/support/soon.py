"""Limits of processor time that are relative to the speed of the host."""

import time
from contextlib import contextmanager
from functools import cache


def _turns(count):
    """Processor time that so many turns of a loop take."""
    start = time.process_time()
    for _ in range(count):
        pass
    return time.process_time() - start


@cache
def _million_turns():
    return 10 * min(_turns(100_000) for _ in range(9))


@contextmanager
def soon(millions):
    """Check that the block takes less processor time than `millions` loop iterations."""
    start = time.process_time()
    try:
        yield
    finally:
        spent = (time.process_time() - start) / _million_turns()
        assert spent < millions, f"{spent:.0f} million turns"
