"""Outputs of a run as rows: all for programs, the first or best ones for people."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Optional

import numpy as np

from .scores import list_best_classes
from .table import Cell, Table, escape_formula
from .task_type import infer_kind

Arrays = Mapping[str, np.ndarray]

#: Samples that are listed, values that are listed of each, significant digits of a value.
SAMPLES, _VALUES, _DIGITS = 20, 5, 4


def output_values(
    outputs: Arrays,
    with_values: bool = True,
    layouts: Optional[Mapping[str, Optional[str]]] = None,
) -> list[dict[str, object]]:
    """Return a dictionary for each output: name, type, shape, layout, and its values.

    outputs: arrays [N, ...] by name. with_values: otherwise the values are None. layouts: of
    images.
    """
    return [
        {
            "name": name,
            "dtype": array.dtype.name,
            "shape": list(array.shape),
            "layout": (layouts or {}).get(name),
            "values": array.tolist() if with_values else None,
        }
        for name, array in outputs.items()
    ]


def outputs_csv(outputs: Arrays) -> str:
    """Return a line for each sample and a column for each value, such as softmax[3].

    outputs: arrays [N, ...] by name.
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    columns = (label for name, array in outputs.items() for label in _labels(name, array.shape[1:]))
    writer.writerow(["sample", *map(escape_formula, columns)])
    for number in range(_count(outputs)):
        values = (array[number].ravel().tolist() for array in outputs.values())
        writer.writerow([number, *(value for part in values for value in part)])
    return out.getvalue().rstrip("\n")


def show_outputs(
    scores: Arrays, start: Sequence[int], classes: Sequence[str] = (), top: int = 3
) -> Table:
    """Return the best classes of the first samples, or the first values if there are no classes.

    Parameters
    ----------
    scores : mapping of str to ndarray of float, shape (N, ...)
        What the outputs stand for.
    start : sequence of int
        The shape of one input: an output of this shape is a reconstruction, not scores.
    classes : sequence of str
        The names of the classes; without them classes are numbers.
    top : int, default 3
        How many classes to list of each sample.

    Returns
    -------
    Table
        The best classes with their scores, or the first values of each output.
    """
    last = list(scores.values())[-1]
    shape = last.shape[1:]
    labelled = infer_kind(None, tuple(start), shape, None) == "classifier" and math.prod(shape) > 1
    if len(scores) == 1 and labelled:
        fitting = classes if len(classes) == math.prod(shape) else ()
        return list_best_classes(scores, fitting, min(top, math.prod(shape)), SAMPLES)
    rows = tuple(
        (number, name, _words(array[number]))
        for number in range(min(SAMPLES, _count(scores)))
        for name, array in scores.items()
    )
    return Table(("sample", "output", "values"), rows)


def _count(outputs: Arrays) -> int:
    return min(map(len, outputs.values()), default=0)


def _labels(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Yield a name for each value of an array."""
    if math.prod(shape) == 1:
        yield name
        return
    for index in np.ndindex(*shape):
        yield f"{name}[{','.join(map(str, index))}]"


def _words(values: np.ndarray) -> Cell:
    """Return the first values of an array, and their total number."""
    shown = ", ".join(f"{value:.{_DIGITS}g}" for value in values.ravel()[:_VALUES].tolist())
    return shown if values.size <= _VALUES else f"{shown}, ... ({values.size:,})"
