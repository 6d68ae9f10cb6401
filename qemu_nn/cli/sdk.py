"""The command of C applications that run packed networks: sdk."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import click

from ..analysis.table import json_text
from ..errors import Error
from ..io.csrc_files import get_folder
from .options import say


def _sources() -> list[Path]:
    """Return what an application compiles: the library, and the plain kernels that it calls."""
    core = get_folder()
    return sorted([*(core / "sdk").glob("*.c"), *(core / "wuqi").glob("*_ref.c")])


@click.command()
@click.option(
    "--sources", "what", flag_value="sources", help="Print the C files, one on each line."
)
@click.option("--include", "what", flag_value="include", help="Print the folder of wq_cnn.h.")
@click.option("--cflags", "what", flag_value="cflags", help="Print the flags for the compiler.")
@click.option("--libs", "what", flag_value="libs", help="Print the flags for the linker.")
@click.option("--json", "what", flag_value="json", help="Print all of them as JSON.")
def sdk(what: Optional[str]) -> None:
    """Print the C files and flags of the library for NPU packs.

    `cc app.c $(qemu-nn sdk --sources) $(qemu-nn sdk --cflags) -o app`
    builds an application.
    """
    include = str(get_folder() / "sdk")
    answers = {
        "sources": [str(path) for path in _sources()],
        "include": include,
        "cflags": ["-std=c11", "-O2", "-pthread", f"-I{include}"],
        "libs": ["-pthread"],
    }
    if what is None:
        raise Error(f"choose what to print: --{', --'.join(answers)}, or --json for all")
    if what == "json":
        say(json_text(answers))
        return
    answer = answers[what]
    gap = "\n" if what == "sources" else " "
    click.echo(answer if isinstance(answer, str) else gap.join(answer))
