"""Where a firmware's weights are: arrays of weights.npz, or names in its C headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np

from ..errors import ModelError
from ..io.archive import open_archive
from .c_header import Header

_REFERENCE = re.compile(r"([^:\\]+):(\w+)")


class Headers:
    """The headers beside a network.json, each read once; a reference is "weights.h:NAME"."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, Header] = {}

    def array(self, reference: str, dtype: str) -> np.ndarray:
        """An array of a header, flat."""
        header, name = self._find(reference)
        return header.array(name, dtype)

    def integer(self, reference: str) -> int:
        """An integer #define of a header."""
        header, name = self._find(reference)
        return header.integer(name)

    def _find(self, reference: str) -> tuple[Header, str]:
        parts = _REFERENCE.fullmatch(reference)
        path = PurePosixPath(parts[1]) if parts else PurePosixPath("..")
        if parts is None or path.is_absolute() or ".." in path.parts:
            raise ModelError(
                f"{reference!r} must be a header beside network.json and a name in it, "
                "such as weights.h:CONV1_WT"
            )
        if parts[1] not in self._read:
            self._read[parts[1]] = Header(self._folder / path)
        return self._read[parts[1]], parts[2]


def is_reference(name: object) -> bool:
    """Does a string name something in a header?"""
    return isinstance(name, str) and ":" in name


def read_arrays(
    folder: Path, wanted: Mapping[str, tuple[str, str]], headers: Headers
) -> dict[str, np.ndarray]:
    """Arrays by their names. wanted: name -> (dtype, where a message says it is needed)."""
    arrays = {}
    for name, (dtype, where) in wanted.items():
        if is_reference(name):
            try:
                arrays[name] = headers.array(name, dtype)
            except ModelError as error:
                raise ModelError(f"{where}: {error}") from None
    stored = [name for name in wanted if name not in arrays]
    if stored:
        arrays.update(_read_npz(folder / "weights.npz", stored, wanted))
    return arrays


def _read_npz(
    path: Path, names: list[str], wanted: Mapping[str, tuple[str, str]]
) -> dict[str, np.ndarray]:
    if not path.exists():
        _, where = wanted[names[0]]
        raise ModelError(f"{where} names the array {names[0]!r}, but there is no file {path}")
    with open_archive(path) as archive:
        for name in names:
            if f"{name}.npy" not in archive.names:
                raise ModelError(f"{wanted[name][1]}: there is no array {name!r} in {path}")
        return {name: archive.array(f"{name}.npy") for name in names}
