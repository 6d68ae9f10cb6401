"""Long lists of decimal numbers, read from the text of a source: the tree is slow for them."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Optional

import numpy as np

from .tree import Node

#: A list of decimal numbers, and octal numbers, which are none.
_FLAT = re.compile(rb"\s*\{([-0-9,\s]*)\}\s*")
_OCTAL = re.compile(rb"(?<![0-9])0[0-9]|[0-9]{11}")
_NAME = re.compile(rb"[A-Za-z_]\w*")


def read_numbers(values: Node, most: int) -> Optional[np.ndarray]:
    """Return the numbers of a list of initial values, None if it is anything else.

    most: elements of the array. A macro is read if the sources define it once.
    """
    extent = values.cursor.extent
    if extent.start.file is None or extent.end.file is None:
        return None
    path = extent.start.file.name
    text = _read(path)[extent.start.offset : extent.end.offset]
    if not text.startswith(b"{"):
        name = _NAME.match(_read(path), extent.start.offset)
        text = _find_macro(values, name[0]) if name is not None else b""
    flat = _FLAT.fullmatch(text.replace(b"\\\r\n", b" ").replace(b"\\\n", b" "))
    if flat is None or _OCTAL.search(flat[1]):
        return None
    items = flat[1].split(b",")
    items = items[:-1] if not items[-1].strip() else items
    try:
        numbers = np.array([int(item) for item in items], np.int64)
    except ValueError:
        return None
    return numbers if len(numbers) <= most else None


@functools.lru_cache(maxsize=64)
def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _find_macro(node: Node, name: bytes) -> bytes:
    """Return the text of a macro, b"" unless the files of a source define it exactly once."""
    unit = node.cursor.translation_unit
    paths = {unit.spelling, *(each.include.name for each in unit.get_includes())}
    form = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+" + name + rb"[ \t]((?:\\\r?\n|[^\n])*)", re.M)
    found = [
        m[1] for path in sorted(paths) if Path(path).is_file() for m in form.finditer(_read(path))
    ]
    return found[0] if len(found) == 1 else b""
