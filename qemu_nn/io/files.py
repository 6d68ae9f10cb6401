"""Files, read within limits and written atomically."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Optional, Union

from ..errors import Error, ModelError

MEGABYTE = 2**20


def check_regular(path: Union[str, Path]) -> None:
    """Raise OSError for a folder, a pipe or a device, which a read could block on forever."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def open_regular(path: Union[str, Path]) -> BinaryIO:
    """Open a regular file for reading; OSError for any other path."""
    check_regular(path)
    return open(path, "rb")


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a file of at most `limit` bytes; ModelError if it is longer or unreadable."""
    try:
        with open_regular(path) as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {get_reason(error)}") from None
    if len(data) > limit:
        raise ModelError(f"{path} has more than {limit // MEGABYTE} MiB, the most that are read")
    return data


def read_start(path: Path, count: int) -> bytes:
    """Read at most the first `count` bytes of a file; ModelError if it is unreadable."""
    try:
        with open_regular(path) as stream:
            return stream.read(count)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {get_reason(error)}") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with open_for_writing(path) as stream:
        stream.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; surrogates in file names are escaped."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def check_place(path: Path) -> None:
    """Raise Error, before any work, if no file can be written at a path."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise Error(f"there is no folder {path.parent} for {path.name}: create it first")
    if path.is_dir():
        raise Error(f"{path} is a folder: name a file in it")
    if path.exists() and not path.is_file():
        raise Error(f"cannot write {path}: it is not a regular file")
    if not os.access(folder, os.W_OK):
        raise Error(f"cannot write {path}: you may not write into the folder {folder}")


def make_folder(path: Path) -> None:
    """Create a folder and its parents, unless it exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot make the folder {path}: {get_reason(error)}") from None


@contextmanager
def open_for_writing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file next to the path and rename it at the end.

    A replaced file keeps its mode. A link remains, and its target is replaced.
    """
    try:
        target = Path(os.path.realpath(path))
        beside = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
        replaces = target.exists()
        if replaces:
            check_regular(target)
        try:
            with open(beside, "xb") as stream:
                if replaces:
                    shutil.copymode(target, beside)
                yield stream
            os.replace(beside, target)
        finally:
            with suppress(OSError):
                beside.unlink()
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot write {path}: {get_reason(error)}") from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name a path in the error of a write that fails, such as on a full disk."""
    try:
        yield
    except OSError as error:
        raise ModelError(f"cannot write {path}: {get_reason(error)}") from None


@contextmanager
def lock_file(path: Optional[Path]) -> Iterator[None]:
    """Lock a file that this process replaces repeatedly; None locks nothing.

    The lock is on a file next to the path, because a replaced file loses its own lock. It ends with
    the process. Raises Error if another process has it.
    """
    if path is None:
        yield
        return
    check_place(path)
    lock = path.with_name(f".{path.name}.lock")
    with naming(lock):
        number = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(number)
        if not os.path.samestat(os.stat(lock), os.fstat(number)):
            raise BlockingIOError  # its owner has removed it, and a new one exists
    except OSError:
        os.close(number)
        raise Error(f"another process uses {path}: wait for its end or name another file") from None
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # before the lock ends: afterwards the file may be another process's
        os.close(number)
        if sys.platform == "win32":  # which cannot remove an open file
            with suppress(OSError):
                lock.unlink()


def _lock(number: int) -> None:
    """Lock an open file; OSError where another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)


def get_reason(error: Exception) -> str:
    """Return the reason of an error without the path, because the sentence names the path."""
    return getattr(error, "strerror", None) or str(error)
