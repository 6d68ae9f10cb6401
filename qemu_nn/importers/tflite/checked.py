"""A FlatBuffers file read without trust: every offset is checked before it is followed.

The classes of the library `tflite` know the slot of each field; they read through `Bytes`, which
stands where the library has a reader that checks nothing.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ...io import optional_deps
from ..flatbuffer import Bytes, damaged

_PURPOSE = "reading .tflite files"


def library(name: str) -> Any:
    """The class of the library `tflite` with this name; Error where the library is missing."""
    optional_deps.require("flatbuffers", "tflite", _PURPOSE)
    return getattr(optional_deps.require(f"tflite.{name}", "tflite", _PURPOSE), name)


class Table:
    """A table of the file, whose fields are asked for by the library's names. data: the file.

    Raises ModelError for whatever does not lie in the file. Fields that are missing have the
    schema's defaults.
    """

    def __init__(self, kind: str, data: bytes, position: int) -> None:
        self._reader = library(kind)()
        self._reader._tab = Bytes(kind, data, position)
        self._kind, self.data = kind, data

    @classmethod
    def root(cls, kind: str, data: bytes) -> Table:
        """The table that a file begins with."""
        if len(data) < 8:
            raise damaged(kind)
        return cls(kind, data, struct.unpack_from("<I", data)[0])

    def number(self, field: str) -> Any:
        """A number or a truth value."""
        return getattr(self._reader, field)()

    def text(self, field: str) -> str:
        """Text; "" if there is none."""
        found = getattr(self._reader, field)()
        return "" if found is None else bytes(found).decode(errors="replace")

    def numbers(self, field: str) -> np.ndarray:
        """A vector of numbers, as a view of the file."""
        if not self.count(field):
            return np.empty(0, np.int64)
        found: np.ndarray = getattr(self._reader, f"{field}AsNumpy")()
        return found

    def table(self, field: str, kind: str) -> Table | None:
        """A table in a field; None if there is none."""
        found = getattr(self._reader, field)()
        return None if found is None else self._at(found, kind)

    def count(self, field: str) -> int:
        """Elements of a vector."""
        found: int = getattr(self._reader, f"{field}Length")()
        return found

    def member(self, field: str, kind: str, index: int) -> Table:
        """One table of a vector, the index being inside it."""
        return self._at(getattr(self._reader, field)(index), kind)

    def _at(self, found: Any, kind: str) -> Table:
        tab = getattr(found, "_tab", found)  # a union comes as a bare reader
        return Table(kind, self.data, tab.Pos)
