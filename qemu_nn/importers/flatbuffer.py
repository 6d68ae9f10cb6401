"""Reading of untrusted FlatBuffers files: every offset is checked before it is followed.

`Bytes` replaces the unchecked reader of the library `flatbuffers`. Classes that libraries generate
from a schema read through it, as does `SchemaTable` for a schema of our own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ..errors import ModelError


def make_damage_error(kind: str) -> ModelError:
    """Make the error for a table outside its file."""
    return ModelError(f"it is damaged: a table {kind} is outside the file")


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


@dataclass(frozen=True)
class Schema:
    """The tables of a format.

    fields: table -> its fields in the order of their slots; a union takes two, its kind and its
    table. forms: field -> the form of its number, if not uint32.
    """

    fields: Mapping[str, tuple[str, ...]]
    forms: Mapping[str, str]


class SchemaTable:
    """A table of the file, with access to fields by name.

    Raises ModelError for parts outside the file. Missing fields are 0, empty or None.
    """

    def __init__(self, schema: Schema, kind: str, data: bytes, position: int) -> None:
        self._reader, self._kind, self._data = Bytes(kind, data, position), kind, data
        self._schema = schema

    def number(self, field: str) -> Any:
        """Return a number or a truth value."""
        at = self._offset(field)
        form = self._schema.forms.get(field, "<I")
        if not at:
            return {"<?": False, "<d": 0.0, "<f": 0.0}.get(form, 0)
        return self._reader.unpack(form, self._reader.Pos + at)

    def text(self, field: str) -> str:
        """Return text; "" if there is none."""
        at = self._offset(field)
        found = self._reader.String(self._reader.Pos + at) if at else b""
        return found.decode(errors="replace")

    def texts(self, field: str, most: int) -> list[str]:
        """Return a vector of texts."""
        at = self._offset(field)
        length = self._reader.VectorLen(at) if at else 0
        if length > most:
            raise ModelError(f"it has {length} {field}; at most {most} are supported")
        start = self._reader.Vector(at) if at else 0
        found = (self._reader.String(start + 4 * i) for i in range(length))
        return [text.decode(errors="replace") for text in found]

    def numbers(self, field: str, dtype: str) -> np.ndarray:
        """Return a vector of numbers, as a view of the file."""
        at = self._offset(field)
        if not at:
            return np.empty(0, dtype)
        length, start = self._reader.VectorLen(at), self._reader.Vector(at)
        if length * np.dtype(dtype).itemsize > len(self._data) - start:
            raise make_damage_error(self._kind)
        return np.frombuffer(self._data, np.dtype(dtype).newbyteorder("<"), length, start)

    def table(self, field: str, kind: str) -> Optional[SchemaTable]:
        """Return a table in a field, or in a union; None if there is none."""
        at = self._offset(field)
        if not at:
            return None
        place = self._reader.Indirect(self._reader.Pos + at)
        return SchemaTable(self._schema, kind, self._data, place)

    def tables(self, field: str, kind: str, most: int) -> list[SchemaTable]:
        """Return a vector of tables."""
        at = self._offset(field)
        length = self._reader.VectorLen(at) if at else 0
        if length > most:
            raise ModelError(f"it has {length} {field}; at most {most} are supported")
        start = self._reader.Vector(at) if at else 0
        places = [self._reader.Indirect(start + 4 * i) for i in range(length)]
        return [SchemaTable(self._schema, kind, self._data, place) for place in places]

    def _offset(self, field: str) -> int:
        return self._reader.Offset(4 + 2 * self._schema.fields[self._kind].index(field))
