"""Array files of the user, read with checks and written atomically."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Optional, Union

import numpy as np
from numpy.lib.npyio import NpzFile

from ..errors import Error
from . import files

PathLike = Union[str, Path]


def read_npz(path: PathLike) -> dict[str, np.ndarray]:
    """Read all arrays of a .npz file, by name; Error for another file, OSError if unreadable.

    Pickled objects are never loaded.
    """
    with _open_array(path) as loaded:
        if isinstance(loaded, np.ndarray):
            raise Error(
                f"{path} is a single array; a .npz file with named arrays is needed: save with "
                "numpy.savez"
            )
        return {name: _get_member(path, loaded, name) for name in loaded.files}


def read_array(path: PathLike, name: str) -> np.ndarray:
    """Read the array of a .npy file, or array `name` of a .npz file; errors as in read_npz()."""
    with _open_array(path) as loaded:
        array = loaded if isinstance(loaded, np.ndarray) else _get_member(path, loaded, name)
    if array.ndim == 0:
        raise Error(
            f"{path} is a single number; an array with an axis of samples is needed, [N, ...]"
        )
    return array


def read_state(path: Optional[PathLike]) -> Union[np.ndarray, dict[str, np.ndarray], None]:
    """Read an initial state: all arrays of a .npz file by name, or one array; None for None."""
    if path is None:
        return None
    return read_npz(path) if Path(path).suffix == ".npz" else read_array(path, "state")


@contextmanager
def _open_array(path: PathLike) -> Iterator[Union[np.ndarray, NpzFile]]:
    """Open a file with numpy; Error if numpy cannot read it."""
    with files.open_regular(path) as file:
        try:
            yield np.load(file, allow_pickle=False)
        except Error:
            raise
        except Exception as error:  # numpy parses headers as Python, which may raise anything
            raise make_array_error(path, error) from None


def make_array_error(path: PathLike, error: Exception) -> Error:
    """Make the error for a file on which numpy raised `error`."""
    said = str(error)  # numpy words it differently for mapped files
    objects = "allow_pickle" in said or "Python objects" in said
    reason = "it holds Python objects" if objects else "it is broken"
    return Error(f"{path} is not a .npy or .npz file of plain numbers: {reason}")


def _get_member(path: PathLike, archive: NpzFile, name: str) -> np.ndarray:
    if name not in archive.files:
        have = ", ".join(archive.files) or "no arrays"
        raise Error(f"{path} has {have}; call the array {name!r}, or save it alone as .npy")
    array = archive[name]
    if not isinstance(array, np.ndarray):
        raise Error(f"{name!r} in {path} is not an array; save with numpy.savez")
    return array


def write_npz(path: PathLike, arrays: Mapping[str, np.ndarray], compressed: bool = False) -> None:
    """Write arrays as .npz, under any names; equal arrays give equal bytes."""
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with files.open_for_writing(Path(path)) as file, zipfile.ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = method
            with archive.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
