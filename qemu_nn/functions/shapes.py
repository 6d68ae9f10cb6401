"""Shapes of arrays, as expressions of C arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

import numpy as np

#: Suffix of a function's name -> the type of its elements.
DTYPES = {
    **{"s8": "int8", "u8": "uint8", "s16": "int16", "s32": "int32", "u32": "uint32"},
    **{"s64": "int64", "u64": "uint64", "f32": "float32", "b8": "bool"},
}


@dataclass(frozen=True)
class Total:
    """Extent that is the sum of further extents."""

    parts: tuple[Extent, ...]

    def __str__(self) -> str:
        return f"({' + '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Largest:
    """Extent that is the largest of further extents."""

    parts: tuple[Extent, ...]

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Half:
    """Extent that is half of a product, rounded up: bytes of this many 4-bit values."""

    parts: tuple[Extent, ...]

    def __str__(self) -> str:
        return f"ceil({spell(self.parts)} / 2)"


@dataclass(frozen=True)
class Either:
    """Extent that is one of two, selected by a C argument of 1 or 0."""

    flag: str
    yes: Extent
    no: Extent

    def __str__(self) -> str:
        return f"({self.flag} ? {spell(self.yes)} : {spell(self.no)})"


#: One extent: the name of a C argument, a number, a tuple of both (their product), or one of these.
Extent = Union[str, int, tuple["Extent", ...], Total, Largest, Half, Either]


def spell(value: Extent) -> str:
    """Return an extent as an expression in words."""
    return "*".join(map(spell, value)) if isinstance(value, tuple) else str(value)


def get_extent(value: Extent, params: Mapping[str, int]) -> int:
    """Return the value of an extent for these C arguments."""
    if isinstance(value, str):
        return params[value]
    if isinstance(value, Either):
        return get_extent(value.yes if params[value.flag] else value.no, params)
    if isinstance(value, (Total, Largest)):
        combine = sum if isinstance(value, Total) else max
        return combine(get_extent(part, params) for part in value.parts)
    if isinstance(value, Half):
        return (get_extent(value.parts, params) + 1) // 2
    if isinstance(value, tuple):
        return math.prod(get_extent(part, params) for part in value)
    return value


@dataclass(frozen=True)
class Array:
    """A pointer argument: its C name, numpy dtype and shape (extents, outermost axis first).

    optional: C accepts NULL, equivalent to zeros. state: the call writes a new value back. narrow:
    C argument that, if nonzero, makes the elements int32. below: exclusive limit of the elements in
    random calls, if they are positions.
    """

    name: str
    dtype: str
    axes: tuple[Extent, ...]
    optional: bool = False
    state: bool = False
    narrow: str = ""
    below: int = 0

    def dtype_in(self, params: Mapping[str, int]) -> str:
        """Return the type of the elements with these C arguments."""
        return "int32" if self.narrow and params[self.narrow] else self.dtype

    def shape(self, params: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with these C arguments."""
        return tuple(get_extent(axis, params) for axis in self.axes)

    def nbytes(self, params: Mapping[str, int]) -> int:
        """Return bytes with these C arguments."""
        return math.prod(self.shape(params)) * np.dtype(self.dtype).itemsize


def stack(dtype: str, *rows: Array) -> Array:
    """Stack arrays of one length as the rows of one array."""
    return Array("_and_".join(row.name for row in rows), dtype, (len(rows), *rows[0].axes))


def vector(name: str, dtype: str, length: Extent) -> Array:
    """Return a one-dimensional array argument."""
    return Array(name, dtype, (length,))


def join_arrays(name: str, dtype: str, *parts: Array) -> Array:
    """Concatenate these arrays in one array."""
    return Array(name, dtype, (Total(tuple(part.axes for part in parts)),))
