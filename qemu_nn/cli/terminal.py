"""Printed lines of the command line: no control characters, colours where a terminal has them."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from typing import Any, TextIO

import click

from ..errors import printable
from ..io.terminal import has_colours
from .status import clear_status

#: Pattern -> how its text looks: heads of tables, verdicts at the beginning of a line.
_STYLES: tuple[tuple[re.Pattern[str], dict[str, Any]], ...] = (
    (re.compile(r"^.*(?=\n-+(?:  -+)*$)", re.MULTILINE), {"bold": True}),
    (re.compile(r"^(?:DIFFERS|GONE|FAIL|Error:)", re.MULTILINE), {"fg": "red", "bold": True}),
    (re.compile(r"^warning:", re.MULTILINE), {"fg": "yellow", "bold": True}),
    (re.compile(r"^same(?= )", re.MULTILINE), {"fg": "green"}),
)


def say(text: str, err: bool = False) -> None:
    """Print lines, without characters that would control the terminal.

    A command continues if the reader of its output is gone, so its exit code stays the verdict.
    """
    clear_status()
    stream = sys.stderr if err else sys.stdout
    shown = printable(text, kept="\n\t")
    if has_colours(stream):
        shown = coloured(shown)
    try:
        click.echo(shown, err=err)
    except BrokenPipeError:
        discard_output(stream)


def coloured(text: str) -> str:
    """Return lines with escape sequences for heads of tables and verdicts."""
    for pattern, style in _STYLES:
        text = pattern.sub(partial(_styled, style), text)
    return text


def _styled(style: dict[str, Any], found: re.Match[str]) -> str:
    return click.style(found[0], **style)


def discard_output(stream: TextIO) -> None:
    """Send what is printed to a stream, and what its buffer holds, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
