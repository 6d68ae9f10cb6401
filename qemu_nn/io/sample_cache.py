"""Cache of decoded samples in the user's cache folder: bounded, checked, shared by processes."""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error

#: Variables of the environment: the folder of the cache, and its most bytes.
FOLDER, SIZE = "QEMU_NN_CACHE", "QEMU_NN_CACHE_SIZE"

#: Most bytes without the variable, and the share of them that remains when old entries are removed.
_MOST, _REMAIN = 4 * 2**30, 0.9

#: Bytes of the digest at the start of an entry.
_DIGEST = hashlib.sha256().digest_size

#: Names of the folders and files of the cache: nothing else is ever removed.
_FOLDER, _FILE = re.compile(r"[0-9a-f]{2}"), re.compile(r"[0-9a-f]{62}(\.[0-9a-f]{8}\.tmp)?\Z")

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass
class SampleCache:
    """Arrays of bytes by keys, each in its own file: a digest of key and bytes, then the bytes.

    A file of the wrong size or digest is no entry. Entries that this process has used since the
    cache was opened are never removed, so that a data set larger than the cache keeps its first
    part.

    Attributes
    ----------
    folder : Path
        The folder, which only its owner may write.
    most : int
        Most bytes of all entries.
    """

    folder: Path
    most: int

    def __post_init__(self) -> None:
        self._opened, self._lock = time.time(), threading.Lock()
        self._bytes = self._limit = 0  # unknown until the first entry is written
        self._full = False

    def __reduce__(self) -> tuple[Any, ...]:
        return SampleCache, (self.folder, self.most)

    def read(self, key: bytes, shape: tuple[int, ...]) -> Optional[np.ndarray]:
        """Return the uint8 array of a key, or None if there is no undamaged one of this shape."""
        path, size = self._get_path(key), math.prod(shape)
        try:
            with open(path, "rb", buffering=0, opener=_open_safely) as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or found.st_size != _DIGEST + size:
                    return None
                content = file.read(_DIGEST + size + 1)
            data = memoryview(content or b"")
            if data[:_DIGEST] != _compute_digest(key, data[_DIGEST:]):
                return None
            if found.st_mtime < self._opened:
                os.utime(path)
        except OSError:
            return None
        return np.frombuffer(content, np.uint8, offset=_DIGEST).reshape(shape)

    def write(self, key: bytes, array: np.ndarray) -> None:
        """Store an array, unless the cache is full or its disk is."""
        if not self._reserve(_DIGEST + array.nbytes):
            return
        content = array.tobytes()
        path = self._get_path(key)
        beside = path.with_name(f"{path.name}.{os.urandom(4).hex()}.tmp")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                with open(beside, "xb") as file:
                    file.write(_compute_digest(key, content))
                    file.write(content)
                os.replace(beside, path)
            finally:
                with suppress(OSError):
                    beside.unlink()
        except (FileNotFoundError, PermissionError):  # another process removes or reads the entry
            pass
        except OSError:
            self._full = True

    def _get_path(self, key: bytes) -> Path:
        name = key.hex()
        return self.folder / name[:2] / name[2:]

    def _reserve(self, size: int) -> bool:
        """Return true if an entry of this size fits; remove old entries for it."""
        with self._lock:
            if not self._full and self._bytes + size > self._limit:
                self._bytes, self._limit = self._remove_old(size)
                self._full = self._bytes + size > self._limit
            if not self._full:
                self._bytes += size
            return not self._full

    def _remove_old(self, size: int) -> tuple[int, int]:
        """Return the bytes of all entries, and the most that they may have.

        The cache takes at most half of the disk's free space. For one more entry of this size,
        entries that were not used since the cache was opened make way, those not used for the
        longest time first.
        """
        entries = sorted(self._list_entries())
        total = sum(each[1] for each in entries)
        try:
            most = min(self.most, total + shutil.disk_usage(self.folder).free // 2)
        except OSError:
            return total, 0
        if total + size > most:
            for used, bytes_, path in entries:
                if total + size <= _REMAIN * most or used >= self._opened:
                    break
                with suppress(OSError):
                    os.unlink(path)
                total -= bytes_
        return total, most

    def _list_entries(self) -> Iterator[tuple[float, int, str]]:
        """Yield the time of the last use, the bytes and the path of each file."""
        with suppress(OSError), os.scandir(self.folder) as folders:
            for folder in folders:
                if not _FOLDER.fullmatch(folder.name) or folder.is_symlink():
                    continue
                with suppress(OSError), os.scandir(folder.path) as files:
                    for file in filter(lambda each: _FILE.match(each.name), files):
                        with suppress(OSError):
                            found = file.stat(follow_symlinks=False)
                            yield found.st_mtime, found.st_size, file.path


def _open_safely(path: str, flags: int) -> int:
    """Open a file; neither follow a link nor wait for a pipe."""
    names = ("O_NOFOLLOW", "O_NONBLOCK")
    return os.open(path, flags | sum(getattr(os, name, 0) for name in names))


def open_cache() -> Optional[SampleCache]:
    """Return the cache that the environment names, by default in the user's cache folder.

    Returns None for a size of 0, or if the default folder cannot be used. Raises Error for a named
    folder that cannot be used, or that other users may write.
    """
    most = _parse_size(os.environ.get(SIZE, ""))
    named = os.environ.get(FOLDER, "")
    if not most:
        return None
    try:
        folder = Path(named).absolute() if named else _find_user_folder() / "samples"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = _find_fault(folder)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    if not reason:
        return SampleCache(folder, most)
    if named:
        raise Error(f"{FOLDER} is {named}, which cannot be the cache: {reason}")
    return None


def _find_user_folder() -> Path:
    """Return the folder of this package in the user's cache folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "qemu_nn"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "qemu_nn"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "qemu_nn"


def _find_fault(folder: Path) -> str:
    """Return the reason that a folder cannot be a cache; "" without one."""
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return "you may not read and write in it; name a folder of your own"
    if sys.platform != "win32":
        found = os.stat(folder)
        if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "other users may write into it; make a folder with mode 700"
    return ""


def _parse_size(text: str) -> int:
    """Return bytes of a text such as 20G; the default of an empty text."""
    if not text.strip():
        return _MOST
    found = re.fullmatch(r"\s*(\d{1,15}) *([KMGT]?)(?:iB|B)?\s*", text, re.ASCII | re.IGNORECASE)
    if not found:
        raise Error(f"{SIZE} is {text[:40]!r}, but must be a size such as 500M or 20G, or 0")
    return int(found[1]) * _UNITS[found[2].upper()]


def _compute_digest(key: bytes, content: Union[bytes, memoryview]) -> bytes:
    digest = hashlib.sha256(key)
    digest.update(content)
    return digest.digest()
