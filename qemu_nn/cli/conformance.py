"""The command that compares this host, or a device, with the conformance set."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click

from ..api import conformance as sets
from ..api.conformance_device import export_parts, run_on_device
from ..errors import Error
from ..targets import Target
from .options import PATH, form, progress, say

#: The exit code where an output differs.
DIFFERS = 1


@click.command()
@click.argument("names", nargs=-1, metavar="[CASE]...")
@click.option(
    "--cap",
    "capped",
    multiple=True,
    metavar="SET",
    help="Newest instruction set that this host may use, such as avx2, or none; give it again for "
    "more.  [default: each of this host]",
)
@click.option(
    "--on",
    metavar="WHERE",
    help="Run on a device instead: qemu:BOARD (m0, m3, m4, m7, m33, m55), serial:PORT@BAUD, "
    "tcp:HOST:PORT or command:PROGRAM.",
)
@click.option("--export", "exported", type=PATH, help="Write exports to flash into this folder.")
@click.option("--target", help="Core or chip of --export.")
@click.option("--cmsis", help="CMSIS release of qemu:BOARD or --export.  [default: 5.9.0, 7.0.0]")
@click.option("--rounding", help="Rounding of qemu:BOARD or --export; by default as Arm ships it.")
@click.option(
    "--make",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable for make of qemu:BOARD, such as CFLAGS=-Os; give it again for more.",
)
@click.option("--timeout", type=float, help="Seconds that the device may take for an answer.")
@click.option("--show", is_flag=True, help="Print the cases as JSON; run nothing.")
@click.option("--dump", type=PATH, help="Write the cases and their outputs into this folder.")
@form("json")
@click.pass_context
def conformance(
    ctx: click.Context,
    /,
    names: tuple[str, ...],
    capped: tuple[str, ...],
    on: Optional[str],
    exported: Optional[Path],
    target: Optional[str],
    show: bool,
    dump: Optional[Path],
    form: Optional[str],
    **how: Any,
) -> None:
    """Compare outputs with the conformance set.

    The set holds calls and small networks, and the SHA-256 of the outputs on each core, release and
    rounding. CASE is a name of the set or a pattern such as "arm_convolve_s8-*"; by default all
    run. They run on this host under each cap on instruction sets, or on a device. Exits with 1 if
    an output differs.
    """
    _check_options(bool(capped), on, exported, target, how)
    cases = sets.select(names)
    if show:
        say("\n".join(map(sets.show, cases)))
    elif dump is not None:
        say(f"{sets.dump(cases, dump)} cases written to {dump}")
    elif exported is not None:
        device = Target(target or "", how["cmsis"], how["rounding"])
        written = export_parts(cases, exported, device)
        say("\n".join(map(str, written)))
    else:
        if on is None:
            found = sets.run_on_host(cases, capped, progress)
        else:
            build = {name: how.pop(name) for name in ("cmsis", "rounding")}
            wanted = Target(**build) if any(build.values()) else None
            found = run_on_device(cases, on, wanted, **how, progress=progress)
        say(getattr(found, form or "text")())
        ctx.exit(0 if found.same else DIFFERS)


def _check_options(
    capped: bool,
    on: Optional[str],
    exported: Optional[Path],
    target: Optional[str],
    how: dict[str, Any],
) -> None:
    """Raise Error for options that do not go together."""
    if on is not None and (capped or exported is not None):
        raise Error("--on runs a device: leave --cap and --export out")
    if (exported is None) != (target is None):
        raise Error("--export FOLDER and --target CORE go together: give both, or neither")
    used = [f"--{name}" for name in ("make", "timeout") if how[name]]
    used += [f"--{name}" for name in ("cmsis", "rounding") if how[name] and exported is None]
    if on is None and used:
        raise Error(f"{used[0]} needs a device: give --on WHERE, too")
