"""The options of a custom operator: a FlexBuffers map of numbers, read without trust.

The last bytes of a buffer say what it holds. A map of `width` bytes per number is, before the place
it is known by, the distance back to its keys, their width and its count; behind it that many
numbers, and a byte for the type of each. Every distance is checked before it is followed.
"""

from __future__ import annotations

import math
import struct
from typing import Union

from ...errors import ModelError

#: Types of a packed byte: kind << 2 | two bits for the width of what it leads to.
_NULL, _INT, _UINT, _FLOAT, _MAP, _BOOL = 0, 1, 2, 3, 9, 26

#: Bytes of a real number -> how it is stored.
_REALS = {4: "<f", 8: "<d"}

#: A number of either kind.
_Number = Union[int, float]

#: Most options of an operator, and longest name of one.
_COUNT_LIMIT, _NAME_LIMIT = 64, 100


class Map:
    """Numbers by their names, in the file's order. Raises ModelError for whatever is no such map.

    The framework reads them by their place in alphabetical order, whole numbers and truth values
    alike; so it is a damage if they are in another.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        if len(data) < 3:
            raise _damaged()
        start, width = self._root()
        count = self._unsigned(start - width, width)
        if count > _COUNT_LIMIT:
            raise ModelError(f"it has {count} options; at most {_COUNT_LIMIT} are read")
        names = self._names(start, width, count)
        values = (self._value(start, width, count, index) for index in range(count))
        self.numbers = dict(zip(names, values))
        if list(self.numbers) != sorted(self.numbers) or len(self.numbers) != count:
            raise ModelError("its options are not in alphabetical order")

    def number(self, field: str) -> _Number:
        """A number by its name; 0 if it is not there, as for the framework."""
        return self.numbers.get(field, 0)

    def _root(self) -> tuple[int, int]:
        """Where the map is, and the width of its numbers."""
        width, kind = self._data[-1], self._data[-2]
        if kind >> 2 != _MAP or width not in (1, 2, 4, 8):
            raise ModelError("its options are not a map of names and numbers")
        at = len(self._data) - 2 - width
        return at - self._unsigned(at, width), 1 << (kind & 3)

    def _names(self, start: int, width: int, count: int) -> list[str]:
        at = start - 3 * width
        keys = at - self._unsigned(at, width)
        step = self._unsigned(start - 2 * width, width)
        if step not in (1, 2, 4, 8) or self._unsigned(keys - step, step) != count:
            raise _damaged()
        return [self._name(keys + index * step, step) for index in range(count)]

    def _name(self, at: int, width: int) -> str:
        start = at - self._unsigned(at, width)
        end = self._data.find(b"\0", max(start, 0), max(start, 0) + _NAME_LIMIT)
        if start < 0 or end < 0:
            raise _damaged()
        return self._data[start:end].decode("ascii", "backslashreplace")

    def _value(self, start: int, width: int, count: int, index: int) -> _Number:
        kind = self._unsigned(start + count * width + index, 1) >> 2
        if kind not in (_NULL, _INT, _UINT, _FLOAT, _BOOL):
            raise ModelError(f"its option number {index + 1} is not a number or a truth value")
        number = self._unsigned(start + index * width, width)
        if kind == _FLOAT:
            return self._real(start + index * width, width, index)
        signed = kind == _INT and number >> (8 * width - 1)
        return number - (1 << 8 * width) if signed else number

    def _real(self, at: int, width: int, index: int) -> float:
        value = (
            struct.unpack_from(_REALS[width], self._data, at)[0] if width in _REALS else math.nan
        )
        if not math.isfinite(value):
            raise ModelError(f"its option number {index + 1} is not a finite float32 or float64")
        return float(value)

    def _unsigned(self, at: int, width: int) -> int:
        if not 0 <= at <= len(self._data) - width:
            raise _damaged()
        return int.from_bytes(self._data[at : at + width], "little")


def _damaged() -> ModelError:
    return ModelError("its options are damaged")
