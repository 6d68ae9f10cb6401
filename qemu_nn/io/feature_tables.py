"""Tables of features: CSV files and data frames, a row for each sample, with a column of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error
from . import files
from .labels import FILE_HEADS, LABEL_HEADS, TABLES, number_labels, read_table
from .sources import MemorySource, Source

#: Endings of tables of features; bytes read to recognize one.
_ENDINGS, _START = (".csv", ".tsv"), 2**16


@dataclass(frozen=True, eq=False)
class Features(MemorySource):
    """Features [N, F], and the label of each sample, if the table has a label column."""

    labels: Optional[Source] = None
    classes: tuple[str, ...] = ()


def is_frame(source: object) -> bool:
    """True if a value is a data frame of pandas or polars."""
    return all(hasattr(source, name) for name in ("columns", "to_numpy", "shape"))


def is_feature_table(path: Path) -> bool:
    """True if a file is a table of numbers, except its head and its labels."""
    if path.suffix.lower() not in _ENDINGS or not path.is_file():
        return False
    start = files.read_start(path, _START)
    separator = TABLES[path.suffix.lower()]
    lines = start.decode("utf-8-sig", "replace").splitlines()
    rows = [[cell.strip(' "') for cell in line.split(separator)] for line in lines if line.strip()]
    if not rows:
        return False
    head = not all(map(_is_number, rows[0]))
    names = [cell.lower() for cell in rows[0]] if head else []
    if set(names).intersection(FILE_HEADS) or len(rows) < 1 + head:
        return False
    label = _label_column(names)
    cells = [cell for number, cell in enumerate(rows[int(head)]) if number != label]
    return bool(cells) and all(map(_is_number, cells))


def read_features(path: Path) -> Features:
    """Return the features of a table, and its labels if the first line names such a column.

    Raises Error, with the line, for a cell that is not a number.
    """
    rows = read_table(path)
    names: list[str] = []
    if not all(map(_is_number, rows[0][1])):
        names, rows = [cell.lower() for cell in rows[0][1]], rows[1:]
    label = _label_column(names)
    width = len(names) or len(rows[0][1])
    features, labels = [], []
    for line, row in rows:
        if len(row) != width:
            raise Error(
                f"{path}, line {line} has {len(row)} cells, but the first line has {width}: "
                "give all lines as many"
            )
        cells = [cell for number, cell in enumerate(row) if number != label]
        wrong = next((cell for cell in cells if not _is_number(cell)), None)
        if wrong is not None:
            raise Error(
                f"{path}, line {line} has the cell {wrong!r}; cells must be numbers: correct "
                "it, or name the columns in a first line"
            )
        features.append([float(cell) for cell in cells])
        if label is not None:
            labels.append(row[label])
    return _features(np.array(features), labels if label is not None else None, path.name)


def frame_features(frame: Any) -> Features:
    """Return the features of a data frame, and its labels if it has such a column.

    Raises Error for a column without numbers.
    """
    names = [str(name) for name in frame.columns]
    label = _label_column([name.lower() for name in names])
    columns = [np.asarray(frame[name]) for name in frame.columns]
    own = [column for number, column in enumerate(columns) if number != label]
    for name, column in zip(names, columns):
        if name != (None if label is None else names[label]) and column.dtype.kind not in "fiub":
            raise Error(
                f"the column {name!r} of the data frame is {column.dtype}; features must be "
                "numbers: convert or drop it"
            )
    if not own:
        raise Error("the data frame has labels alone; add a column for each feature")
    labels = None if label is None else columns[label].tolist()
    return _features(np.stack(own, axis=1), labels, "the data frame")


def _features(values: np.ndarray, labels: Optional[Sequence[Any]], what: str) -> Features:
    if labels is None:
        return Features(values, what)
    texts = [str(label) for label in labels]
    if all(map(_is_number, texts)):
        numbers = np.array([float(text) for text in texts])
        whole = bool((numbers == np.rint(numbers)).all())
        return Features(values, what, MemorySource(numbers.astype(np.int64) if whole else numbers))
    codes, classes = number_labels(texts)
    return Features(values, what, MemorySource(codes), classes)


def fit_shape(found: Features, shape: tuple[int, ...]) -> Features:
    """Return features in the shape of a network's samples, if their number fits.

    Raises Error for one surplus column, such as labels without a name.
    """
    count = found.array.shape[1]
    if count == math.prod(shape) + 1 and found.labels is None:
        raise Error(
            f"{found.label} has {count} columns, but the network takes {count - 1} numbers: give "
            "the columns names in a first line, and call the one with the labels 'label'"
        )
    if count != math.prod(shape):
        return found
    values = found.array.reshape(len(found.array), *shape)
    return Features(values, found.label, found.labels, found.classes)


def _label_column(names: Sequence[str]) -> Optional[int]:
    """Return the column of labels by the names of all columns, in small letters."""
    return next((number for number, name in enumerate(names) if name in LABEL_HEADS), None)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
