"""Arrays of a graph file, checked against its bytes before allocation."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from ...errors import ModelError
from ...operators import Shape
from .schema import parse

#: Number of an element type -> its numpy type, and its field of listed elements.
_TYPES = {
    1: ("<f4", "float_val"),
    2: ("<f8", "double_val"),
    3: ("<i4", "int_val"),
    4: ("<u1", "int_val"),
    5: ("<i2", "int_val"),
    6: ("<i1", "int_val"),
    9: ("<i8", "int64_val"),
    10: ("?", "bool_val"),
    14: ("<u2", "half_val"),  # bfloat16: the upper half of a float32
    17: ("<u2", "int_val"),
    19: ("<f2", "half_val"),
    22: ("<u4", "uint32_val"),
    23: ("<u8", "uint64_val"),
}
_BFLOAT16, _HALF = 14, 19
#: Element types of tensors that networks compute with: float, double, bfloat16, half.
FLOAT_TYPES = (1, 2, _BFLOAT16, _HALF)
_MOST_AXES = 8


def dtype_of(number: int) -> np.dtype:
    """Return the numpy type in which an element type is read; halves become float32."""
    if number not in _TYPES:
        raise ModelError(f"elements of {type_name(number)} are not supported")
    return np.dtype(np.float32 if number in (_BFLOAT16, _HALF) else _TYPES[number][0])


def stored_type(number: int) -> np.dtype:
    """Return the numpy type of the bytes of an element type; see widen()."""
    dtype_of(number)
    return np.dtype(_TYPES[number][0])


def widen(array: np.ndarray, number: int) -> np.ndarray:
    """Return an array of an element type as it is read: halves become float32."""
    if number == _BFLOAT16:
        floats: np.ndarray = (array.astype("<u4") << np.uint32(16)).view("<f4")
        return floats
    return array.astype(dtype_of(number), copy=False)


def type_name(number: int) -> str:
    """Return the name of an element type in messages."""
    if number == 7:
        return "strings"
    return str(dtype_of(number)) if number in _TYPES else f"type {number}"


def dims(shape: Any) -> tuple[int, ...]:
    """Return the axes of a Shape message, -1 for open ones; raise ModelError for too many."""
    if len(shape.dim) > _MOST_AXES:
        raise ModelError(f"a shape has {len(shape.dim)} axes, more than {_MOST_AXES}")
    return tuple(parse("Dim", dim).size for dim in shape.dim)


def array_of(tensor: Any, spend: Callable[[int], None]) -> np.ndarray:
    """Return the array of a Tensor message; halves as float32.

    spend: called with the number of elements that are not in the file, before they are allocated.
    """
    shape, stored = dims(tensor.tensor_shape), stored_type(tensor.dtype)
    if min(shape, default=0) < 0:
        raise ModelError(f"an array cannot have the shape {list(shape)}")
    field = _TYPES[tensor.dtype][1]
    listed, content = getattr(tensor, field), tensor.tensor_content
    if content:
        need = math.prod(shape) * stored.itemsize
        if len(content) != need:
            raise ModelError(
                f"its shape {list(shape)} needs {need} bytes, but the file has {len(content)}"
            )
        array = np.frombuffer(content, stored).reshape(shape)
    else:
        wide = "<i4" if field in ("int_val", "half_val") else stored
        numbers = np.fromiter(listed, wide, len(listed))
        if field == "half_val":
            numbers = numbers.astype("<u2").view(stored)
        array = _repeat_elements(numbers.astype(stored, copy=False), shape, spend)
    return widen(array, tensor.dtype)


def _repeat_elements(listed: np.ndarray, shape: Shape, spend: Callable[[int], None]) -> np.ndarray:
    """Return elements; a file may omit the last ones, which equal the last given one, or zero."""
    count = math.prod(shape)
    if len(listed) > count:
        raise ModelError(f"its shape {list(shape)} does not fit {len(listed)} elements")
    if len(listed) == count:
        return listed.reshape(shape)
    spend(count)
    whole = np.full(count, listed[-1] if len(listed) else 0, listed.dtype)
    whole[: len(listed)] = listed
    return whole.reshape(shape)
