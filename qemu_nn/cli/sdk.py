"""The verb of C applications that run packed networks: sdk."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import click

from ..errors import Error


def _core() -> Path:
    """The C core: inside of the package where it is installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "csrc"
    core = inside if inside.is_dir() else package.parent / "csrc"
    if not (core / "sdk").is_dir():
        raise Error(f"the C files of the package are not at {core}: install it again")
    return core


def _sources() -> list[Path]:
    """What an application compiles: the library, and the plain kernels that it calls."""
    core = _core()
    return sorted([*(core / "sdk").glob("*.c"), *(core / "npu").glob("*_ref.c")])


@click.command()
@click.option("--sources", "what", flag_value="sources", help="The C files, one a line.")
@click.option("--include", "what", flag_value="include", help="The folder of wq_cnn.h.")
@click.option("--cflags", "what", flag_value="cflags", help="Flags for the compiler.")
@click.option("--libs", "what", flag_value="libs", help="Flags for the linker.")
def sdk(what: Optional[str]) -> None:
    """Print what C applications that run packs compile.

    `cc app.c $(qemu-nn sdk --sources) $(qemu-nn sdk --cflags) -o app` builds one.
    """
    include = str(_core() / "sdk")
    answers = {
        "sources": "\n".join(map(str, _sources())),
        "include": include,
        "cflags": f"-std=c11 -O2 -pthread -I{include}",
        "libs": "-pthread",
    }
    if what is None:
        raise Error(f"say what to print: --{', --'.join(answers)}")
    click.echo(answers[what])
