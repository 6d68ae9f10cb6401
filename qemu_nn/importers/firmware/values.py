"""Values of C as far as they are known: integers, pointers into blocks of memory, and structs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np


@dataclass(frozen=True)
class Unknown:
    """A value that depends on what a run brings."""

    why: str = ""


@dataclass(eq=False)
class Block:
    """Memory of a variable, or of an allocation.

    size: bytes, None if unknown. record: class of an object. data: initial content, None if it is
    not an array of constants. cells: byte offset -> value; widths: their bytes. bytes_: offset ->
    byte that was copied. written: parts whose content is known only to a run.
    """

    name: str
    size: Optional[int]
    where: str = ""
    data: Optional[np.ndarray] = None
    zeroed: bool = False
    is_memory: bool = False
    record: Optional[CType] = None
    cells: dict[int, Any] = field(default_factory=dict)
    written: list[tuple[int, int]] = field(default_factory=list)
    bytes_: dict[int, int] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)

    def find_known(self) -> int:
        """Return how many bytes from the first one on have been stored one after another."""
        end = 0
        while end in self.bytes_ or end in self.cells:
            end += self.widths.get(end, 1) if end in self.cells else 1
        return end

    def snapshot(self, offset: int, size: int) -> Optional[np.ndarray]:
        """Return known bytes, None if some are not known."""
        end = offset + size
        hidden = any(start < end and offset < stop for start, stop in self.written)
        whole = self.data is not None and offset >= 0 and end <= self.data.size and not hidden
        if whole and self.data is not None:
            found = np.array(self.data[offset:end])
            known = np.ones(size, bool)
        else:
            found, known = np.zeros(size, np.uint8), np.full(size, self.zeroed and not hidden)
        for at in range(size) if self.bytes_ else ():
            if offset + at in self.bytes_:
                found[at], known[at] = self.bytes_[offset + at], True
        for at, value in self.cells.items():
            width = self.widths.get(at, 0)
            if not isinstance(value, int) or at + width <= offset or at >= end:
                if isinstance(value, Unknown) and offset <= at < end:
                    known[at - offset] = False
                continue
            raw = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            for index, byte in enumerate(raw):
                if offset <= at + index < end:
                    found[at + index - offset], known[at + index - offset] = byte, True
        return found if known.all() else None

    def overwrite(self, start: int, end: int) -> None:
        """Forget the content of some bytes."""
        for offset in [at for at in self.cells if start <= at < end]:
            del self.cells[offset]
        for offset in [at for at in self.bytes_ if start <= at < end]:
            del self.bytes_[offset]
        if (start, end) not in self.written:
            self.written.append((start, end))

    def read(self, offset: int, ctype: CType) -> Any:
        """Return a value of scalar type."""
        if offset in self.cells:
            return self.cells[offset]
        end = offset + ctype.size
        if ctype.kind == "int" and all(at in self.bytes_ for at in range(offset, end)):
            raw = bytes(self.bytes_[at] for at in range(offset, end))
            return int.from_bytes(raw, "little", signed=ctype.signed)
        if any(start < end and offset < stop for start, stop in self.written):
            return Unknown(f"content of {self.name}")
        if self.data is not None and offset >= 0 and end <= self.data.size:
            raw = self.data[offset:end].tobytes()
            if ctype.kind == "int":
                return int.from_bytes(raw, "little", signed=ctype.signed)
        if self.zeroed:
            return Pointer(None, 0, ctype.element) if ctype.kind == "pointer" else 0
        return Unknown(f"content of {self.name}")


@dataclass(frozen=True, eq=False)
class Pointer:
    """An address: a block, None for NULL, and a byte offset; element: the type it points to."""

    block: Optional[Block]
    offset: int
    element: Optional[CType]

    def move(self, elements: int) -> Pointer:
        """Return the address that many elements further."""
        step = self.element.size if self.element is not None else 1
        return Pointer(self.block, self.offset + elements * max(step, 1), self.element)

    def same(self, other: Pointer) -> bool:
        """True for the same address."""
        return self.block is other.block and self.offset == other.offset


@dataclass(frozen=True, eq=False)
class Struct:
    """A struct in memory."""

    block: Block
    offset: int
    ctype: CType


class CType:
    """A type of C: kind "int", "float", "pointer", "array", "record" or "void", and its bytes."""

    def __init__(self, clang_type: Any) -> None:
        self._clang = clang_type.get_canonical()
        kind = self._clang.kind.name
        self.size = max(0, self._clang.get_size())
        self.signed = kind in ("SCHAR", "CHAR_S", "SHORT", "INT", "LONG", "LONGLONG", "WCHAR")
        self.is_bool = kind == "BOOL"
        if kind in ("POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE", "NULLPTR"):
            self.kind, self.size = "pointer", 4
        elif kind in ("CONSTANTARRAY", "INCOMPLETEARRAY", "VARIABLEARRAY"):
            self.kind = "array"
        elif kind == "RECORD":
            self.kind = "record"
        elif kind in ("FLOAT", "DOUBLE", "LONGDOUBLE", "HALF"):
            self.kind = "float"
        elif kind == "ENUM":
            self.kind, self.signed = "int", True
        elif (
            self.signed
            or self.is_bool
            or kind
            in (*("UCHAR", "CHAR_U", "USHORT", "UINT", "ULONG", "ULONGLONG", "CHAR16", "CHAR32"),)
        ):
            self.kind = "int"
        else:
            self.kind = "void"
        self.is_reference = kind in ("LVALUEREFERENCE", "RVALUEREFERENCE")

    @property
    def declaration(self) -> Any:
        """The declaration of a struct or class."""
        return self._clang.get_declaration()

    @cached_property
    def element(self) -> Optional[CType]:
        """The type that a pointer points to, or of an array's elements."""
        if self.kind == "array":
            return CType(self._clang.element_type)
        pointee = self._clang.get_pointee()
        return None if pointee.kind.name == "INVALID" else CType(pointee)

    @property
    def count(self) -> int:
        """Elements of an array."""
        element = self.element
        return self.size // element.size if element is not None and element.size else 0

    @cached_property
    def fields(self) -> dict[str, tuple[int, CType]]:
        """Field of a struct -> its byte offset, and its type; of a class also its first base's."""
        found: dict[str, tuple[int, CType]] = {}
        for child in self.declaration.get_children():
            if child.kind.name == "CXX_BASE_SPECIFIER":
                found.update(CType(child.type).fields)
                break
        for each in self._clang.get_fields():
            bits = each.get_field_offsetof()
            if bits >= 0:
                found[each.spelling] = (bits // 8, CType(each.type))
        return found

    def convert(self, value: Any) -> Any:
        """Return a value as one of this type."""
        if self.kind == "int" and isinstance(value, (int, float)):
            if self.is_bool:
                return int(bool(value))
            bits = 8 * self.size
            number = int(value) & ((1 << bits) - 1)
            return number - (1 << bits) if self.signed and number >> (bits - 1) else number
        if self.kind == "float" and isinstance(value, int):
            return float(value)
        if self.kind == "pointer" and isinstance(value, Pointer):
            return Pointer(value.block, value.offset, self.element)
        if self.kind == "pointer" and isinstance(value, int):
            block = Block(f"at_{value:08x}", None, is_memory=True) if value else None
            return Pointer(block, 0, self.element)
        return value


#: Any value: what is not known is Unknown.
Value = Union[int, float, Pointer, Struct, Unknown]


def iterate_cells(source: Struct) -> Iterator[tuple[int, Any, CType]]:
    """Yield offset, value and type of each scalar of a struct."""
    yield from _iterate(source.block, source.offset, 0, source.ctype)


def _iterate(block: Block, base: int, at: int, ctype: CType) -> Iterator[tuple[int, Any, CType]]:
    if ctype.kind == "record":
        for offset, inner in ctype.fields.values():
            yield from _iterate(block, base, at + offset, inner)
    elif ctype.kind == "array" and ctype.element is not None:
        for index in range(min(ctype.count, 1024)):
            yield from _iterate(block, base, at + index * ctype.element.size, ctype.element)
    else:
        yield at, block.read(base + at, ctype), ctype
