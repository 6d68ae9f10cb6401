"""Atomic writing of a folder of files, which never overwrites the user's edits."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable, Optional

from ..errors import Error
from ..io.files import MEGABYTE, open_for_writing, read_bytes

_MANIFEST_LIMIT = 256 * MEGABYTE

#: Relative path -> checksum of a file at its writing; None for any content.
Listed = Mapping[str, Optional[str]]


@contextmanager
def replace_folder(
    folder: Path, listed: Callable[[Path], Listed], force: bool = False
) -> Iterator[Path]:
    """Yield a fresh folder to write into; it replaces `folder` unless an exception is raised.

    folder: absolute; new, empty, or with only the files that listed(folder) names by their relative
    paths. They must be unchanged, or, with `force`, may be edited. Further content is an Error,
    raised before writing. Files and folders keep their modes. A link to a file is kept, and its
    target replaced.
    """
    _check_replaceable(folder, listed, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as work:
        fresh = Path(work) / "fresh"
        fresh.mkdir()
        yield fresh
        _check_replaceable(folder, listed, force)  # a check for edits in the meantime
        with ExitStack() as linked:
            for path in reversed([fresh, *fresh.rglob("*")]):  # folders may become read-only
                _keep(folder / path.relative_to(fresh), path, linked)
            _swap(folder, fresh, Path(work) / "earlier")


def read_earlier_files(manifest: Path, format: str) -> dict[str, str]:
    """Return the files of a manifest of this format with checksums; none for a different file."""
    try:
        document = json.loads(read_bytes(manifest, _MANIFEST_LIMIT))
        if document["format"] != format:
            return {}
        files = document["files"]
        if all(isinstance(file, str) for file in files):  # of a release without check sums
            return dict.fromkeys(files, "")
        return {str(file["path"]): str(file["crc32"]) for file in files}
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}


def format_checksum(content: bytes) -> str:
    """Return a CRC-32 as manifests spell it."""
    return f"{zlib.crc32(content):08x}"


def _check_replaceable(folder: Path, listed: Callable[[Path], Listed], force: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise Error(f"{folder} is a file: name a folder that is new, empty or from an earlier run")
    present = set(_list_present(folder))
    known = listed(folder) if present else {}
    strange = sorted(name for name in present if name not in known or _leads_astray(folder, name))
    if strange:
        raise Error(
            f"{folder} contains {strange[0]!r}, which this program did not write: move it "
            "away or name another folder"
        )
    if force:
        return
    edited = [
        name
        for name in sorted(present)
        if known[name] not in (None, format_checksum((folder / name).read_bytes()))
    ]
    if edited:
        more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
        raise Error(
            f"{folder} contains {edited[0]!r}{more}, edited since this program wrote it, or "
            "written by an older release: name another folder, or overwrite this one with "
            "force=True"
        )


def _list_present(folder: Path) -> Iterator[str]:
    """Yield all files below a folder, and links to folders, relative to it."""
    for root, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        for name in (*names, *links):
            yield (Path(root) / name).relative_to(folder).as_posix()


def _leads_astray(folder: Path, name: str) -> bool:
    """True if the path is neither a file nor a link to a file outside of the folder."""
    path = folder / name
    return not path.is_file() or (path.is_symlink() and folder in path.resolve().parents)


def _keep(earlier: Path, path: Path, linked: ExitStack) -> None:
    """Give a new file the mode of the earlier one; if that is a link, write its target."""
    if not earlier.exists():
        return
    shutil.copymode(earlier, path)
    if earlier.is_symlink():
        linked.enter_context(open_for_writing(earlier)).write(path.read_bytes())
        path.unlink()
        path.symlink_to(os.readlink(earlier))


def _swap(folder: Path, fresh: Path, earlier: Path) -> None:
    """Replace the folder by `fresh`; restore the earlier one on failure."""
    if not folder.exists():
        fresh.rename(folder)
        return
    folder.rename(earlier)
    try:
        fresh.rename(folder)
    except OSError:
        earlier.rename(folder)
        raise
