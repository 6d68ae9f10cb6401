"""A folder of files that is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable

from ..errors import Error


@contextmanager
def replacing(folder: Path, listed: Callable[[Path], set[str]]) -> Iterator[Path]:
    """A fresh folder to write into, which takes the place of `folder` if nothing is raised.

    folder: absolute; new, empty, or one that holds only the files that listed(folder) names by
    their relative paths. Anything else in it is an Error, raised before anything is written.
    """
    _check_replaceable(folder, listed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as work:
        fresh = Path(work) / "fresh"
        fresh.mkdir()
        yield fresh
        _swap(folder, fresh, Path(work) / "earlier")


def _check_replaceable(folder: Path, listed: Callable[[Path], set[str]]) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise Error(f"{folder} is a file: name a folder that is new, empty or from an earlier run")
    present = {
        (Path(root) / name).relative_to(folder).as_posix()
        for root, _, names in os.walk(folder)
        for name in names
    }
    strange = sorted(present - listed(folder)) if present else []
    if strange:
        raise Error(
            f"{folder} holds {strange[0]!r}, which this program did not write there: "
            "move it away or name another folder"
        )


def _swap(folder: Path, fresh: Path, earlier: Path) -> None:
    """Put `fresh` in the place of the folder; what was there comes back if that fails."""
    if not folder.exists():
        fresh.rename(folder)
        return
    folder.rename(earlier)
    try:
        fresh.rename(folder)
    except OSError:
        earlier.rename(folder)
        raise
