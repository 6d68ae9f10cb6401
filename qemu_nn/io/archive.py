"""Zip files of arrays (.npz, .qnz), read within limits and without pickle, written reproducibly."""

from __future__ import annotations

import ast
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from pathlib import Path

import numpy as np

from ..errors import ModelError
from . import files

#: Most bytes of an unpacked archive, more than any microcontroller stores.
LIMIT = 256 * files.MEGABYTE

MOST_ENTRIES = 65536
_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 4096

#: Element type in the spelling of .npy files -> numpy's name.
INTEGERS = {"|i1": "int8", "<i2": "int16", "<i4": "int32"}
FLOATS = {"<f4": "float32", "<f8": "float64"}
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError),
    *(NotImplementedError, RuntimeError, OverflowError, IndexError),
)


class Archive:
    """An open zip file that checks the size of an entry before unpacking it."""

    def __init__(self, path: Path, stored: zipfile.ZipFile) -> None:
        self.path = path
        self._zip = stored
        self._entries = {entry.filename: entry for entry in stored.infolist()}
        if len(self._entries) < len(stored.infolist()):
            raise ModelError(
                f"{path} has two entries with the same name; names must be unique: write the "
                "archive again"
            )
        if len(self._entries) > MOST_ENTRIES:
            raise ModelError(
                f"{path} has {len(self._entries)} entries; at most {MOST_ENTRIES} are read"
            )
        size = sum(entry.file_size for entry in self._entries.values())
        if size > LIMIT:
            raise ModelError(
                f"{path} unpacks to {size} bytes; at most {LIMIT // files.MEGABYTE} MiB are read"
            )

    @property
    def names(self) -> set[str]:
        """Names of all entries."""
        return set(self._entries)

    def folder(self, name: str) -> Archive:
        """Return the entries below a folder, under their names in it."""
        inner, start = copy(self), f"{name}/"
        inner._entries = {
            entry[len(start) :]: own
            for entry, own in self._entries.items()
            if entry.startswith(start)
        }
        return inner

    def read(self, name: str, most: int = LIMIT) -> bytes:
        """Unpack an entry of at most `most` bytes and verify its checksum."""
        if name not in self._entries:
            raise ModelError(f"{self.path} has no entry {name}")
        entry = self._entries[name]
        where = f"{self.path}: {name}"
        if entry.file_size > most:
            raise ModelError(f"{where} unpacks to {entry.file_size} bytes; at most {most} are read")
        if entry.flag_bits & 1 or entry.compress_type not in _METHODS:
            raise ModelError(f"{where} is encrypted, or compressed by an unsupported method")
        try:
            with self._zip.open(entry) as stream:
                data = stream.read(entry.file_size + 1)
        except _DAMAGE as error:
            raise ModelError(f"{where} is damaged: {files.get_reason(error)}") from None
        if len(data) != entry.file_size:
            raise ModelError(f"{where} is damaged: its data end early; copy the file again")
        return data

    def array(self, name: str, dtypes: Mapping[str, str] = INTEGERS) -> np.ndarray:
        """Read the array of a .npy entry; its element type must be one of `dtypes`."""
        return parse_npy(self.read(name), f"{self.path}: {name}", dtypes)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open the zip file at a path as an Archive; ModelError if it is none."""
    with ExitStack() as held:
        try:
            stored = held.enter_context(
                zipfile.ZipFile(held.enter_context(files.open_regular(path)))
            )
        except zipfile.BadZipFile:
            raise ModelError(f"cannot read {path}: it is damaged, or no zip archive") from None
        except _DAMAGE as error:
            raise ModelError(f"cannot read {path}: {files.get_reason(error)}") from None
        yield Archive(path, stored)


def write_archive(path: Path, entries: Mapping[str, bytes]) -> None:
    """Write a zip file of these entries; equal entries give equal bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name)  # its date is 1980-01-01
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, entries[name])
    files.write_bytes(path, whole.getvalue())


def to_little_endian(array: np.ndarray) -> np.ndarray:
    """Convert an array to little-endian, C-contiguous elements, as files store them."""
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def format_npy(array: np.ndarray) -> bytes:
    """Serialize an array as a .npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, to_little_endian(array), (1, 0), allow_pickle=False)
    return stream.getvalue()


def parse_npy(data: bytes, where: str, dtypes: Mapping[str, str] = INTEGERS) -> np.ndarray:
    """Parse a .npy file into a read-only array in this host's byte order.

    The file must be little-endian, in C order, and of one of the types; ModelError names any other
    property.
    """
    header, start = _parse_header(data, where)
    dtype, shape = header.get("descr"), header.get("shape")
    if not isinstance(dtype, str) or dtype not in dtypes:
        have = ", ".join(dtypes.values())
        raise ModelError(f"{where} has elements of type {dtype!r}; have: {have}, little-endian")
    if not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n <= LIMIT for n in shape):
        raise ModelError(f"{where} has the shape {shape!r}; axes must be integers of 0 or more")
    if header.get("fortran_order") is not False and len(shape) > 1:
        raise ModelError(
            f"{where} is in Fortran order; save the result of numpy.ascontiguousarray()"
        )
    expected = math.prod(shape) * np.dtype(dtype).itemsize
    if len(shape) > 8 or expected != len(data) - start:
        raise ModelError(
            f"{where} has {len(data) - start} bytes of data, but its shape {list(shape)} "
            f"needs {expected}"
        )
    array: np.ndarray = np.ndarray(shape, dtype, data, start)
    return array.astype(dtypes[dtype], copy=False)


def _parse_header(data: bytes, where: str) -> tuple[dict[str, object], int]:
    """Parse the header of a .npy file; return it and the offset of the elements."""
    version, size_format = data[6:8], "<I" if data[6:7] == b"\x02" else "<H"
    start = 8 + struct.calcsize(size_format)
    if data[:6] != _MAGIC or version not in (b"\x01\x00", b"\x02\x00") or len(data) < start:
        raise ModelError(f"{where} is not a .npy array")
    (size,) = struct.unpack_from(size_format, data, 8)
    text = data[start : start + size]
    try:
        if size > _LONGEST_HEADER:
            raise ValueError
        header = ast.literal_eval(text.decode("latin-1").strip())
        if not isinstance(header, dict):
            raise ValueError
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ModelError(f"{where} has no readable .npy header") from None
    return header, start + size
