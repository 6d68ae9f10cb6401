"""Options that several verbs of the command line share."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import click

from .targets import DEFAULT_CORE

PATH = click.Path(path_type=Path)

variant = click.option("--variant", help="Run this row of the kernel table wherever it exists.")
state = click.option("--state", type=PATH, help="Start of a recurrent network: [N, *shape].")


def device(verb: Callable[..., None]) -> Callable[..., None]:
    """The options that say whose arithmetic it is: target, cmsis, rounding."""
    for name, default, text in (
        ("--rounding", None, "nearest or truncate (ARM_NN_TRUNCATE); s8: double or single."),
        ("--cmsis", None, "CMSIS release: 5.6.0, 5.9.0; 7.0.0 (s8).  [default: the newest]"),
        ("--target", DEFAULT_CORE, "Core, such as cortex-m3, or its path: scalar, dsp."),
    ):
        verb = click.option(name, default=default, show_default=True, help=text)(verb)
    return verb


def form(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--json or --csv instead of text for a terminal."""

    def add(verb: Callable[..., None]) -> Callable[..., None]:
        for name in reversed(names):
            help_text = f"Print {name.upper()}."
            verb = click.option(f"--{name}", "form", flag_value=name, help=help_text)(verb)
        return verb

    return add
