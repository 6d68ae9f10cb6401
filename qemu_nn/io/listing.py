"""Files that are samples, and their classes, from a folder or a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np

from ..errors import Error
from .labels import FILE_HEADS, LABEL_HEADS, TABLES, find_head, get_cell, number_labels, read_table
from .sources import MemorySource, Source


@dataclass(frozen=True, eq=False)
class Listing:
    """Files in order, the class number of each, and the names of the classes."""

    files: tuple[Path, ...]
    numbers: Optional[np.ndarray] = None
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FileSource(Source):
    """Samples in one file each; a pickle contains their paths."""

    listing: Listing

    def __len__(self) -> int:
        return len(self.listing.files)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.listing.classes

    @property
    def labels(self) -> Optional[Source]:
        """The class of each sample."""
        return None if self.listing.numbers is None else MemorySource(self.listing.numbers)

    def name(self, number: int) -> str:
        """Return the name of a sample in error messages."""
        return f"sample {number} of the data ({self.listing.files[number]})"


def list_files(path: Path, endings: Sequence[str], what: str) -> Listing:
    """Return the files with these endings in a folder, or of a table; what: their kind, for
    messages.

    A table in the folder lists files and classes; without one, subfolders are the classes. Raises
    Error if there are none.
    """
    if path.suffix.lower() in TABLES and not path.is_dir():
        return _list_table_files(path, path.parent)
    if not path.is_dir():
        return Listing((path,))
    entries = sorted(path.iterdir())
    tables = [entry for entry in entries if entry.suffix.lower() in (".csv", ".tsv")]
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        raise Error(f"{path} contains several tables ({names}): give one of them as the data")
    if tables:
        return _list_table_files(tables[0], path)
    classes = [entry for entry in entries if entry.is_dir() and entry.name[0] != "."]
    beside = _get_ending(entries, endings)
    folders = [_get_ending(folder.iterdir(), endings) for folder in classes]
    labels, class_names = number_labels([folder.name for folder in classes])
    found = [(file, label) for label, inside in zip(labels, folders) for file in inside]
    if beside and found:
        raise Error(
            f"{path} contains {what} next to folders of them: put each into the folder of its class"
        )
    if not beside and not found:
        arrays = [entry.name for entry in entries if entry.suffix.lower() == ".npz"]
        hint = f"; name a file in it: {', '.join(arrays[:3])}" if arrays else ""
        raise Error(f"{path} contains no {what}, which end in {', '.join(endings)}{hint}")
    if beside:
        return Listing(tuple(beside))
    numbers = np.array([label for _, label in found], np.int64)
    return Listing(tuple(file for file, _ in found), numbers, class_names)


def _get_ending(entries: Iterable[Path], endings: Sequence[str]) -> list[Path]:
    return sorted(entry for entry in entries if entry.suffix.lower() in endings)


def _list_table_files(table: Path, folder: Path) -> Listing:
    """Return the files and labels of a table; its paths are relative to the folder."""
    rows = read_table(table)
    file, label = find_head(rows, FILE_HEADS), find_head(rows, LABEL_HEADS)
    if file is not None:
        rows = rows[1:]
    else:
        file, label = 0, 1 if len(rows[0][1]) > 1 else None
    found: list[Path] = []
    for line, row in rows:
        found.append(folder / get_cell(row, file, table, line))
        if not found[-1].is_file():
            raise Error(
                f"{table}, line {line} names the file {found[-1]}, which does not exist: "
                "correct the path"
            )
    if not found:
        raise Error(f"{table} names no files; it must have a line for each")
    if label is None:
        return Listing(tuple(found))
    return Listing(
        tuple(found), *number_labels([get_cell(row, label, table, line) for line, row in rows])
    )
