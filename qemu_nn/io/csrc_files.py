"""The C files of the core: inside of the package where it is installed, beside it in a checkout."""

from __future__ import annotations

import bz2
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..errors import Error

#: In the folder of an installed package: the files that no application compiles, which exports
#: copy. One stream of all of them has a fifth less than a stream for each.
_ARCHIVE = "kernels.json.bz2"


def folder() -> Path:
    """Where the C files are that applications compile; Error where they are not."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "csrc"
    core = inside if inside.is_dir() else package.parent / "csrc"
    if not (core / "sdk").is_dir():
        raise Error(f"the C files of the package are not at {core}: install it again")
    return core


@cache
def texts() -> Mapping[str, str]:
    """Path below the core -> content, of all C files that came with the package."""
    core = folder()
    found = {
        path.relative_to(core).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(core.rglob("*.[chi]*"))
    }
    if (core / _ARCHIVE).is_file():
        found.update(json.loads(bz2.decompress((core / _ARCHIVE).read_bytes())))
    return found


def without_core(fault: ModuleNotFoundError) -> ImportError:
    """The sentence that says what Python has found, if the C core is what an import has missed."""
    package, _, _ = __name__.partition(".")
    if fault.name not in (f"{package}._native", f"{package}._runner"):
        return fault
    return ImportError(
        f"{Path(__file__).parents[1]} has no C core: Python has found these sources before the "
        "package that is installed; start it in another folder, or build the core here: "
        "pip install -e ."
    )
