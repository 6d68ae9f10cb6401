"""Reading of untrusted FlatBuffers files: every offset is checked before it is followed.

`Bytes` replaces the unchecked reader of the library `flatbuffers`. Classes that libraries generate
from a schema read through it, as does a schema of our own.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ..errors import ModelError


def make_damage_error(kind: str) -> ModelError:
    """Make the error for a table outside its file."""
    return ModelError(f"it is damaged: a table {kind} lies outside the file")


class Bytes:
    """Reader of one table, within the bytes of the file.

    A table begins with the distance back to its vtable. The vtable has its own size, the table's
    size, and the position of each field in the table, two bytes each.
    """

    def __init__(self, kind: str, data: bytes, position: int) -> None:
        self.Bytes, self.Pos, self._kind = data, position, kind
        back = self.unpack("<i", position)
        self._vtable = position - back
        self._slots, self._size = self.unpack("<HH", self._vtable, 2)
        inside = self._vtable + self._slots <= len(data) and position + self._size <= len(data)
        if self._slots < 4 or self._size < 4 or not inside:
            raise make_damage_error(kind)

    def unpack(self, form: str, at: int, count: int = 1) -> Any:
        """Return numbers at a place of the file."""
        if not 0 <= at <= len(self.Bytes) - struct.calcsize(form):
            raise make_damage_error(self._kind)
        found = struct.unpack_from(form, self.Bytes, at)
        return found if count > 1 else found[0]

    def Offset(self, slot: int) -> int:  # noqa: N802
        """Return the position of a field in the table; 0 if it is missing."""
        if slot + 2 > self._slots:
            return 0
        found: int = self.unpack("<H", self._vtable + slot)
        if found >= self._size or 0 < found < 4:
            raise make_damage_error(self._kind)
        return found

    def Get(self, flags: Any, at: int) -> Any:  # noqa: N802
        """Return a number."""
        return flags.py_type(self.unpack(flags.packer_type.format, at))

    def Indirect(self, at: int) -> int:  # noqa: N802
        """Return the target of an offset."""
        target: int = at + self.unpack("<I", at)
        if target > len(self.Bytes) - 4:
            raise make_damage_error(self._kind)
        return target

    def VectorLen(self, offset: int) -> int:  # noqa: N802
        """Return elements of a vector, of one byte each at least."""
        at = self.Indirect(self.Pos + offset)
        length: int = self.unpack("<I", at)
        if length > len(self.Bytes) - at - 4:
            raise make_damage_error(self._kind)
        return length

    def Vector(self, offset: int) -> int:  # noqa: N802
        """Return the start of a vector's elements."""
        return self.Indirect(self.Pos + offset) + 4

    def GetVectorAsNumpy(self, flags: Any, offset: int) -> np.ndarray:  # noqa: N802
        """Return the elements of a vector."""
        length, at = self.VectorLen(offset), self.Vector(offset)
        dtype = np.dtype(flags.name).newbyteorder("<")
        if length * dtype.itemsize > len(self.Bytes) - at:
            raise make_damage_error(self._kind)
        return np.frombuffer(self.Bytes, dtype, length, at)

    def String(self, at: int) -> bytes:  # noqa: N802
        """Return the bytes of a text."""
        start = self.Indirect(at)
        length: int = self.unpack("<I", start)
        if length > len(self.Bytes) - start - 4:
            raise make_damage_error(self._kind)
        return self.Bytes[start + 4 : start + 4 + length]

    def Union(self, found: Any, offset: int) -> None:  # noqa: N802
        """Make a reader point to the table of a union."""
        found.Bytes, found.Pos = self.Bytes, self.Indirect(self.Pos + offset)
