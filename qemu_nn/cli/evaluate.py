"""The command evaluate: accuracy of a network on data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Optional

import click

from ..analysis.evaluation import side_by_side
from ..analysis.task_type import KINDS
from ..api.data import Dataset
from ..api.evaluate import evaluate as evaluated
from ..api.golden import describe
from ..api.network import Network, load
from ..targets import Target
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, cluster, device, form, parquet, progress, say, show, threads, variant


def figures(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the options of an evaluation, whatever kind of network it is of."""
    for option in (
        click.option("--output", metavar="NAME", help="Output, if there are several."),
        click.option(
            "--top",
            type=click.IntRange(1),
            multiple=True,
            help="Count labels among so many largest scores; give it again.  [default: 1, 5]",
        ),
        click.option(
            "--kind", type=click.Choice(KINDS), help="What the outputs are, if labels do not tell."
        ),
    ):
        verb = option(verb)
    return cluster(form("json", "csv")(parquet(threads(verb))))


@click.command()
@click.argument("model", type=PATH, nargs=-1, required=True, metavar="MODEL...")
@data_option("Test data")
@reading
@click.option(
    "--profiles", default="", metavar="NAME,...", help="Other targets to compare with, or all."
)
@click.option(
    "--reference/--no-reference",
    default=True,
    show_default=True,
    help="Compare with the float network, too.",
)
@figures
@variant
@device
def evaluate(
    model: tuple[Path, ...], data: tuple[str, ...], form: Optional[str], **how: Any
) -> None:
    """Say how well MODEL does on data.

    Accuracy or errors, per class and per profile, and agreement with the float network. Several
    MODELs give one table, with flash and RAM.

    MODEL is quantized or float. Labels are classes, values, or for an autoencoder 0 and 1.
    """
    if len(model) > 1:
        _report_several(model, data, form, how)
        return
    network = load(model[0])
    report(network, dataset(network, data, how), form, **how)


def _report_several(
    models: Sequence[Path], data: Sequence[str], form: Optional[str], how: Mapping[str, Any]
) -> None:
    """Evaluate several networks on the same data, and print a row for each."""
    found = []
    for path in models:
        network, own = load(path), dict(how)
        samples, top = dataset(network, data, own), own.pop("top") or (1, 5)
        own.pop("parquet")
        evaluation = evaluated(network, samples, top=top, progress=progress, **own)
        found.append((str(path), evaluation, _memory(network, own["target"])))
    if form == "json":
        said = [{"model": name, **each.to_dict()} for name, each, _ in found]
        say(json.dumps(said, indent=2))
        return
    show(side_by_side(found), form, how["parquet"])


def _memory(network: Any, target: Target) -> tuple[Optional[int], Optional[int]]:
    """Return bytes of flash and RAM on a device; None for a float network."""
    if not isinstance(network, Network):
        return None, None
    facts = describe(network, target).facts
    flash, ram = facts["weight_bytes"], facts["activation_bytes"]
    assert isinstance(flash, int)
    assert isinstance(ram, int)
    return flash, ram


def report(
    network: Any,
    data: Dataset,
    form: Optional[str],
    top: tuple[int, ...],
    parquet: Optional[Path] = None,
    **how: Any,
) -> None:
    """Evaluate, and print what came out."""
    found = evaluated(network, data, top=top or (1, 5), progress=progress, **how)
    show(found, form, parquet)
