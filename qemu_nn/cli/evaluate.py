"""The command evaluate: accuracy of a network on data."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Optional

import click

from ..analysis.task_type import KINDS
from ..api.data import Dataset
from ..api.evaluate import evaluate as evaluated
from ..api.network import load
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, cluster, device, form, progress, say, threads, variant


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
    return cluster(form("json", "csv")(threads(verb)))


@click.command()
@click.argument("model", type=PATH)
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
def evaluate(model: Path, data: tuple[str, ...], form: Optional[str], **how: Any) -> None:
    """Say how well MODEL does on data.

    Accuracy or errors, per class and per profile, and agreement with the float network.

    MODEL is quantized or float. Labels are classes, values, or for an autoencoder 0 and 1.
    """
    network = load(model)
    report(network, dataset(network, data, how), form, **how)


def report(
    network: Any, data: Dataset, form: Optional[str], top: tuple[int, ...], **how: Any
) -> None:
    """Evaluate, and print what came out."""
    found = evaluated(network, data, top=top or (1, 5), progress=progress, **how)
    say(getattr(found, form or "text")())
