"""Announcements of long work: its stage and its turns, which the command line shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Optional, Protocol, TypeVar

_T = TypeVar("_T")


class Listener(Protocol):
    """Receiver of what is announced and counted."""

    def announce(self, what: str) -> None:
        """Take what begins now, such as "measures layers"."""

    def count(self, turns: Iterable[_T], total: Optional[int] = None) -> Iterable[_T]:
        """Return the turns of a loop, and count those that are done; total: their number."""


_listener: Optional[Listener] = None


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send all announcements to a listener."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def is_heard() -> bool:
    """True if there is a listener."""
    return _listener is not None


def announce(what: str) -> None:
    """Say what begins now."""
    if _listener is not None:
        _listener.announce(what)


def count(turns: Iterable[_T], total: Optional[int] = None) -> Iterable[_T]:
    """Return the turns of a loop, which a listener counts; total: their number, if not len()."""
    return turns if _listener is None else _listener.count(turns, total)
