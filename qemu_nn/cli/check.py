"""The command check: the networks that a device can run, and reasons against the rest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

import click

from ..analysis import junit as xml
from ..analysis.compare import Comparison
from ..analysis.table import json_text
from ..api import check as checking
from ..api.network import load_quantized
from ..errors import Error, printable
from ..io import files
from ..targets import Target
from .options import PATH, device, form, junit, progress, say

#: The exit code where a network does not run.
DOES_NOT_RUN = 1

#: Sentence about a golden whose layer the network lacks.
_GONE = "the network has no such layer, or does not compute it"


@click.command()
@click.argument("models", type=PATH, nargs=-1, required=True, metavar="MODEL|FOLDER...")
@click.option(
    "--golden",
    type=PATH,
    metavar="FOLDER",
    help="Run the one MODEL again on the inputs of the golden sets in this folder, each on its "
    "own device; the exit code is 1, too, where bytes differ.",
)
@click.option(
    "--releases", is_flag=True, help="Check all known states of CMSIS-NN, neighbors in one line."
)
@form("json", "csv")
@junit
@device
@click.pass_context
def check(
    ctx: click.Context,
    /,
    models: tuple[Path, ...],
    golden: Optional[Path],
    releases: bool,
    form: Optional[str],
    junit: Optional[Path],
    target: Target,
) -> None:
    """Say of each MODEL whether the device runs it, and why not.

    In a folder, .tflite, .lite, .pte and .qnz files and network.json are looked for. The exit code
    is 0 if all run, 1 if one does not.
    """
    one = len(models) == 1 and (models[0].is_file() or (models[0] / "network.json").is_file())
    if golden is not None and (form == "csv" or not one):
        raise Error("--golden needs one MODEL, no folder and no CSV")
    checks = checking.check(models, target, progress, releases)
    sets = _recompute(models[0], golden) if golden is not None and checks.run else {}
    good = checks.run and all(each.same and not each.missing for each in sets.values())
    if form == "json" and golden is not None:
        told = [{"folder": str(path), **found.to_dict()} for path, found in sets.items()]
        say(json_text({"same": good, "models": checks.to_list(), "golden_sets": told}))
    else:
        say(getattr(checks, form or "text")())
        _say_sets(sets)
    if junit is not None:
        suites = [(str(path), _cases(comparison)) for path, comparison in sets.items()]
        files.write_bytes(junit, xml.junit([("check", checks.cases()), *suites]).encode())
    ctx.exit(0 if good else DOES_NOT_RUN)


def _recompute(model: Path, folder: Path) -> dict[Path, Comparison]:
    """Return golden set -> what the model computes today next to it."""
    from ..api import recompute as recomputing

    network = load_quantized(model)
    return {p: recomputing.recompute(network, p) for p in recomputing.golden_sets(folder)}


def _say_sets(sets: Mapping[Path, Comparison]) -> None:
    """Say of each golden set what the model computes in another way today, if anything."""
    for path, comparison in sets.items():
        for finding in comparison.findings:
            if not finding.same:
                say("\n".join(finding.lines()))
        for name in comparison.missing:
            say(f"GONE     {printable(name)}: {_GONE}")
        say(f"{path}: {comparison.lines()[-1]}")


def _cases(comparison: Comparison) -> list[xml.Case]:
    """Return the cases of a golden set; a layer that is gone fails."""
    gone = [xml.Case(name, _GONE) for name in comparison.missing]
    return [case for case in comparison.cases() if not case.missing] + gone
