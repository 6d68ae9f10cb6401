"""Real scores of a run: the options that ask for them, and the table that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Callable, Optional

import click
import numpy as np

from ..analysis.outputs import SAMPLES
from ..analysis.scores import list_best_classes
from ..errors import Error
from ..io import files
from ..ir.graph import Graph
from .options import PATH, say

#: Classes that are listed of each sample, most bytes of a list of names.
_TOP, _MOST = 5, 2**24


def real_scores(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the options that ask for real scores and for the best classes."""
    verb = click.option(
        "--classes",
        type=PATH,
        help="Names of the classes, one in each line, or a folder with a folder for each.",
    )(verb)
    verb = click.option(
        "--top",
        type=click.IntRange(1),
        metavar="N",
        help=f"List the N best classes of each sample.  [default: {_TOP}]",
    )(verb)
    return click.option(
        "--real", is_flag=True, help="Give real scores, and list the best classes of each sample."
    )(verb)


def read_classes(path: Path) -> tuple[str, ...]:
    """Return names of classes: the lines of a file, or the folders of a folder, sorted."""
    if path.is_dir():
        return tuple(sorted(each.name for each in path.iterdir() if each.is_dir()))
    with files.open_regular(path) as file:
        text = file.read(_MOST + 1)
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Error(f"{path} is not a text of names in UTF-8") from None
    if len(text) > _MOST or not lines:
        raise Error(f"{path} must hold a name in each line, and 16 MiB at most")
    return tuple(line.strip() for line in lines)


def say_best(
    graph: Graph, scores: Mapping[str, np.ndarray], top: Optional[int], classes: Optional[Path]
) -> None:
    """List the best classes of each sample, where the real scores are scores of classes.

    top, classes: what the options say; Error where they do not fit the scores.
    """
    names = graph.classes if classes is None else read_classes(classes)
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
