"""The status of a command on stderr: what it does, how far it is, how long it still takes.

A terminal shows one line after two seconds, and removes it at the end. A file or pipe gets a line
each minute.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Optional, TextIO, cast

import click

from ..errors import printable
from ..io.stages import listening
from ..io.terminal import is_terminal

#: Seconds before the first line on a terminal, between two states of it, and between two lines of
#: a log.
FIRST, OFTEN, SELDOM = 2.0, 0.25, 60.0

_ERASE = "\r\x1b[K"

#: Key of click's context: --quiet was given before the command.
QUIET = "qemu_nn.quiet"


@dataclass
class _Loop:
    """A loop: its turns, how many are done, and when it began."""

    total: Optional[int]
    start: float
    done: int = 0


class Status:
    """The status of one command; threads may announce to it."""

    def __init__(self, command: Callable[[], str], stream: TextIO) -> None:
        self._command, self._stream = command, stream
        self._live = is_terminal(stream)
        self._begin, self._what = time.monotonic(), ""
        self._loops: list[_Loop] = []
        self._lock, self._end, self._shown = threading.Lock(), threading.Event(), False

    def announce(self, what: str) -> None:
        """Take what the command does now."""
        self._what = what

    def count(self, turns: Iterable[Any], total: Optional[int] = None) -> Iterator[Any]:
        """Yield the turns of a loop, and count those that are done."""
        loop = _Loop(_find_length(turns) if total is None else total, time.monotonic())
        self._loops.append(loop)
        try:
            for turn in turns:
                yield turn
                loop.done += 1
        finally:
            if loop in self._loops:
                self._loops.remove(loop)

    def text(self, now: float) -> str:
        """Return the status in words."""
        parts, left = [self._what] if self._what else [], None
        for loop in self._loops[-1:]:
            parts.append(f"{loop.done:,}" + (f" of {loop.total:,}" if loop.total else ""))
            if loop.total and loop.done:
                left = (now - loop.start) / loop.done * (loop.total - loop.done)
        parts.append(spell_seconds(now - self._begin))
        if left is not None:
            parts.append(f"{spell_seconds(left)} left")
        return printable(f"{self._command()}: {', '.join(parts)}")

    def clear(self) -> None:
        """Remove the line from the terminal, before another one is printed."""
        with self._lock:
            if self._shown:
                self._write(_ERASE)
                self._shown = False

    def show(self) -> None:
        """Show the status until stop()."""
        wait = FIRST if self._live else SELDOM
        while not self._end.wait(wait):
            text = self.text(time.monotonic())
            with self._lock:
                if self._live:
                    text = text[: shutil.get_terminal_size().columns - 1]
                    self._write(f"{_ERASE}{text}")
                    self._shown, wait = True, OFTEN
                else:
                    self._write(f"{text}\n")

    def stop(self) -> None:
        """End it."""
        self._end.set()
        self.clear()

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the reader is gone, or the stream closed
            self._end.set()


class _Printed:
    """The standard output on the same terminal: the status leaves before a line is printed."""

    def __init__(self, stream: TextIO, status: Status) -> None:
        self._stream, self._status = stream, status

    def write(self, text: str) -> int:
        """Write a text."""
        self._status.clear()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_current: Optional[Status] = None


@contextmanager
def shown_status(ctx: click.Context) -> Iterator[None]:
    """Show the status of a command of a group while it runs, unless --quiet is given."""
    global _current
    before, out = _current, sys.stdout
    _current = status = Status(lambda: ctx.invoked_subcommand or "qemu-nn", sys.stderr)
    if ctx.meta.get(QUIET):
        status.stop()
    if is_terminal(sys.stderr) and is_terminal(out):
        sys.stdout = cast("TextIO", _Printed(out, status))
    thread = threading.Thread(target=status.show, name="status", daemon=True)
    thread.start()
    try:
        with listening(status):
            yield
    finally:
        status.stop()
        sys.stdout, _current = out, before


def hide_status() -> None:
    """Show no status of this command any more: it is quiet, or runs until somebody ends it."""
    if _current is not None:
        _current.stop()


def clear_status() -> None:
    """Remove the line of the status from the terminal."""
    if _current is not None:
        _current.clear()


def spell_seconds(seconds: float) -> str:
    """Return a time in words: 12 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _find_length(turns: Iterable[Any]) -> Optional[int]:
    """Return the number of turns; None if it is not known."""
    try:
        return len(turns)  # type: ignore[arg-type]
    except TypeError:
        return None
