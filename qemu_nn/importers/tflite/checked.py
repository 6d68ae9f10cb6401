"""A FlatBuffers file read without trust: every offset is checked before it is followed.

The classes of the library `tflite` know the slot of each field; they read through `_Bytes`, which
stands where the library has a reader that checks nothing.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ...errors import ModelError
from ...io import extras

_PURPOSE = "reading .tflite files"


def library(name: str) -> Any:
    """The class of the library `tflite` with this name; Error where the library is missing."""
    extras.require("flatbuffers", "tflite", _PURPOSE)
    return getattr(extras.require(f"tflite.{name}", "tflite", _PURPOSE), name)


class Table:
    """A table of the file, whose fields are asked for by the library's names. data: the file.

    Raises ModelError for whatever does not lie in the file. Fields that are missing have the
    schema's defaults.
    """

    def __init__(self, kind: str, data: bytes, position: int) -> None:
        self._reader = library(kind)()
        self._reader._tab = _Bytes(kind, data, position)
        self._kind, self.data = kind, data

    @classmethod
    def root(cls, kind: str, data: bytes) -> Table:
        """The table that a file begins with."""
        if len(data) < 8:
            raise _damaged(kind)
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


def _damaged(kind: str) -> ModelError:
    return ModelError(f"it is damaged: a table {kind} lies outside the file")


class _Bytes:
    """What the library's classes call: the reader of one table, within the bytes of the file.

    A table begins with the distance back to its vtable, which holds its own size, the table's,
    and where in the table each field is, two bytes each.
    """

    def __init__(self, kind: str, data: bytes, position: int) -> None:
        self.Bytes, self.Pos, self._kind = data, position, kind
        back = self._unpack("<i", position)
        self._vtable = position - back
        self._slots, self._size = self._unpack("<HH", self._vtable, 2)
        inside = self._vtable + self._slots <= len(data) and position + self._size <= len(data)
        if self._slots < 4 or self._size < 4 or not inside:
            raise _damaged(kind)

    def _unpack(self, form: str, at: int, count: int = 1) -> Any:
        if not 0 <= at <= len(self.Bytes) - struct.calcsize(form):
            raise _damaged(self._kind)
        found = struct.unpack_from(form, self.Bytes, at)
        return found if count > 1 else found[0]

    def Offset(self, slot: int) -> int:  # noqa: N802
        """Where in the table a field is; 0 if it is missing."""
        if slot + 2 > self._slots:
            return 0
        found: int = self._unpack("<H", self._vtable + slot)
        if found >= self._size or 0 < found < 4:
            raise _damaged(self._kind)
        return found

    def Get(self, flags: Any, at: int) -> Any:  # noqa: N802
        """A number."""
        return flags.py_type(self._unpack(flags.packer_type.format, at))

    def Indirect(self, at: int) -> int:  # noqa: N802
        """What an offset leads to."""
        target: int = at + self._unpack("<I", at)
        if target > len(self.Bytes) - 4:
            raise _damaged(self._kind)
        return target

    def VectorLen(self, offset: int) -> int:  # noqa: N802
        """Elements of a vector, of one byte each at least."""
        at = self.Indirect(self.Pos + offset)
        length: int = self._unpack("<I", at)
        if length > len(self.Bytes) - at - 4:
            raise _damaged(self._kind)
        return length

    def Vector(self, offset: int) -> int:  # noqa: N802
        """Where the elements of a vector begin."""
        return self.Indirect(self.Pos + offset) + 4

    def GetVectorAsNumpy(self, flags: Any, offset: int) -> np.ndarray:  # noqa: N802
        """The elements of a vector."""
        length, at = self.VectorLen(offset), self.Vector(offset)
        dtype = np.dtype(flags.name).newbyteorder("<")
        if length * dtype.itemsize > len(self.Bytes) - at:
            raise _damaged(self._kind)
        return np.frombuffer(self.Bytes, dtype, length, at)

    def String(self, at: int) -> bytes:  # noqa: N802
        """The bytes of a text."""
        start = self.Indirect(at)
        length: int = self._unpack("<I", start)
        if length > len(self.Bytes) - start - 4:
            raise _damaged(self._kind)
        return self.Bytes[start + 4 : start + 4 + length]

    def Union(self, found: Any, offset: int) -> None:  # noqa: N802
        """Make a reader that of the table which a union holds."""
        found.Bytes, found.Pos = self.Bytes, self.Indirect(self.Pos + offset)
