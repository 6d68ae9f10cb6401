"""The project's plain kernels as C files that stand in for CMSIS-NN in a build."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..kernels.table import ROWS

_DEFINITION = re.compile(r"^(?!static|typedef)\w[\w ]*[ *](\w+)\(", re.M)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def sources(symbols: Iterable[str]) -> dict[str, str]:
    """Path below the C core -> content, of what these functions need to compile and link."""
    core, definitions = _core(), _definitions()
    wanted = {definitions[symbol] for symbol in symbols}
    found: dict[str, str] = {}
    while wanted:
        path = wanted.pop()
        text = found[path.relative_to(core).as_posix()] = _read(path)
        needed = {(path.parent / name).resolve() for name in _INCLUDE.findall(text)}
        if path.suffix == ".c":
            needed |= {
                definitions[name] for name in re.findall(r"\w+", text) if name in definitions
            }
        wanted |= {each for each in needed if each.relative_to(core).as_posix() not in found}
    return dict(sorted(found.items()))


def _core() -> Path:
    """The C core: inside of the package where it is installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "csrc"
    return inside if inside.is_dir() else package.parent / "csrc"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _definitions() -> dict[str, Path]:
    """Function -> the file that defines it, among those that hold no fast row."""
    fast = {row.symbol for row in ROWS if row.kind == "fast"}
    found = {path: _DEFINITION.findall(_read(path)) for path in sorted(_core().glob("*/**/*.c"))}
    return {name: path for path, names in found.items() if not fast & {*names} for name in names}
