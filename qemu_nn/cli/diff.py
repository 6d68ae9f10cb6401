"""The command diff: differences between two networks."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import click

from ..api.diff import diff as compared
from .options import PATH, form, parquet, show

#: The exit code where networks differ.
DIFFERS = 1


@click.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@form("json", "csv")
@parquet
@click.pass_context
def diff(
    ctx: click.Context, first: Path, second: Path, form: Optional[str], parquet: Optional[Path]
) -> None:
    """Say what two networks differ in: layers, formats, weights.

    Both are quantized, or both are float networks, of any file format. The exit code is 0 if they
    are the same, 1 if they differ.
    """
    found = compared(first, second)
    show(found, form, parquet)
    ctx.exit(0 if found.same else DIFFERS)
