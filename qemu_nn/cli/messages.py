"""Messages on stderr: warnings, and checks of inputs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import DeviceWarning, InputWarning
from ..runtime.input_checks import LOGGER
from .options import say
from .spelling import spelled


class _Lines(logging.Handler):
    """Log messages as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        say(record.getMessage(), err=True)


@contextmanager
def messages(ctx: click.Context) -> Iterator[None]:
    """Print each warning once, and the line on inputs that meet a network."""
    seen = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            say(f"warning: {spelled(str(message), ctx)}", err=True)

    handler, level = _Lines(), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            for kind in (DeviceWarning, InputWarning):
                warnings.simplefilter("always", kind)
            warnings.showwarning = show
            yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
