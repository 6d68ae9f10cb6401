"""Arrays of an .onnx file and of the files next to it with its large tensors."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from ...io.files import MEGABYTE, read_bytes

#: Most bytes of a model file, and of each file next to it.
FILE_LIMIT = 512 * MEGABYTE

#: Number of an element type -> its numpy type, and its field, besides raw_data.
_TYPES = {
    1: ("<f4", "float_data"),
    2: ("<u1", "int32_data"),
    3: ("<i1", "int32_data"),
    4: ("<u2", "int32_data"),
    5: ("<i2", "int32_data"),
    6: ("<i4", "int32_data"),
    7: ("<i8", "int64_data"),
    9: ("?", "int32_data"),
    10: ("<f2", "int32_data"),
    11: ("<f8", "double_data"),
    12: ("<u4", "uint64_data"),
    13: ("<u8", "uint64_data"),
}
#: Number of an element type of less than a byte -> its name, bits, and true if signed. The first
#: element is in the low bits of a byte.
_NARROW = {
    21: ("uint4", 4, False),
    22: ("int4", 4, True),
    25: ("uint2", 2, False),
    26: ("int2", 2, True),
}
#: Element types of tensors that networks compute with: float, float16, double.
FLOAT_TYPES = (1, 10, 11)

_EXTERNAL = 1

#: Limit of elements, above any file's: numpy's limit, even for an empty axis.
_MOST = 2**40


def dtype_of(number: int) -> np.dtype:
    """Return the numpy type of an element type."""
    if number not in _TYPES:
        have = ", ".join(map(type_name, _TYPES))
        raise ModelError(f"elements of {type_name(number)} are not supported; have: {have}")
    return np.dtype(_TYPES[number][0])


def type_name(number: int) -> str:
    """Return the name of an element type in messages."""
    if number in _NARROW:
        return _NARROW[number][0]
    return np.dtype(_TYPES[number][0]).name if number in _TYPES else f"ONNX type {number}"


class Tensors:
    """Decoder of tensors; files next to the model are read once and shared.

    All claims of a file (shapes, names, offsets, lengths) are checked against its bytes before use.
    Arrays are views of these bytes if possible.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, bytes] = {}

    def array(self, tensor: Any) -> np.ndarray:
        """Return the array of a TensorProto; raise ModelError if its parts contradict
        each other.
        """
        try:
            return self._array(tensor)
        except ModelError as error:
            raise ModelError(f"the tensor {tensor.name!r}: {error}") from None

    def _array(self, tensor: Any) -> np.ndarray:
        shape = tuple(tensor.dims)
        narrow = tensor.data_type in _NARROW
        dtype = np.dtype(np.uint8) if narrow else dtype_of(tensor.data_type)
        if len(shape) > 8 or min(shape, default=0) < 0 or tensor.HasField("segment"):
            raise ModelError(f"an array cannot have the shape {list(shape[:9])}")
        if math.prod(max(n, 1) for n in shape) > _MOST:
            raise ModelError(f"its shape {list(shape)} is too large")
        count = math.prod(shape)
        if narrow:
            _, bits, signed = _NARROW[tensor.data_type]
            packed = self._elements(tensor, dtype, -(-count * bits // 8), shape, "int32_data")
            elements = _unpack(packed, bits, signed)
            return elements[:count].reshape(shape)
        field = _TYPES[tensor.data_type][1]
        found = self._elements(tensor, dtype, count, shape, field)
        return found.reshape(shape)

    def _elements(
        self, tensor: Any, dtype: np.dtype, count: int, shape: tuple[int, ...], field: str
    ) -> np.ndarray:
        """Return the elements of a tensor; field: for numbers one by one."""
        if tensor.data_location == _EXTERNAL:
            return self._external(tensor.external_data, dtype, count)
        if tensor.HasField("raw_data"):
            raw = tensor.raw_data
            _agree(len(raw), count * dtype.itemsize, shape, "bytes")
            return np.frombuffer(raw, dtype)
        numbers = getattr(tensor, field)
        _agree(len(numbers), count, shape, "numbers")
        if dtype == np.float16:
            return np.array(numbers, np.uint32).astype(np.uint16).view(np.float16)
        return np.array(numbers).astype(dtype)

    def _external(self, entries: Any, dtype: np.dtype, count: int) -> np.ndarray:
        """Return elements of a file next to the model."""
        places = {entry.key: str(entry.value) for entry in entries}
        path = self._beside(places.get("location", ""))
        offset = _number(places, "offset") or 0
        size = count * dtype.itemsize
        length = _number(places, "length")
        if length not in (None, size):
            raise ModelError(f"its shape needs {size} bytes, but its length in {path} is {length}")
        if path not in self._files:
            self._files[path] = read_bytes(path, FILE_LIMIT)
        data = self._files[path]
        if offset + size > len(data):
            raise ModelError(f"{path} ends before byte {offset + size}, where its data ends")
        return np.frombuffer(data, dtype, count, offset)

    def _beside(self, location: str) -> Path:
        """Return the path of an external file, which must be in the model's own folder
        or below it.
        """
        home, named = self._folder.resolve(), Path(location)
        try:
            path = (home / named).resolve()
            found = path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise ModelError(
                f"its data is in {location[:80]!r}, which is not a file name"
            ) from None
        strange = named.is_absolute() or ".." in named.parts or "\\" in location
        if strange or home not in path.parents:
            raise ModelError(f"its data is in {location[:80]!r}, outside the model's folder")
        if not found:
            raise ModelError(f"its data is in {path}, which is not a file")
        return path


def _unpack(packed: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    """Return the elements of bytes, int8 or uint8."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    fields: np.ndarray = (packed[:, None] >> shifts & (2**bits - 1)).reshape(-1)
    if not signed:
        return fields.astype(np.uint8)
    top = 2 ** (bits - 1)
    result: np.ndarray = (fields ^ top).astype(np.int8) - np.int8(top)
    return result


def _number(places: dict[str, str], key: str) -> Optional[int]:
    text = places.get(key)
    if text is not None and not re.fullmatch("[0-9]{1,18}", text):
        raise ModelError(f"its {key} in the external file is {text[:40]!r}, not a number")
    return None if text is None else int(text)


def _agree(have: int, need: int, shape: tuple[int, ...], unit: str) -> None:
    if have != need:
        raise ModelError(f"its shape {list(shape)} needs {need} {unit}, but the file has {have}")
