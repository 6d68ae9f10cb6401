"""Reads a golden set that may be damaged or made up: nothing in it is taken for granted."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error
from ..targets import Profile, profile

_MANIFEST_LIMIT = 1 << 28
_NAME = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+){1,2}")
_FILE = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+){0,2}\.(npy|bin|h|c)")
_CRC = re.compile(r"[0-9a-f]{8}")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One golden. others: profile in words -> CRC-32 of what it computes instead."""

    name: str
    input: int
    layer: str
    dtype: str
    shape: tuple[int, ...]
    crc32: int
    others: Mapping[str, int]

    @property
    def nbytes(self) -> int:
        """Bytes of all its elements."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Goldens:
    """A golden set whose files are all there and whole; entries in program order."""

    folder: Path
    inputs: int
    profile: Profile
    entries: tuple[Entry, ...]

    def values(self, entry: Entry) -> np.ndarray:
        """The elements of a golden, in its shape, little-endian."""
        try:
            content = (self.folder / f"{entry.name}.bin").read_bytes()
        except OSError as error:
            raise Error(f"can not read {entry.name}.bin: {error}") from None
        if len(content) != entry.nbytes or zlib.crc32(content) != entry.crc32:
            raise _damaged(self.folder, f"{entry.name}.bin is not what the manifest describes")
        dtype = np.dtype(entry.dtype).newbyteorder("<")
        return np.frombuffer(content, dtype).reshape(entry.shape)


def _damaged(folder: Path, reason: str) -> Error:
    return Error(f"the golden set {folder} is damaged: {reason}; write it again")


class _Unfit(Exception):
    """The manifest is not of the form it must have; the text says where."""


def load(folder: Path) -> Goldens:
    """The golden set in a folder, every file checked against the manifest's sizes and CRCs.

    Raises Error where there is no golden set, or any of its files is missing or changed.
    """
    folder = Path(folder)
    try:
        manifest = _manifest(folder)
        goldens, listed = _parse(folder, manifest), _parse_files(manifest)
        return _checked(goldens, listed)
    except _Unfit as reason:
        raise _damaged(folder, f"in manifest.json, {reason}") from None
    except OSError as error:
        raise Error(f"can not read the golden set {folder}: {error}") from None


def _checked(goldens: Goldens, listed: Mapping[str, tuple[int, int]]) -> Goldens:
    """The golden set, once all files are as the manifest lists them: path -> size and CRC-32."""
    folder = goldens.folder
    for name, (size, crc) in listed.items():
        _check_file(folder, name, size, crc)
    for entry in goldens.entries:
        if f"{entry.name}.bin" not in listed:
            raise _damaged(folder, f"the manifest lists no {entry.name}.bin")
        if listed[f"{entry.name}.bin"] != (entry.nbytes, entry.crc32):
            raise _damaged(folder, f"the manifest contradicts itself about {entry.name}")
    return goldens


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise Error(f"{folder} holds no golden set: there is no file {path}")
    if path.stat().st_size > _MANIFEST_LIMIT:
        raise _damaged(folder, f"manifest.json is larger than {_MANIFEST_LIMIT} bytes")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(folder, f"manifest.json can not be read ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != "qemu_nn golden":
        raise Error(f"{path} is not the manifest of a golden set")
    if manifest.get("version") != 1:
        raise Error(f"{path} has version {manifest.get('version')!r}; this program reads 1")
    return manifest


def _get(mapping: object, key: str, kind: type) -> Any:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    if type(value) is not kind:
        raise _Unfit(f"{key!r} is {str(value)[:40]!r} instead of a {kind.__name__}")
    return value


def _crc(value: object) -> int:
    if not isinstance(value, str) or not _CRC.fullmatch(value):
        raise _Unfit(f"{str(value)[:40]!r} is no CRC-32")
    return int(value, 16)


def _parse(folder: Path, manifest: dict[str, Any]) -> Goldens:
    entries = tuple(_entry(golden) for golden in _get(manifest, "goldens", list))
    if len({entry.name for entry in entries}) != len(entries):
        raise _Unfit("a golden is listed twice")
    names = _get(manifest, "profile", dict)
    try:
        made_for = profile(*(_get(names, axis, str) for axis in ("path", "cmsis", "rounding")))
    except Error as reason:
        raise _Unfit(f"the profile does not exist: {reason}") from None
    return Goldens(folder, _get(manifest, "inputs", int), made_for, entries)


def _entry(golden: object) -> Entry:
    name, dtype = _get(golden, "name", str), _get(golden, "dtype", str)
    shape = _get(golden, "shape", list)
    if not _NAME.fullmatch(name):
        raise _Unfit(f"{name[:80]!r} is no name of a golden")
    if dtype not in ("int8", "int16", "int32"):
        raise _Unfit(f"{name} has the dtype {dtype[:40]!r}")
    if len(shape) > 8 or not all(type(axis) is int and 0 < axis < 2**31 for axis in shape):
        raise _Unfit(f"{name} has the shape {str(shape)[:40]}")
    others = {p: _crc(crc) for p, crc in _get(golden, "others", dict).items()}
    crc = _crc(_get(golden, "crc32", str))
    layer = _get(golden, "layer", str)
    return Entry(name, _get(golden, "input", int), layer, dtype, tuple(shape), crc, others)


def _parse_files(manifest: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Path -> size and CRC-32 of every file."""
    listed = {}
    for file in _get(manifest, "files", list):
        path = _get(file, "path", str)
        if not _FILE.fullmatch(path):
            raise _Unfit(f"{path[:80]!r} is no file of a golden set")
        listed[path] = (_get(file, "size", int), _crc(_get(file, "crc32", str)))
    return listed


def _check_file(folder: Path, name: str, size: int, crc: int) -> None:
    path = folder / name
    if not path.is_file():
        raise _damaged(folder, f"{name} is missing")
    if path.stat().st_size != size:
        raise _damaged(folder, f"{name} has {path.stat().st_size} bytes instead of {size}")
    if _file_crc(path) != crc:
        raise _damaged(folder, f"{name} has been changed since it was written (its CRC differs)")


def _file_crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc
