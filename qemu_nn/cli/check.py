"""The command check: the networks that a device can run, and reasons against the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import click

from ..api import check as checking
from ..api import recompute as recomputing
from ..api.network import load_quantized
from ..errors import Error, printable
from ..targets import Target
from .options import PATH, device, form, progress, say

#: The exit code where a network does not run.
DOES_NOT_RUN = 1


@click.command()
@click.argument("models", type=PATH, nargs=-1, required=True, metavar="MODEL|FOLDER...")
@click.option(
    "--golden",
    type=PATH,
    metavar="FOLDER",
    help="Run the one MODEL again on the inputs of the golden sets in this folder, each on its "
    "own device; the exit code is 1, too, where bytes differ.",
)
@form("json", "csv")
@device
@click.pass_context
def check(
    ctx: click.Context,
    /,
    models: tuple[Path, ...],
    golden: Optional[Path],
    form: Optional[str],
    target: Target,
) -> None:
    """Say of each MODEL whether the device runs it, and why not.

    In a folder, .tflite, .pte and .qnz files and network.json are looked for. The exit code is 0 if
    all run, 1 if one does not.
    """
    one = len(models) == 1 and (models[0].is_file() or (models[0] / "network.json").is_file())
    if golden is not None and (form or not one):
        raise Error("--golden is of one MODEL, not of a folder of them, and is printed as text")
    checks = checking.check(models, target, progress)
    say(getattr(checks, form or "text")())
    good = checks.run
    if golden is not None and good:
        good = _goldens_are_the_same(models[0], golden)
    ctx.exit(0 if good else DOES_NOT_RUN)


def _goldens_are_the_same(model: Path, folder: Path) -> bool:
    """Say of each golden set what the model computes in another way today, if anything."""
    network, good = load_quantized(model), True
    for path in recomputing.golden_sets(folder):
        comparison = recomputing.recompute(network, path)
        for finding in comparison.findings:
            if not finding.same:
                say("\n".join(finding.lines()))
        for name in comparison.missing:
            say(
                f"GONE     {printable(name)}: the network has no such layer, or does not compute it"
            )
        good &= comparison.same and not comparison.missing
        say(f"{path}: {comparison.lines()[-1]}")
    return good
