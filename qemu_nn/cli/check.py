"""The verb check: which networks a device runs, and why not."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import click
from tqdm import tqdm

from ..api import check as checking
from .options import PATH, device, form, say

#: The exit code where a network does not run.
DOES_NOT_RUN = 1


@click.command()
@click.argument("models", type=PATH, nargs=-1, required=True, metavar="MODEL|FOLDER...")
@form("json", "csv")
@device
@click.pass_context
def check(ctx: click.Context, models: tuple[Path, ...], form: Optional[str], **names: str) -> None:
    """Say of each MODEL whether the device runs it, and why not.

    In a folder, .tflite and .qnz files and network.json are looked for. The exit code is 0 if all
    run, 1 if one does not.
    """
    checks = checking.check(
        models, progress=lambda files: tqdm(files, disable=None, leave=False), **names
    )
    say(getattr(checks, form or "text")())
    ctx.exit(0 if checks.run else DOES_NOT_RUN)
