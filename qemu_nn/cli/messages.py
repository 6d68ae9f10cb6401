"""Messages on stderr: warnings, and with --verbose the checks of inputs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import DeviceWarning, InputWarning
from .spelling import spelled
from .status import QUIET, hide_status
from .terminal import say

#: The parent of all loggers of this package.
_LOGGER = logging.getLogger("qemu_nn")


class _Lines(logging.Handler):
    """Log messages as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        say(record.getMessage(), err=True)


def verbose() -> click.Option:
    """Return the option --verbose, which every command has."""

    def start(ctx: click.Context, param: click.Parameter, given: bool) -> None:
        if given:
            _LOGGER.setLevel(logging.INFO)

    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=start,
        help="Also print, on stderr, the range of the inputs and how many codes they use.",
    )


def quiet() -> click.Option:
    """Return the option --quiet, which every command has."""

    def stop(ctx: click.Context, param: click.Parameter, given: bool) -> None:
        if given:
            ctx.find_root().meta[QUIET] = True
            hide_status()

    return click.Option(
        ["--quiet"],
        is_flag=True,
        expose_value=False,
        callback=stop,
        help="Show no progress on stderr.",
    )


@contextmanager
def messages(ctx: click.Context) -> Iterator[None]:
    """Print each warning once, and what --verbose asks for."""
    seen = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            say(f"warning: {spelled(str(message), ctx)}", err=True)

    handler = _Lines()
    _LOGGER.addHandler(handler)
    try:
        with warnings.catch_warnings():
            for kind in (DeviceWarning, InputWarning):
                warnings.simplefilter("always", kind)
            warnings.showwarning = show
            yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(logging.NOTSET)
