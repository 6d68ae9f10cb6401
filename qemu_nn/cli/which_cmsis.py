"""The command that names the release of CMSIS-NN in a source tree or a built file."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import click

from ..api.which_cmsis import cmsis_of
from ..targets import DEFAULT_CORE
from .options import PATH, form, say


@click.command("which-cmsis")
@click.argument("path", type=PATH)
@click.option("--network", type=PATH, help="Name the layers of this network that differ.")
@click.option("--target", default=DEFAULT_CORE, show_default=True, help="Device of --network.")
@form("json")
def which_cmsis(path: Path, network: Optional[Path], target: str, form: Optional[str]) -> None:
    """Name the release of CMSIS-NN in PATH.

    PATH is a source tree, arm_nnfunctions.h, a library (.a) or a program with symbols. The files
    are compared with those of 57 states, without comments, includes and white space.
    """
    say(getattr(cmsis_of(path, network, target), form or "text")())
