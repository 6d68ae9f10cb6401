"""Arrays in .npy and .npz files, read on demand, in the process that uses them."""

from __future__ import annotations

import mmap
import os
import re
import struct
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Optional, Union

import numpy as np

from ..errors import Error
from . import files
from .arrays import make_array_error, read_array
from .selection import Indices
from .sources import Shards, Source, make_row_reader

#: Signature of a member of a .zip file, and the bytes of its header before the name.
_LOCAL, _LOCAL_BYTES = b"PK\3\4", 30


@dataclass(frozen=True)
class Mapped(Source):
    """Uncompressed array in a file.

    The file is mapped anew for each part, so its pages no longer count as memory of the process. A
    pickle contains the location of the array, not the array.
    """

    path: Path
    offset: int
    dtype: np.dtype
    whole: tuple[int, ...]
    fortran: bool

    @property
    def label(self) -> str:
        """The file's name."""
        return self.path.name

    def take(self, which: Indices) -> np.ndarray:
        """Return a copy of these samples."""
        return np.array(self.view()[make_row_reader(which)], subok=False)

    def view(self) -> np.ndarray:
        """Return all samples, read as they are used."""
        if 0 in self.whole:  # nothing to map
            return np.empty(self.whole, self.dtype)
        order = "F" if self.fortran else "C"
        try:
            files.check_regular(self.path)
            mapped: np.ndarray = np.memmap(  # type: ignore[call-overload]
                self.path, self.dtype, "r", self.offset, self.whole, order
            )
        except OSError as error:
            raise Error(f"cannot read {self.path}: {files.get_reason(error)}") from None
        except ValueError:
            raise Error(
                f"{self.path} is cut short: it has fewer samples than its header says; copy it "
                "again"
            ) from None
        return mapped


@dataclass(frozen=True)
class Member(Source):
    """An array in a compressed .npz file, which can only be read whole."""

    path: Path
    member: str

    def __reduce__(self) -> tuple[type[Member], tuple[Path, str]]:
        return Member, (self.path, self.member)

    @cached_property
    def _array(self) -> np.ndarray:
        return read_array(self.path, self.member)

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self._array.dtype

    @property
    def whole(self) -> tuple[int, ...]:
        """Shape of all samples together."""
        return self._array.shape

    @property
    def label(self) -> str:
        """The file's name."""
        return self.path.name

    def take(self, which: Indices) -> np.ndarray:
        """Return the samples with these numbers."""
        return self._array[make_row_reader(which)]


def map_npy(path: Path) -> Mapped:
    """Return the array of a .npy file. Raises Error for anything else, OSError if it is
    unreadable.
    """
    with files.open_regular(path) as file:
        return _map_array(file, path, os.fstat(file.fileno()).st_size)


def reuse_mapping(x: object) -> Optional[Mapped]:
    """Return the file of an array that numpy has mapped; None for every other array,
    and for parts.
    """
    if not isinstance(x, np.memmap) or not isinstance(x.base, mmap.mmap) or x.mode == "c":
        return None
    if x.filename is None or not x.size:
        return None
    return Mapped(_make_absolute(x.filename), x.offset, x.dtype, x.shape, not x.flags.c_contiguous)


def map_npz(path: Path) -> dict[str, Source]:
    """Return every array of a .npz file by name; uncompressed ones are mapped.

    Raises Error for any other file, OSError if it is unreadable.
    """
    found: dict[str, Source] = {}
    with files.open_regular(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
        except Exception as error:  # a damaged archive fails in many ways
            raise make_array_error(path, error) from None
        for member in members:
            name, dot, ending = member.filename.rpartition(".")
            if not dot or ending != "npy":
                raise Error(f"{member.filename!r} in {path} is not an array; save with numpy.savez")
            stored = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
            found[name] = (
                _find_stored(file, path, member) if stored else Member(_make_absolute(path), name)
            )
    return found


def _find_stored(file: BinaryIO, path: Path, member: zipfile.ZipInfo) -> Mapped:
    """Return an uncompressed member of the archive."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL_BYTES)
    if len(header) < _LOCAL_BYTES or header[:4] != _LOCAL:
        raise make_array_error(path, ValueError("its members are not where it says"))
    name, extra = struct.unpack("<2H", header[-4:])
    start = member.header_offset + _LOCAL_BYTES + name + extra
    file.seek(start)
    return _map_array(file, path, start + member.file_size)


def _map_array(file: BinaryIO, path: Path, end: int) -> Mapped:
    """Return the array with a header at this offset and data that end before `end`."""
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        shape, fortran, dtype = read[np.lib.format.read_magic(file)](file)
    except OSError:
        raise
    except Exception as error:  # numpy parses a header as Python and may raise
        raise make_array_error(path, error) from None
    if dtype.hasobject:
        raise make_array_error(path, ValueError("Python objects"))
    if not shape:
        raise Error(
            f"{path} is a single number; an array with an axis of samples is needed, [N, ...]"
        )
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size > end - file.tell():
        raise make_array_error(path, ValueError("it is cut short"))
    return Mapped(_make_absolute(path), file.tell(), dtype, shape, fortran)


def _make_absolute(path: Union[str, Path]) -> Path:
    """Return a path that means the same file in a process with another working folder."""
    return Path(os.path.abspath(path))


def map_shards(folder: Path) -> Source:
    """Return all .npy files of a folder, concatenated; numbers in their names are in
    order.
    """
    found = [path for path in folder.iterdir() if path.suffix.lower() == ".npy"]
    if not found:
        raise Error(f"{folder} contains no .npy files")
    return Shards([map_npy(path) for path in sorted(found, key=_split_numbers)])


def _split_numbers(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Return a sort key that orders part_9.npy before part_10.npy."""
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], path.name
