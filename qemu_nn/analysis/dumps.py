"""Reads what a device has dumped: raw bytes, .npy, or hex text as a UART prints it.

A dump belongs to a golden by its name. For the golden `x0/conv1` these are taken, each with the
ending .bin, .npy, .hex or .txt: `x0/conv1`, `x0_conv1`, and, where the golden set holds one input
only, `conv1`. So too for time steps: `x0/t1/conv1`, `x0_t1_conv1`, `t1/conv1`, `t1_conv1`.
"""

from __future__ import annotations

import re
import tokenize
from pathlib import Path

import numpy as np

from ..errors import Error
from ..io import files

ENDINGS = (".bin", ".npy", ".hex", ".txt")

#: Bytes of text that are read for each byte of a golden, and besides.
_TEXT_PER_BYTE, _TEXT_BESIDES = 64, 1 << 16

_HEADER_LIMIT = 1 << 16

#: Exceptions of numpy, in any version, for an invalid header.
_NO_NPY = (
    *(ValueError, TypeError, OverflowError, LookupError, MemoryError, RecursionError),
    *(SyntaxError, EOFError, tokenize.TokenError),
)

_ADDRESS = re.compile(r"\s*(0[xX])?[0-9a-fA-F]{2,16}:(?=\s|$)")
_SEPARATORS = re.compile(r"[\s,;{}]+")


class Unlike(Exception):
    """The dump is not of the golden's size or type; the text is a sentence."""


def names(name: str, inputs: int) -> list[str]:
    """Return the names without ending under which a dump of this golden may lie, see above."""
    short = [name.split("/", 1)[1]] if inputs == 1 else []
    paths = [name, *short]
    return list(dict.fromkeys([*paths, *(path.replace("/", "_") for path in paths)]))


def stored(dtype: str) -> np.dtype:
    """Return the elements of a type as they are compared; a truth value is a byte that holds
    anything.
    """
    stored: np.dtype = np.dtype("uint8" if dtype == "bool" else dtype).newbyteorder("<")
    return stored


def as_stored(values: np.ndarray) -> np.ndarray:
    """Return an array as it is compared: little-endian, truth values as bytes."""
    values = np.ascontiguousarray(values)
    return values.astype(stored(values.dtype.name), copy=False)


def read(path: Path, dtype: str, count: int) -> np.ndarray:
    """Return the dump in a file as `count` elements of dtype, flat and little-endian.

    Hex text: bytes in memory order; a word of more than two digits with 0x in front is a number,
    so that its last two digits are the first byte. Commas, braces and address prefixes
    ("00000010: ...") are skipped. Raises Unlike where size or type differ, Error where the file
    is not what its ending says.
    """
    little = stored(dtype)
    try:
        files.check_regular(path)
        if path.suffix == ".npy":
            return _npy(path, dtype, count)
        content = _bytes(path, count * little.itemsize)
    except OSError as error:
        raise Error(f"cannot read {path}: {files.reason(error)}") from None
    return np.frombuffer(content, little)


def _bytes(path: Path, size: int) -> bytes:
    is_text = path.suffix != ".bin"
    size_read = path.stat().st_size
    if is_text and size_read <= _TEXT_PER_BYTE * size + _TEXT_BESIDES:
        content = parse_hex(path.read_text(encoding="ascii", errors="replace"), str(path))
        size_read = len(content)
    elif is_text:
        raise Unlike(f"it has {size_read} characters, which is too many for {size} bytes")
    if size_read != size:
        raise Unlike(f"it has {size_read} bytes, but the golden has {size}")
    return content if is_text else path.read_bytes()


def parse_hex(text: str, where: str = "the text") -> bytes:
    """Return the bytes of a hex dump, see read(). Raises Error with the line that is something
    else.
    """
    content = bytearray()
    for number, line in enumerate(text.splitlines(), 1):
        for word in _SEPARATORS.split(_ADDRESS.sub("", line, count=1)):
            try:
                content += _word(word)
            except ValueError:
                raise Error(f"{where}, line {number}: {word[:40]!r} is not hexadecimal") from None
    return bytes(content)


def _word(word: str) -> bytes:
    if word[:2] in ("0x", "0X"):
        digits = word[2:]
        if not digits:
            raise ValueError
        return bytes.fromhex("0" * (len(digits) % 2) + digits)[::-1]
    return bytes.fromhex(word.zfill(2) if word else "")


def _npy(path: Path, name: str, count: int) -> np.ndarray:
    dtype = stored(name)
    limit = count * dtype.itemsize + _HEADER_LIMIT
    if path.stat().st_size > limit:
        raise Unlike(f"it has more than {limit} bytes, but the golden has {count * dtype.itemsize}")
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except _NO_NPY:
        raise Error(f"{path} is not a .npy file of numbers") from None
    kinds = {"float32": "f", "bool": "iub"}.get(name, "iu")
    if array.dtype.kind not in kinds or array.dtype.itemsize != dtype.itemsize:
        raise Unlike(f"it holds {array.dtype}, but the golden {name}")
    if array.size != count:
        raise Unlike(f"it has {array.size} elements, but the golden has {count}")
    values = np.ascontiguousarray(array).ravel()
    return values.astype(values.dtype.newbyteorder("<")).view(dtype)
