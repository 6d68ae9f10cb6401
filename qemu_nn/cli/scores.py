"""Real scores of a run: the options that ask for them, and the table that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Callable, Optional

import click
import numpy as np

from ..analysis.outputs import SAMPLES
from ..analysis.scores import list_best_classes
from ..errors import Error
from ..ir.graph import Graph
from .options import say

#: Classes that are listed of each sample.
_TOP = 5


def real_scores(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the options that ask for real scores and for the best classes."""
    verb = click.option(
        "--top",
        type=click.IntRange(1),
        metavar="N",
        help=f"List the N best classes of each sample.  [default: {_TOP}]",
    )(verb)
    return click.option(
        "--real", is_flag=True, help="Give real scores, and list the best classes of each sample."
    )(verb)


def say_best(
    graph: Graph,
    scores: Mapping[str, np.ndarray],
    top: Optional[int],
    classes: Optional[Sequence[str]],
) -> None:
    """List the best classes of each sample, where the real scores are scores of classes.

    top, classes: what the options say; Error where they do not fit the scores.
    """
    names = graph.classes if classes is None else classes
    try:
        table = list_best_classes(scores, names, top or _TOP, SAMPLES)
    except Error:
        if top is None and classes is None:
            return
        raise
    say(f"{table.text()}\n")
    say_rest(len(next(iter(scores.values()))))


def say_rest(samples: int) -> None:
    """Say how many samples a list of the first ones leaves out."""
    left = samples - SAMPLES
    if left > 0:
        say(f"and {left} samples more; --output writes all scores\n")
