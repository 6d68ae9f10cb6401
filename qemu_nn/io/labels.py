"""Labels of samples: numbers or names of classes, from arrays and from files."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error
from . import files
from .arguments import as_array, as_path, format_value
from .mapped import map_npy, map_npz, map_shards
from .sources import MemorySource, Source

#: Most bytes of a table.
_LIMIT = 2**28

#: Most bytes of a list of names.
_MOST_NAMES = 2**24

#: Endings of tables, and the separator of their columns.
TABLES = {".csv": ",", ".tsv": "\t", ".txt": "\n"}

#: Heads of columns, in small letters.
FILE_HEADS = ("file", "filename", "file_name", "filepath", "path", "image", "wav")
LABEL_HEADS = ("label", "labels", "class", "classes", "category", "target", "y")

#: The cells of a row, and the number of its line.
Row = tuple[int, list[str]]


def read_labels(given: Any) -> tuple[Source, tuple[str, ...]]:
    """Return the label of every sample, and the names of classes if the labels are names.

    given: an array of integers, or the path of a .npy file, of a .npz file with y, of a folder of
    .npy files, or of a text file or table with a line for each sample. Raises Error for further
    types.
    """
    if not isinstance(given, (str, os.PathLike)):
        labels = as_array(given, "labels")
        if labels.ndim == 1 and labels.dtype.kind == "U":
            labels, classes = number_labels(labels.tolist())
            return MemorySource(labels), classes
        return MemorySource(labels), ()
    path = as_path(given, "labels")
    try:
        if path.is_dir():
            return map_shards(path), ()
        if path.suffix.lower() in TABLES:
            return _read_label_column(path)
        if path.suffix.lower() == ".npy":
            return map_npy(path), ()
        arrays = map_npz(path)
    except OSError as error:
        raise Error(f"cannot read {path}: {files.get_reason(error)}") from None
    if "y" in arrays or len(arrays) == 1:
        return arrays.get("y", next(iter(arrays.values()))), ()
    raise Error(f"{path} has {', '.join(arrays) or 'no arrays'}; name the labels 'y'")


def read_classes(given: Any) -> tuple[str, ...]:
    """Return the names of all classes in order.

    given: a sequence of names, a file with a name in each line, or a folder with a folder for each
    class, sorted by name.
    """
    if isinstance(given, (list, tuple, np.ndarray)):
        if not all(isinstance(name, str) for name in given) or len({*given}) < len(given):
            raise Error(f"classes must be names, each once, not {format_value(given)}")
        return tuple(map(str, given))
    path = as_path(given, "classes")
    if path.is_dir():
        return tuple(sorted(each.name for each in path.iterdir() if each.is_dir()))
    with files.open_regular(path) as file:
        text = file.read(_MOST_NAMES + 1)
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Error(f"{path} is not a text of names in UTF-8: save it as one") from None
    if len(text) > _MOST_NAMES or not lines:
        raise Error(f"{path} must have one name a line, and at most 16 MiB")
    return tuple(line.strip() for line in lines)


def _read_label_column(path: Path) -> tuple[Source, tuple[str, ...]]:
    """Return the labels of a table with a single column, or with a head that names the column."""
    rows = read_table(path)
    column = find_head(rows, LABEL_HEADS)
    if column is not None:
        rows = rows[1:]
    for line, row in rows:
        if column is None and len(row) > 1:
            raise Error(
                f"{path}, line {line} has {len(row)} columns: give one with the label of each "
                f"sample, or a first line that calls one 'label'"
            )
    numbers, classes = number_labels([get_cell(row, column or 0, path, line) for line, row in rows])
    return MemorySource(numbers, path.name), classes


def read_table(path: Path) -> list[Row]:
    """Return the nonempty rows of a table; raise Error if it is not a table."""
    data = files.read_bytes(path, _LIMIT)
    try:
        lines = data.decode("utf-8-sig").splitlines()
        reader = csv.reader(lines, delimiter=TABLES.get(path.suffix.lower(), ","))
        rows = [(reader.line_num, [text.strip() for text in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise Error(f"{path} is not a table of text in UTF-8: {error}") from None
    rows = [(line, row) for line, row in rows if any(row)]
    if not rows:
        raise Error(f"{path} is empty; it must have a line for each sample")
    return rows


def find_head(rows: Sequence[Row], words: Sequence[str]) -> Optional[int]:
    """Return the column with one of these words in the first row, if any."""
    cells = [text.lower() for text in rows[0][1]]
    return next((number for number, text in enumerate(cells) if text in words), None)


def get_cell(row: Sequence[str], column: int, path: Path, line: int) -> str:
    """Return a cell; raise Error if it is missing."""
    if column >= len(row) or not row[column]:
        raise Error(
            f"{path}, line {line} has nothing in column {column + 1}; it must have a label there"
        )
    return row[column]


def number_labels(labels: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return labels as integers [N]; for names, their positions among the sorted names, and these
    names.
    """
    if all(re.fullmatch(r"[+-]?[0-9]{1,18}", label) for label in labels):
        return np.array([int(label) for label in labels], np.int64), ()
    classes = tuple(sorted(set(labels)))
    places = {name: place for place, name in enumerate(classes)}
    return np.array([places[label] for label in labels], np.int64), classes
