"""Arrays from and to the user's files: what is read is checked, what is written appears whole."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Union

import numpy as np

from . import files
from .errors import Error

_BROKEN = (
    *(ValueError, EOFError, KeyError, NotImplementedError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)

PathLike = Union[str, Path]


def read_npz(path: PathLike) -> dict[str, np.ndarray]:
    """Every array of a .npz file, by name. Raises Error for anything else, OSError if unreadable.

    Pickled objects are never loaded.
    """
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise Error(f"{path} is a single array; a .npz with named arrays is needed")
    return loaded


def read_array(path: PathLike, name: str) -> np.ndarray:
    """The array of a .npy file, or the one called `name` of a .npz; errors as for read_npz."""
    loaded = _load(path)
    if not isinstance(loaded, np.ndarray):
        if name not in loaded:
            have = ", ".join(loaded) or "no arrays"
            raise Error(f"{path} holds {have}; name the array {name!r}, or save it alone as .npy")
        loaded = loaded[name]
    if loaded.ndim == 0:
        raise Error(f"{path} holds a single number, not an array with an axis of samples")
    return loaded


def _load(path: PathLike) -> Union[np.ndarray, dict[str, np.ndarray]]:
    try:
        with open(path, "rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except _BROKEN as error:
        reason = "it holds Python objects" if "allow_pickle" in str(error) else "it is broken"
        raise Error(f"{path} is not a .npy or .npz file of plain numbers: {reason}") from None
    for array in [arrays] if isinstance(arrays, np.ndarray) else arrays.values():
        if not isinstance(array, np.ndarray):
            raise Error(f"{path} holds something that is not an array; save with numpy.savez")
    return arrays


def write_npz(path: PathLike, arrays: Mapping[str, np.ndarray], compressed: bool = False) -> None:
    """Write arrays as .npz, under any names; the same arrays give the same bytes."""
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with files.writing(Path(path)) as file, zipfile.ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = method
            with archive.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
