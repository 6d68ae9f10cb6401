"""Options of a custom operator: an untrusted FlexBuffers map of numbers.

The last bytes of a buffer give the type of its root. The numbers of a map have `width` bytes.
Before the map's position are the distance back to its keys, the width of a key and the count. After
the position are `count` numbers and one type byte for each. Every distance is checked before use.
"""

from __future__ import annotations

import math
import struct
from typing import Union

from ...errors import ModelError

#: Kinds in a type byte: kind << 2 | log2 of the width of the numbers at the target.
_NULL, _INT, _UINT, _FLOAT, _MAP, _BOOL = 0, 1, 2, 3, 9, 26

#: Bytes of a float -> its struct format.
_REALS = {4: "<f", 8: "<d"}

#: An option's value.
_Number = Union[int, float]

#: Maximum options of an operator, and characters of an option's name.
_COUNT_LIMIT, _NAME_LIMIT = 64, 100


class OptionMap:
    """Numbers by name, in the file's order; ModelError if the bytes are no map of numbers.

    The framework reads numbers and booleans by their index, so their order must be alphabetical.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        if len(data) < 3:
            raise _damaged_error()
        start, width = self._root()
        count = self._unsigned(start - width, width)
        if count > _COUNT_LIMIT:
            raise ModelError(f"it has {count} options; up to {_COUNT_LIMIT} are supported")
        names = self._names(start, width, count)
        values = (self._value(start, width, count, index) for index in range(count))
        self.numbers = dict(zip(names, values))
        if list(self.numbers) != sorted(self.numbers) or len(self.numbers) != count:
            raise ModelError(
                f"its options are {', '.join(names)}; they must be in alphabetical order"
            )

    def number(self, field: str) -> _Number:
        """Return a number by its name; 0 if it is missing, as the framework does."""
        return self.numbers.get(field, 0)

    def _root(self) -> tuple[int, int]:
        """Return the position of the map, and the width of its numbers."""
        width, kind = self._data[-1], self._data[-2]
        if kind >> 2 != _MAP or width not in (1, 2, 4, 8):
            raise ModelError("its options must be a FlexBuffers map of names and numbers")
        at = len(self._data) - 2 - width
        return at - self._unsigned(at, width), 1 << (kind & 3)

    def _names(self, start: int, width: int, count: int) -> list[str]:
        at = start - 3 * width
        keys = at - self._unsigned(at, width)
        step = self._unsigned(start - 2 * width, width)
        if step not in (1, 2, 4, 8) or self._unsigned(keys - step, step) != count:
            raise _damaged_error()
        return [self._name(keys + index * step, step) for index in range(count)]

    def _name(self, at: int, width: int) -> str:
        start = at - self._unsigned(at, width)
        end = self._data.find(b"\0", max(start, 0), max(start, 0) + _NAME_LIMIT)
        if start < 0 or end < 0:
            raise _damaged_error()
        return self._data[start:end].decode("ascii", "backslashreplace")

    def _value(self, start: int, width: int, count: int, index: int) -> _Number:
        kind = self._unsigned(start + count * width + index, 1) >> 2
        if kind not in (_NULL, _INT, _UINT, _FLOAT, _BOOL):
            raise ModelError(f"its option number {index + 1} must be a number or a boolean")
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
            raise ModelError(f"its option number {index + 1} must be a finite float32 or float64")
        return float(value)

    def _unsigned(self, at: int, width: int) -> int:
        if not 0 <= at <= len(self._data) - width:
            raise _damaged_error()
        return int.from_bytes(self._data[at : at + width], "little")


def _damaged_error() -> ModelError:
    return ModelError("its options are damaged")
