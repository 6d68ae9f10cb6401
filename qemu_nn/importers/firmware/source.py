"""Sources of firmware as trees, by libclang, which sees no files but those that it may read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from ...errors import ModelError
from ...io import files
from ...io.optional_deps import require
from .c_headers import NAMES, make_header

#: Most files in the folders that a source may include from, and bytes of one.
_MOST_FILES, _LIMIT = 20000, 64 * files.MEGABYTE

#: Folder of our headers in the compiler's view.
_OWN = "/qemu_nn_headers"

#: Go on after a header that is missing (CXTranslationUnit_KeepGoing).
_KEEP_GOING = 0x200

#: Suffixes of sources in C++; others are C.
CPLUSPLUS = (".cpp", ".cc", ".cxx", ".ino", ".hpp")
SUFFIXES = (".c", *CPLUSPLUS)

_ARM_CALL = re.compile(r"\b(arm_\w+)\s*\(")


@dataclass(frozen=True)
class Options:
    """Options of the compiler: folders of headers, and macros."""

    include: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A line of a source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Complaint:
    """Text that the compiler does not understand, and its place."""

    place: Place
    offset: int
    text: str


class Sources:
    """The files that a source may read, and the compiler on them.

    All other files do not exist for the compiler.
    """

    def __init__(self, path: Path, options: Options, work: Path) -> None:
        self.path = path.resolve()
        self._options = options
        self.clang = require("clang.cindex", "firmware", "reading firmware")
        self._index = self.clang.Index.create()
        self._folders = [folder.resolve() for folder in options.include]
        self._arguments = self._prepare(work)

    def _prepare(self, work: Path) -> list[str]:
        """Write the list of files, and return the compiler's arguments."""
        header = work / "header.h"
        header.write_text(make_header(), encoding="ascii")
        known = {f"{_OWN}/{name}": str(header) for name in NAMES}
        for folder in [self.path.parent, *self._folders]:
            for file in _list_files(folder):
                known[str(file)] = str(file)
            if len(known) > _MOST_FILES:
                raise ModelError(
                    f"{folder} contains more than {_MOST_FILES} files: name the folders of "
                    "the headers with include="
                )
        roots = [
            {"name": name, "type": "file", "external-contents": file}
            for name, file in known.items()
        ]
        overlay = {"version": 0, "case-sensitive": "true", "fallthrough": "false", "roots": roots}
        listing = work / "files.yaml"
        listing.write_text(json.dumps(overlay), encoding="utf-8")
        self._known = known
        defines = [f"-D{name}={value}" for name, value in self._options.defines.items()]
        folders = [f"-I{folder}" for folder in (_OWN, *self._folders)]
        return [
            *("-ivfsoverlay", str(listing), "-nostdinc", "--target=armv7em-none-eabi"),
            *("-fsyntax-only", "-ferror-limit=0", "-Wno-everything", "-fno-modules"),
            *("-Wno-error=implicit-function-declaration", "-fbracket-depth=256"),
            *defines,
            *folders,
        ]

    def parse(self, path: Path) -> Any:
        """Return the translation unit of a source; raise ModelError if there is none."""
        plus = path.suffix.lower() in CPLUSPLUS
        language = ["-x", "c++", "-std=gnu++17"] if plus else ["-x", "c", "-std=gnu11"]
        try:
            return self._index.parse(str(path), [*self._arguments, *language], options=_KEEP_GOING)
        except self.clang.TranslationUnitLoadError:
            raise ModelError(f"{path} cannot be parsed as {language[1]}") from None

    def list_siblings(self) -> Iterator[Path]:
        """Yield further sources in the folders that may be read."""
        for name in sorted(self._known):
            path = Path(name)
            if path.suffix.lower() in SUFFIXES and path != self.path:
                yield path


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the regular files of a folder and those below, without links to others."""
    if not folder.is_dir():
        raise ModelError(f"there is no folder {folder} to include from")
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(root) / name
            if file.is_file() and file.resolve() == file and file.stat().st_size <= _LIMIT:
                yield file


def list_complaints(unit: Any) -> list[Complaint]:
    """Return the errors of a translation unit."""
    found = []
    for each in unit.diagnostics:
        if each.severity >= 3 and each.location.file is not None:
            place = Place(each.location.file.name, each.location.line)
            found.append(Complaint(place, each.location.offset, each.spelling))
    return found


def list_lost_calls(
    path: str,
    start: int,
    end: int,
    complaints: Sequence[Complaint],
    is_layer: Callable[[str], bool],
) -> list[Complaint]:
    """Return the errors inside of layer calls in a part of a file: the tree lacks these calls."""
    inside = [c for c in complaints if c.place.file == path and start <= c.offset < end]
    if not inside:
        return []
    text = Path(path).read_bytes().decode("latin-1")  # a character for each byte
    lost = []
    for match in _ARM_CALL.finditer(text, start, end):
        if not is_layer(match[1]):
            continue
        close = _find_close(text, match.end())
        lost += [c for c in inside if match.start() <= c.offset < close]
    return lost


def _find_close(text: str, start: int) -> int:
    """Return the end of a call's arguments, which begin at `start`."""
    depth = 1
    for at in range(start, min(len(text), start + 10000)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return start


def get_place(cursor: Any) -> Place:
    """Return where a cursor is; of a macro, where it is used."""
    location = cursor.location
    return Place(location.file.name if location.file else "?", location.line)
