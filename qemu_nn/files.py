"""Files read within limits and written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import ModelError

MEGABYTE = 2**20


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a file of at most `limit` bytes; ModelError if it is longer or unreadable."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"can not read {path}: {reason(error)}") from None
    if len(data) > limit:
        raise ModelError(f"{path} has more than {limit // MEGABYTE} MiB, the most that is read")
    return data


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with writing(path) as stream:
        stream.write(data)


def make_folder(path: Path) -> None:
    """A folder with all those above it; fine if it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise ModelError(f"can not make the folder {path}: {reason(error)}") from None


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A stream to a file beside the path, renamed when all is written: nobody ever sees half."""
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(beside, "xb") as stream:
            yield stream
        os.replace(beside, path)
    except (OSError, ValueError) as error:
        raise ModelError(f"can not write {path}: {reason(error)}") from None
    finally:
        with suppress(OSError, ValueError):
            beside.unlink()


def reason(error: Exception) -> str:
    """Why a file could not be used, without the path that the sentence names already."""
    return getattr(error, "strerror", None) or str(error)
