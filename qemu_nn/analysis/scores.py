"""Table of the best classes of each sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import Error, printable
from .table import Cell, Table


def list_best_classes(
    scores: Mapping[str, np.ndarray], classes: Sequence[str] = (), top: int = 5, samples: int = 20
) -> Table:
    """Return the best classes of the first samples, best first; of equals the first.

    scores: floats [N, ...] by output. The last output has a score for each class; of a recurrent
    network, the last time step counts. classes: their names, else numbers. Raises Error if the
    numbers of names and scores differ, or the scores are not of classes.
    """
    name, values = list(scores.items())[-1]
    if _is_vector(values.shape[1:]):
        last = values.reshape(len(values), math.prod(values.shape[1:]))
    elif values.ndim > 2 and values.shape[1] and _is_vector(values.shape[2:]):
        last = values[:, -1].reshape(len(values), math.prod(values.shape[2:]))
    else:
        shape = list(values.shape[1:])
        raise Error(
            f"the output {name!r} has the shape {shape}, but must have a score for each class"
        )
    count = last.shape[1]
    if classes and len(classes) != count:
        raise Error(
            f"there are {len(classes)} class names for {count} scores in {name!r}: give one "
            "name for each score"
        )
    names = [printable(each) for each in classes] or [str(each) for each in range(count)]
    rows: list[tuple[Cell, ...]] = []
    for sample, row in enumerate(last[:samples]):
        for rank, index in enumerate(np.argsort(-row, kind="stable")[:top], 1):
            number = sample if rank == 1 else None
            rows.append((number, rank, names[index], float(f"{row[index]:.6g}")))
    return Table(("sample", "rank", "class", "score"), tuple(rows))


def _is_vector(shape: tuple[int, ...]) -> bool:
    """True if one axis has all elements."""
    return bool(shape) and max(shape) == math.prod(shape)
