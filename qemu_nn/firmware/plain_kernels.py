"""The project's plain kernels as C files that replace CMSIS-NN in a build."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cache

from ..io import csrc_files
from ..kernels.table import ROWS

_DEFINITION = re.compile(r"^(?!static|typedef)\w[\w ]*[ *](\w+)\(", re.M)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def list_sources(symbols: Iterable[str]) -> dict[str, str]:
    """Return path below the C core -> content, for all files needed to compile and link these
    functions.
    """
    texts, definitions, symbols = csrc_files.read_texts(), _find_definitions(), list(symbols)
    wanted = {*(definitions[symbol] for symbol in symbols), *list_headers(symbols)}
    found: dict[str, str] = {}
    while wanted:
        path = wanted.pop()
        text = found[path] = texts[path]
        here = posixpath.dirname(path)
        needed = {posixpath.normpath(posixpath.join(here, name)) for name in _INCLUDE.findall(text)}
        if path.endswith(".c"):
            needed |= {
                definitions[name] for name in re.findall(r"\w+", text) if name in definitions
            }
        wanted |= needed - found.keys()
    return dict(sorted(found.items()))


def list_headers(symbols: Iterable[str]) -> list[str]:
    """Return the headers that declare these functions: one for each list that names some."""
    wanted = {*symbols}
    lists = (
        path for path in csrc_files.read_texts() if path.endswith("kernels.inc") and "/" in path
    )
    return sorted(path[: -len("inc")] + "h" for path in lists if wanted & _list_words(path))


@cache
def _list_words(path: str) -> frozenset[str]:
    """Return the words of a file of the C core."""
    return frozenset(re.findall(r"\w+", csrc_files.read_texts()[path]))


def rename_functions(files: Mapping[str, str], lead: str) -> dict[str, str]:
    """Return the files with the prefix `lead` on every function that they define.

    The prefix is added by macros of names.h, which each C file and the headers of each folder
    include first: the core's prototypes are built by token pasting.
    """
    found = {
        name
        for path, text in files.items()
        if path.endswith(".c")
        for name in _DEFINITION.findall(text)
        if not name.startswith(lead)
    }
    names = "".join(f"#define {name} {lead}{name}\n" for name in sorted(found))
    begun = {
        path: f'#include "{"../" * (path.count("/") - 1)}names.h"\n{text}'
        for path, text in files.items()
        if path.endswith(".c") or (path.endswith(".h") and path.count("/") == 1)
    }
    text = f"/* Names that several networks can link. */\n{names}"
    folders = {path.partition("/")[0] for path in files}
    return {**files, **begun, **{f"{folder}/names.h": text for folder in folders}}


@cache
def _find_definitions() -> dict[str, str]:
    """Return function -> the file that defines it, among files without fast rows."""
    fast = {row.symbol for row in ROWS if row.kind == "fast"}
    found = {
        path: _DEFINITION.findall(text)
        for path, text in sorted(csrc_files.read_texts().items())
        if path.endswith(".c") and "/" in path
    }
    return {name: path for path, names in found.items() if not fast & {*names} for name in names}
