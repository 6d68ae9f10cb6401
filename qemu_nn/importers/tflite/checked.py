"""Tables of an untrusted FlatBuffers file: every offset is checked before use.

The classes of the library `tflite` know the slot of each field. They read through `Bytes`, because
the library's own reader checks no offset.
"""

from __future__ import annotations

import importlib
import struct
from functools import cache
from typing import Any

import numpy as np

from ..flatbuffer import Bytes, make_damage_error


@cache
def library(name: str) -> Any:
    """Return the class of this name in the library `tflite`."""
    return getattr(importlib.import_module(f"tflite.{name}"), name)


class TfliteTable:
    """A table of the file, with the library's names for its fields. data: the file's bytes.

    Methods raise ModelError for an offset outside of the file. Missing fields have the schema's
    defaults.
    """

    def __init__(self, kind: str, data: bytes, position: int) -> None:
        self._reader = library(kind)()
        self._reader._tab = Bytes(kind, data, position)
        self._kind, self.data = kind, data

    @classmethod
    def root(cls, kind: str, data: bytes) -> TfliteTable:
        """Return the root table of a file."""
        if len(data) < 8:
            raise make_damage_error(kind)
        return cls(kind, data, struct.unpack_from("<I", data)[0])

    def number(self, field: str) -> Any:
        """Return a number or a boolean."""
        return getattr(self._reader, field)()

    def slot(self, slot: int, form: str) -> int:
        """Return the number in a slot of the schema that the library hides or lacks; 0 if missing.

        form: type of the number for `struct`.
        """
        tab = self._reader._tab
        found = tab.Offset(slot)
        return int(tab.unpack(form, tab.Pos + found)) if found else 0

    def slot_table(self, slot: int, kind: str) -> Bytes:
        """Return the table in a slot of a type that the library lacks."""
        tab = self._reader._tab
        return Bytes(kind, self.data, tab.Indirect(tab.Pos + tab.Offset(slot)))

    def text(self, field: str) -> str:
        """Return the text of a field; "" if it is missing."""
        found = getattr(self._reader, field)()
        return "" if found is None else bytes(found).decode(errors="replace")

    def numbers(self, field: str) -> np.ndarray:
        """Return a vector of numbers, as a view of the file."""
        if not self.count(field):
            return np.empty(0, np.int64)
        found: np.ndarray = getattr(self._reader, f"{field}AsNumpy")()
        return found

    def table(self, field: str, kind: str) -> TfliteTable | None:
        """Return the table of a field; None if it is missing."""
        found = getattr(self._reader, field)()
        return None if found is None else self._at(found, kind)

    def count(self, field: str) -> int:
        """Return the number of elements of a vector."""
        found: int = getattr(self._reader, f"{field}Length")()
        return found

    def member(self, field: str, kind: str, index: int) -> TfliteTable:
        """Return one table of a vector; `index` must be less than its count."""
        return self._at(getattr(self._reader, field)(index), kind)

    def _at(self, found: Any, kind: str) -> TfliteTable:
        tab = getattr(found, "_tab", found)  # the library returns a union as a bare reader
        return TfliteTable(kind, self.data, tab.Pos)
