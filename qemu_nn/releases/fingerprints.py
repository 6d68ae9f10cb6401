"""Fingerprints of Arm's files in all states: which states have a file, and which functions."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).with_name("fingerprints.json.xz")

COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INCLUDE = re.compile(rb"^\s*#\s*include[^\n]*", re.MULTILINE)
_CONDITION = re.compile(rb"#\s*if[^\n]*\n(.*)#\s*endif", re.DOTALL)
_SPACE = re.compile(rb"\s+")


@dataclass(frozen=True)
class Fingerprints:
    """Places of states in the history, from the first to the last one of a span.

    files: name of a file -> fingerprint -> spans of the states with this content. functions: name
    -> span of the states whose headers declare it.
    """

    files: Mapping[str, Mapping[str, list[tuple[int, int]]]]
    functions: Mapping[str, tuple[int, int]]

    def states(self, name: str, content: bytes) -> set[int]:
        """Return the places of the states that have a file with this content.

        A condition around the whole file, by which an SDK leaves it out of builds, does not count.
        """
        known = self.files.get(name, {})
        spans = known.get(fingerprint(content)) or known.get(fingerprint(_unwrap(content)), [])
        return {place for first, last in spans for place in range(first, last + 1)}


def _strip(content: bytes) -> bytes:
    """Return C without comments and includes."""
    return _INCLUDE.sub(b"", COMMENT.sub(b"", content))


def _unwrap(content: bytes) -> bytes:
    """Return C without a condition around all of it."""
    whole = _CONDITION.fullmatch(_strip(content).strip())
    return whole[1] if whole else content


def fingerprint(content: bytes) -> str:
    """Return a digest of C without comments, includes and white space."""
    code = _strip(content)
    return hashlib.sha256(_SPACE.sub(b"", code)).hexdigest()[:10]


@cache
def fingerprints() -> Fingerprints:
    """Return those of all states of the table."""
    data = json.loads(lzma.decompress(DATA.read_bytes()))
    files = {
        name: {digest: [tuple(span) for span in spans] for digest, spans in digests.items()}
        for name, digests in data["files"].items()
    }
    return Fingerprints(files, {name: tuple(span) for name, span in data["functions"].items()})
