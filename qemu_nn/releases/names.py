"""Names of releases that people know: versions, commits, and SDKs with a date."""

from __future__ import annotations

from typing import Optional

from .sdks import SDKS
from .table import BY_NAME, Release

#: Other spellings of states.
_SPELLINGS = {"main": "main-2026-07", "nn2.0.0": "NN/2.0.0", "nn-2.0.0": "NN/2.0.0"}


def canonical(name: str) -> Optional[str]:
    """Return the name of the state that a word means, or None.

    name: a state ("5.8.0", "v5.0.0"), a commit of at least seven digits, an SDK with a date
    ("zephyr-2024-06", "edge-impulse-2023-10"): the newest that it shipped by then.
    """
    word = name.lower().strip()
    word = _SPELLINGS.get(word, word[1:] if word[:1] == "v" and word[1:2].isdigit() else word)
    for known in (word, word.upper()):
        if known in BY_NAME:
            return known
    return _of_sdk(word) or _of_commit(word)


def _of_sdk(word: str) -> Optional[str]:
    if word in SDKS:
        return SDKS[word].state
    known = [each for each in SDKS if each.rpartition("-")[0] and _is_before(each, word)]
    return SDKS[known[-1]].state if known else None


def _is_before(known: str, word: str) -> bool:
    """True for the same SDK, at a date that is not after that of a word."""
    prefix, date = _split(known)
    own, wanted = _split(word)
    return prefix == own and date != "" != wanted and date <= wanted


def _split(word: str) -> tuple[str, str]:
    """Return an SDK and the date of its name, "" without one."""
    for at, letter in enumerate(word):
        date = word[at + 1 :]
        if letter == "-" and date[:2] == "20" and date.replace("-", "").isdigit():
            return word[:at], date
    return word, ""


def _of_commit(word: str) -> Optional[str]:
    """Return the state of a commit, given by at least seven digits."""
    if len(word) < 7 or any(digit not in "0123456789abcdef" for digit in word):
        return None
    found = [each for each in BY_NAME.values() if _is_commit(each, word)]
    return found[0].name if found else None


def _is_commit(release: Release, word: str) -> bool:
    return (
        release.commit.startswith(word[:8]) if len(word) >= 8 else release.commit.startswith(word)
    )
