"""Untrusted HDF5 files, read in a process of their own: see docs/importing.md."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from ..errors import Error, ModelError
from ..io import files
from ..io.optional_deps import require_installed
from . import hdf5_child

#: Most bytes of a file, and of all arrays in it.
LIMIT = 256 * files.MEGABYTE

#: Processor seconds for a file, with an additional second for each of this many bytes.
_SECONDS, _BYTES_PER_SECOND = 10, 8 * files.MEGABYTE

#: Bytes of address space that reading one may take.
_MEMORY = 4096 * files.MEGABYTE

#: Factor of the time limit, for a loaded host.
_PATIENCE = 6


@dataclass(frozen=True)
class Contents:
    """Contents of a group of a file, by path without a leading slash.

    texts: of groups and arrays -> attribute -> text, or a list of texts; "" is the file. arrays:
    of floats; unfit: why another is none.
    """

    groups: frozenset[str]
    texts: Mapping[str, Mapping[str, Any]]
    arrays: Mapping[str, np.ndarray]
    unfit: Mapping[str, str]


def read_hdf5(data: bytes, where: str, extra: str, group: str, attributes: str = "") -> Contents:
    """Return the content of one group of an HDF5 file, reached by hard links alone.

    where: name in messages. extra: the one that installs h5py. attributes: pattern of the names of
    attributes to read. Raises ModelError for a damaged file, Error without h5py.
    """
    require_installed("h5py", extra, "reading HDF5 files")
    seconds = _SECONDS + len(data) // _BYTES_PER_SECOND
    with TemporaryFile() as asked, TemporaryFile() as answered:  # a pipe is slower
        limits = {"path": list(map(str, sys.path)), "memory": _MEMORY, "seconds": seconds}
        wanted = {"group": group, "attributes": attributes, "limit": LIMIT}
        for line in (limits, wanted):
            asked.write(json.dumps(line).encode("ascii") + b"\n")
        asked.write(data)
        asked.seek(0)
        if not _wait_for_child(asked, answered, _PATIENCE * seconds):
            raise ModelError(
                f"{where} is damaged: the HDF5 library crashes on it, or takes more than "
                f"{seconds} s"
            )
        answered.seek(0)
        found = json.loads(answered.readline())
        if "error" in found:
            raise ModelError(f"{where} is damaged or not an HDF5 file: {found['error']}")
        arrays, unfit = {}, {}
        for name, kind, shape, reason in found["arrays"]:
            if reason:
                unfit[name] = reason
            else:
                size = math.prod(shape) * np.dtype(kind).itemsize
                arrays[name] = np.frombuffer(answered.read(size), kind).reshape(shape)
    return Contents(frozenset(found["groups"]), found["texts"], arrays, unfit)


def _wait_for_child(asked: IO[bytes], answered: IO[bytes], timeout: float) -> bool:
    """True if hdf5_child.py answers in time and exits with 0."""
    if not sys.executable:
        raise Error("HDF5 files are read by a second Python process, but sys.executable names none")
    try:
        done = subprocess.run(
            [sys.executable, hdf5_child.__file__],
            stdin=asked,
            stdout=answered,
            stderr=subprocess.DEVNULL,
            timeout=timeout,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each takes address space
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        raise Error(
            f"cannot start {sys.executable} to read HDF5 files: {files.get_reason(error)}"
        ) from None
    return done.returncode == 0
