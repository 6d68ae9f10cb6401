"""Reading of a golden set that may be damaged or forged: everything is verified."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..errors import Error, ModelError
from ..functions.shapes import DTYPES
from ..io.archive import Archive, open_archive
from ..io.arguments import one_of
from ..io.files import MEGABYTE, read_bytes
from ..io.typed_json import Fields, parse_json
from ..targets import DEFAULT_TFLM, ESP_DL, KERNELS, Profile, Target, core_words, cores_of, profile
from .dumps import to_stored

_MANIFEST = "manifest.json"
_MANIFEST_LIMIT = 256 * MEGABYTE
_NAME = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+){1,2}")
_FILE = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+){0,2}\.(npy|bin|h|c)")
_CRC = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True)
class Entry:
    """One golden. others: profile in words -> CRC-32 of its different result."""

    name: str
    input: int
    layer: str
    dtype: str
    shape: tuple[int, ...]
    crc32: int
    others: Mapping[str, int]

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Goldens:
    """Complete golden set; entries in program order.

    profile: of its bits. core: in words. folder: or the archive. held: golden -> its bytes, if they
    are from an archive. one: the caller named the file of one golden.
    """

    folder: Path
    inputs: int
    profile: Profile
    core: str
    entries: tuple[Entry, ...]
    held: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    one: bool = False

    def values(self, entry: Entry) -> np.ndarray:
        """Return the elements of a golden in its shape, little-endian, booleans as bytes."""
        if entry.name in self.held:
            return np.frombuffer(self.held[entry.name], to_stored(entry.dtype)).reshape(entry.shape)
        content = _read_content(self.folder, f"{entry.name}.bin", entry.nbytes, entry.crc32)
        dtype = to_stored(entry.dtype)
        return np.frombuffer(content, dtype).reshape(entry.shape)


def load(folder: Path) -> Goldens:
    """Return the golden set in a folder or an archive, checked against the manifest's sizes and
    CRCs; of a file in such a folder, the one golden that it holds.

    Raises Error if there is no golden set, or a file is missing or changed.
    """
    if folder.suffix.lower() == ".npz" and folder.is_file():
        return _read_archive(folder)
    if folder.is_file():
        return _load_one(folder)
    path = folder / _MANIFEST
    try:
        if not path.is_file():
            raise Error(f"{folder} is no golden set: it has no file {path}")
        try:
            manifest = parse_json(read_bytes(path, _MANIFEST_LIMIT), "manifest.json")
            _check_format(manifest)
            goldens, listed = _read_goldens(folder, manifest), _list_contents(manifest)
        except ModelError as error:
            raise _make_damage_error(folder, str(error)) from None
        _check_files(goldens, listed)
    except OSError as error:
        raise Error(f"cannot read the golden set {folder}: {error}") from None
    return goldens


def _load_one(file: Path) -> Goldens:
    """Return a golden set with the one golden that a file holds."""
    for folder in file.absolute().parents:
        if (folder / _MANIFEST).is_file():
            goldens, name = load(folder), file.absolute().relative_to(folder)
            one = (
                entry for entry in goldens.entries if entry.name == name.with_suffix("").as_posix()
            )
            found = tuple(one)
            if found:
                return replace(goldens, entries=found, one=True)
    raise Error(
        f"{file} is no golden: give the folder or the .npz file that `golden` wrote, or a file in "
        "that folder"
    )


def _read_archive(path: Path) -> Goldens:
    """Return the golden set of a .npz file."""
    try:
        with open_archive(path) as archive:
            if _MANIFEST not in archive.names:
                raise Error(f"{path} is no golden set: it has no {_MANIFEST}")
            manifest = parse_json(archive.read(_MANIFEST), _MANIFEST)
            _check_format(manifest)
            goldens, listed = _read_goldens(path, manifest), _list_contents(manifest)
            held = {entry.name: _get_member(archive, entry, listed) for entry in goldens.entries}
    except ModelError as error:
        raise _make_damage_error(path, str(error)) from None
    return replace(goldens, held=held)


def _get_member(archive: Archive, entry: Entry, listed: Mapping[str, tuple[int, int]]) -> bytes:
    """Return the elements of a golden in an archive."""
    name = f"{entry.name}.npy"
    content = archive.read(name)
    values = content[len(content) - entry.nbytes :] if len(content) > entry.nbytes else b""
    if listed.get(name) != (len(content), zlib.crc32(content)):
        raise ModelError(f"{name} has been changed since it was written (its CRC differs)")
    if zlib.crc32(values) != entry.crc32:
        raise ModelError(
            f"{_MANIFEST} gives {entry.name} a shape, type and size that contradict one another"
        )
    return values


def _make_damage_error(folder: Path, reason: str) -> Error:
    return Error(f"the golden set {folder} is damaged: {reason}; write it again")


def _check_format(manifest: Fields) -> None:
    if manifest.text("format") != "qemu_nn golden":
        raise manifest.error("it is not the manifest of a golden set")
    version = manifest.integer("version")
    if version != 1:
        raise manifest.error(
            f"another release wrote it in version {version}: compare with that release"
        )


def _read_goldens(folder: Path, manifest: Fields) -> Goldens:
    entries = tuple(_parse_entry(golden) for golden in manifest.objects("goldens"))
    if len({entry.name for entry in entries}) != len(entries):
        raise manifest.error("a golden is listed twice")
    names = manifest.object("profile")
    try:
        cmsis = (names.text("cmsis"), names.text("rounding"))
        tflm = (names.text("kernels", KERNELS[0]), names.text("tflm", DEFAULT_TFLM))
        path, esp_nn = names.text("path"), names.text("esp_nn", "")
        if names.text("esp_dl", ""):
            one_of((ESP_DL,), names.text("esp_dl"), "release of ESP-DL")
            made_for = Target(path).esp_dl_profile()
        elif esp_nn:
            made_for = Target(path, tflm=tflm[1], esp_nn=esp_nn).profile()
        else:
            made_for = profile(path, *cmsis, *tflm)
    except Error as error:
        raise names.error(str(error)) from None
    cores = cores_of([made_for.path])
    named = names.text("core", "").lower()  # may be the path's own name
    core = core_words([named] if named in cores else cores)
    return Goldens(folder, manifest.integer("inputs"), made_for, core, entries)


def _parse_entry(golden: Fields) -> Entry:
    name, dtype, shape = golden.text("name"), golden.text("dtype"), golden.integers("shape")
    if not _NAME.fullmatch(name):
        raise golden.error("'name' is not the name of a golden")
    if dtype not in DTYPES.values():
        raise golden.error(f"'dtype' must be one of {', '.join(DTYPES.values())}")
    if len(shape) > 8 or not all(0 < axis < 2**31 for axis in shape):
        raise golden.error("'shape' is not the shape of a layer")
    others = golden.object("others")
    return Entry(
        name,
        golden.integer("input"),
        golden.text("layer"),
        dtype,
        tuple(shape),
        _crc32(golden, "crc32"),
        {other: _crc32(others, other) for other in others.values},
    )


def _crc32(fields: Fields, key: str) -> int:
    digits = fields.text(key)
    if not _CRC.fullmatch(digits):
        raise fields.error(f"{key!r} must be a CRC-32, eight hexadecimal digits")
    return int(digits, 16)


def _list_contents(manifest: Fields) -> dict[str, tuple[int, int]]:
    """Return path -> size and CRC-32 of every file."""
    listed = {}
    for file in manifest.objects("files"):
        path = file.text("path")
        if not _FILE.fullmatch(path):
            raise file.error("'path' is not a file of a golden set")
        listed[path] = (file.integer("size"), _crc32(file, "crc32"))
    return listed


def _check_files(goldens: Goldens, listed: Mapping[str, tuple[int, int]]) -> None:
    for name, (size, crc) in listed.items():
        _read_content(goldens.folder, name, size, crc)
    for entry in goldens.entries:
        if listed.get(f"{entry.name}.bin") != (entry.nbytes, entry.crc32):
            raise _make_damage_error(
                goldens.folder,
                f"manifest.json gives {entry.name} a shape, type and size that contradict "
                "one another",
            )


def _read_content(folder: Path, name: str, size: int, crc: int) -> bytes:
    """Return a file of the set, after a check against the manifest."""
    path = folder / name
    if not path.is_file():
        raise _make_damage_error(folder, f"{name} is missing")
    if path.stat().st_size != size:
        raise _make_damage_error(
            folder, f"{name} has {path.stat().st_size} bytes instead of {size}"
        )
    content = path.read_bytes()
    if zlib.crc32(content) != crc:
        raise _make_damage_error(
            folder, f"{name} has been changed since it was written (its CRC differs)"
        )
    return content
