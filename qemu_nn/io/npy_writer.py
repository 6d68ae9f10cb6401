"""Incremental writing of arrays, in constant memory."""

from __future__ import annotations

import shutil
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Callable

import numpy as np

from ..errors import Error
from . import files

#: Bytes of a .npy header: a multiple of 64, enough for many axes.
_HEADER = 256

#: Takes the rows of arrays by name.
Append = Callable[[Mapping[str, np.ndarray]], None]


class GrowingArray:
    """A .npy file to which rows are appended; its header is written last."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self._like, self._count = stream, np.empty(0), 0
        stream.write(bytes(_HEADER))

    def append(self, rows: np.ndarray) -> None:
        """Write rows [n, ...], all of one shape and type."""
        self._like = rows[:0]
        self._count += len(rows)
        self.stream.write(np.ascontiguousarray(rows).tobytes())

    def finish(self) -> None:
        """Write the header."""
        about = {
            "descr": np.lib.format.dtype_to_descr(self._like.dtype),
            "fortran_order": False,
            "shape": (self._count, *self._like.shape[1:]),
        }
        text = repr(about).encode("latin1").ljust(_HEADER - 11) + b"\n"
        self.stream.seek(0)
        self.stream.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
        self.stream.seek(0, 2)


@contextmanager
def open_growing(path: Path, stem: Callable[[str], str]) -> Iterator[Append]:
    """Yield a function that appends rows of arrays: to a .npz, to a .npy of the only array, or else
    to a folder.

    stem: the name of an array's .npy file in a folder; called for every array. All files are
    created at the end, or none. Raises Error if one cannot be written.
    """
    arrays: dict[str, GrowingArray] = {}
    with ExitStack() as stack:

        def begin(name: str) -> GrowingArray:
            file, only = stem(name), path.suffix == ".npy"
            if only and arrays:
                raise Error(f"{path} is one array, but there are several: name it {path.stem}.npz")
            if path.suffix == ".npz":
                beside = stack.enter_context(_open_unnamed(path))
            else:
                if not only:
                    files.make_folder(path)
                beside = stack.enter_context(
                    files.open_for_writing(path if only else path / f"{file}.npy")
                )
            return GrowingArray(beside)

        def append(rows: Mapping[str, np.ndarray]) -> None:
            for name, values in rows.items():
                with files.naming(path):
                    if name not in arrays:
                        arrays[name] = begin(name)
                    arrays[name].append(values)

        yield append
        if not arrays:
            raise Error("the data have no samples: give one or more")
        for array in arrays.values():
            with files.naming(path):
                array.finish()
        if path.suffix == ".npz":
            _write_archive(path, {name: array.stream for name, array in arrays.items()})


@contextmanager
def _open_unnamed(path: Path) -> Iterator[BinaryIO]:
    """Yield a file without a name on the same disk."""
    file = TemporaryFile(dir=path.parent)  # noqa: SIM115  # its end could raise, see below
    try:
        yield file
    finally:
        with suppress(OSError):  # of bytes that a full disk does not take
            file.close()


def _write_archive(path: Path, streams: Mapping[str, BinaryIO]) -> None:
    """Write a .npz file of the written arrays."""
    with files.open_for_writing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, stream in streams.items():
            stream.seek(0)
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                shutil.copyfileobj(stream, member, files.MEGABYTE)
