"""The project's plain kernels as C files that stand in for CMSIS-NN in a build."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import cache

from ..io import core
from ..kernels.table import ROWS

_DEFINITION = re.compile(r"^(?!static|typedef)\w[\w ]*[ *](\w+)\(", re.M)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def sources(symbols: Iterable[str]) -> dict[str, str]:
    """Path below the C core -> content, of what these functions need to compile and link."""
    texts, definitions = core.texts(), _definitions()
    wanted = {definitions[symbol] for symbol in symbols}
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


@cache
def _definitions() -> dict[str, str]:
    """Function -> the file that defines it, among those that hold no fast row."""
    fast = {row.symbol for row in ROWS if row.kind == "fast"}
    found = {
        path: _DEFINITION.findall(text)
        for path, text in sorted(core.texts().items())
        if path.endswith(".c") and "/" in path
    }
    return {name: path for path, names in found.items() if not fast & {*names} for name in names}
