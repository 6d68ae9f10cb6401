"""The commands that list what there is: chips, kernels."""

from __future__ import annotations

from typing import Optional

import click

from ..analysis.chip_table import make_chip_table
from ..analysis.kernel_table import make_kernel_table
from ..kernels.table import ROWS
from .options import form, say


@click.command()
@form("json", "csv")
def chips(form: Optional[str]) -> None:
    """List the chips that --target and --fit know.

    Each has its core, flash, RAM and the largest block of RAM in KiB, of the largest variant of its
    name, and its highest clock. source is the vendor's document, cross_check the public description
    that it was compared with. Flash is 0 where programs are outside of the chip.
    """
    say(getattr(make_chip_table(), form or "text")())


@click.command()
@form("json", "csv")
def kernels(form: Optional[str]) -> None:
    """List the kernels of every op, best first."""
    say(getattr(make_kernel_table(ROWS), form or "text")())
