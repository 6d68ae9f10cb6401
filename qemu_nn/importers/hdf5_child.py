"""Reads an HDF5 file for hdf5.py, which runs this file in a process of its own.

stdin: a line of JSON with the limits of this process, one that says what is wanted, and the bytes
of the HDF5 file. stdout: a line of JSON that says what is there, and the elements of its arrays,
one after the other. As it is run by its path, nothing else of the package is imported.
"""

from __future__ import annotations

import json
import math
import re
import sys
from contextlib import suppress
from typing import Any, BinaryIO


def answer(asked: BinaryIO, answered: BinaryIO) -> None:
    """Write the answer to the request."""
    wanted = json.loads(asked.readline())
    try:
        found, arrays = _read(asked.read(), **wanted)
    except Exception as error:  # h5py may raise any exception for a damaged file
        found, arrays = {"error": str(error) or type(error).__name__}, []
    answered.write(json.dumps(found).encode("ascii") + b"\n")
    for array in arrays:
        answered.write(array.data)


def _read(data: bytes, group: str, attributes: str, limit: int) -> tuple[dict[str, Any], list[Any]]:
    """Return the content of a group, reached by hard links alone: no other file, and each object
    once.
    """
    import h5py
    import numpy

    found: dict[str, Any] = {"groups": [], "texts": {}, "arrays": []}
    arrays: list[Any] = []

    def visit(name: str, item: Any) -> None:
        nonlocal limit
        found["texts"][name] = {
            key: _text(item.attrs[key]) for key in item.attrs if re.fullmatch(attributes, key)
        }
        if not isinstance(item, h5py.Dataset):
            found["groups"].append(name)
            return
        kind, unfit = "<f8" if item.dtype.itemsize > 4 else "<f4", _unfit(item, limit)
        found["arrays"].append([name, kind, list(item.shape or ()), unfit])
        if not unfit:
            arrays.append(numpy.asarray(item[()], kind, "C"))
            limit -= arrays[-1].nbytes

    with h5py.File(h5py.h5f.open_file_image(data), "r") as file:
        visit("", file)
        for key in file:
            name = _plain(key)
            ours = name == group or name.startswith(f"{group}/")
            if not (ours and isinstance(file.get(key, getlink=True), h5py.HardLink)):
                continue
            visit(name, file[key])
            if isinstance(file[key], h5py.Group):
                file[key].visititems(
                    lambda inner, item, outer=name: visit(f"{outer}/{_plain(inner)}", item)
                )
    return found, arrays


def _plain(name: str) -> str:
    """Return a name with slashes between its parts; Keras on Windows writes backslashes."""
    return name.replace("\\", "/")


def _text(value: Any) -> Any:
    """Return an attribute with a text, or a list of texts."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_text(part) for part in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _unfit(item: Any, limit: int) -> str:
    """Return the reason why an array is not read; "" if it is."""
    if item.dtype.kind != "f" or item.shape is None or item.is_virtual or item.external:
        return "is not a plain array of floats"
    claimed = math.prod(item.shape) * item.dtype.itemsize
    chunk = math.prod(item.chunks or ()) * item.dtype.itemsize
    there = claimed if item.chunks else item.id.get_storage_size()
    if max(claimed, chunk) > limit or there < claimed:
        return f"is declared with the shape {list(item.shape)}, but its data does not fill it"
    return ""


def lower_limit(name: str, value: int) -> None:
    """Lower a limit of this process, if the operating system has it."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (lower, hard))


def main() -> None:
    """Answer one request, within the limits of its first line."""
    limits = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = limits["path"]
    lower_limit("RLIMIT_CORE", 0)
    lower_limit("RLIMIT_AS", limits["memory"])
    lower_limit("RLIMIT_CPU", limits["seconds"])
    answer(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
