"""Reading of a device's dumps: raw bytes, .npy, or text saved from a serial terminal.

The name of a dump identifies its golden. Dumps of the golden `x0/conv1` are `x0/conv1`, `x0_conv1`,
and `conv1` if the golden set has a single input, each with the ending .bin, .npy, .hex, .txt, .log,
.csv or .c. Dumps of time steps are `x0/t1/conv1`, `x0_t1_conv1`, `t1/conv1` and `t1_conv1`.
"""

from __future__ import annotations

import tokenize
from pathlib import Path
from typing import Optional

import numpy as np

from ..errors import Error
from ..io import files
from .text_dumps import Unlike as Unlike
from .text_dumps import decode_text, parse_text

ENDINGS = (".bin", ".npy", ".hex", ".txt", ".log", ".csv", ".c")

#: Endings that determine the base of a text.
_BASES = {".hex": 16, ".csv": 10}

#: Most bytes of text for each byte of a golden, and in addition.
_TEXT_PER_BYTE, _TEXT_BESIDES = 64, 1 << 16

_HEADER_LIMIT = 1 << 16

#: Exceptions of numpy, in any version, for an invalid header.
_NO_NPY = (
    *(ValueError, TypeError, OverflowError, LookupError, MemoryError, RecursionError),
    *(SyntaxError, EOFError, tokenize.TokenError),
)


def list_dump_names(name: str, inputs: int) -> list[str]:
    """Return the possible names, without ending, of this golden's dumps; see above."""
    short = [name.split("/", 1)[1]] if inputs == 1 else []
    paths = [name, *short]
    return list(dict.fromkeys([*paths, *(path.replace("/", "_") for path in paths)]))


def to_stored(dtype: str) -> np.dtype:
    """Return the stored form of a type's elements; a boolean is a byte of any value."""
    stored: np.dtype = np.dtype("uint8" if dtype == "bool" else dtype).newbyteorder("<")
    return stored


def convert_to_stored(values: np.ndarray) -> np.ndarray:
    """Convert an array to its stored form: little-endian, booleans as bytes."""
    values = np.ascontiguousarray(values)
    return values.astype(to_stored(values.dtype.name), copy=False)


def read(path: Path, dtype: str, count: int, base: Optional[int] = None) -> np.ndarray:
    """Return the dump in a file as `count` elements of dtype, flat and little-endian.

    base: of the numbers in a text, 10 or 16. By default it is 16 for a .hex file, 10 for a .csv
    file, and for further texts the base that the whole text fits. Raises Unlike for a different
    size or type, and Error if the file contradicts its ending, or fits both bases.
    """
    little = to_stored(dtype)
    try:
        files.check_regular(path)
        if path.suffix == ".npy":
            return _npy(path, dtype, count)
        content = _content(path, little, count, base)
    except OSError as error:
        raise Error(f"cannot read {path}: {files.get_reason(error)}") from None
    return np.frombuffer(content, little)


def _content(path: Path, dtype: np.dtype, count: int, base: Optional[int]) -> bytes:
    size, size_read = count * dtype.itemsize, path.stat().st_size
    if path.suffix != ".bin":
        if size_read > _TEXT_PER_BYTE * size + _TEXT_BESIDES:
            raise Unlike(f"it has {size_read} characters, which is too many for {size} bytes")
        chosen, table = base or _BASES.get(path.suffix), path.suffix == ".csv"
        return parse_text(decode_text(path.read_bytes()), dtype, count, str(path), chosen, table)
    if size_read != size:
        raise Unlike(f"it has {size_read} bytes, but the golden has {size}")
    return path.read_bytes()


def _npy(path: Path, name: str, count: int) -> np.ndarray:
    dtype = to_stored(name)
    limit = count * dtype.itemsize + _HEADER_LIMIT
    if path.stat().st_size > limit:
        raise Unlike(f"it has more than {limit} bytes, but the golden has {count * dtype.itemsize}")
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except _NO_NPY:
        raise Error(f"{path} is not a .npy file of numbers: save it with numpy.save") from None
    kinds = {"float32": "f", "bool": "iub"}.get(name, "iu")
    if array.dtype.kind not in kinds or array.dtype.itemsize != dtype.itemsize:
        raise Unlike(f"it contains {array.dtype}, but the golden {name}")
    if array.size != count:
        raise Unlike(f"it has {array.size} elements, but the golden has {count}")
    values = np.ascontiguousarray(array).ravel()
    return values.astype(values.dtype.newbyteorder("<")).view(dtype)
