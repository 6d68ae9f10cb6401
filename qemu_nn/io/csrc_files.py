"""C files of the core: inside an installed package, next to the package in a checkout."""

from __future__ import annotations

import bz2
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..errors import Error

#: Archive in an installed package of the files that exports copy and no application compiles. One
#: compressed stream of all files is a fifth smaller than a stream for each.
_ARCHIVE = "kernels.json.bz2"


def get_folder() -> Path:
    """Return the folder of the C files that applications compile; Error if it is missing."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "csrc"
    core = inside if inside.is_dir() else package.parent / "csrc"
    if not (core / "sdk").is_dir():
        raise Error(f"the C files of the package are missing at {core}: install qemu_nn again")
    return core


@cache
def read_texts() -> Mapping[str, str]:
    """Return path relative to the core -> content, of all C files of the package."""
    core = get_folder()
    found = {
        path.relative_to(core).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(core.rglob("*.[chi]*"))
    }
    if (core / _ARCHIVE).is_file():
        found.update(json.loads(bz2.decompress((core / _ARCHIVE).read_bytes())))
    return found


def make_missing_core_error(fault: ModuleNotFoundError) -> ImportError:
    """Convert a failed import of the C core to an error that says which sources Python found."""
    package, _, _ = __name__.partition(".")
    if fault.name not in (f"{package}._native", f"{package}._runner"):
        return fault
    return ImportError(
        f"{Path(__file__).parents[1]} has no C core: Python found these sources before the "
        "installed package; start Python in another folder, or build the core here: "
        "pip install -e ."
    )
