"""The errors users meet: each message names the thing, the reason and the way out.

What they quote comes from untrusted files: here it loses its power over a terminal,
and its length.
"""

from __future__ import annotations

import re

#: The most characters of a sentence, of what it quotes, and of a word outside quotes: some
#: sentences list all functions, and paths are words.
_LONGEST, _LONGEST_QUOTE, _LONGEST_WORD = 8000, 160, 400

#: Compiled when the first sentence is made, which most programs never do.
_QUOTES = rf"""(['"])((?:(?!\1).){{{_LONGEST_QUOTE + 1},}})\1"""
_WORDS = rf"\S{{{_LONGEST_WORD + 1},}}"


def printable(text: str, kept: str = "") -> str:
    """Text of a stranger's file without the power to command a terminal: \\x1b for an escape.

    kept: characters that stay as they are.
    """
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape", "surrogatepass").decode()
        for c in text
    )


def cut(text: str, longest: int = 40) -> str:
    """A text of which only the ends are shown if it is longer."""
    end = longest // 3
    return text if len(text) <= longest else f"{text[: longest - end - 3]}...{text[-end:]}"


def sentence(text: object) -> str:
    """A message as it may be shown: in one line, and of no more than a few."""

    def shorter(found: re.Match[str]) -> str:
        return f"{found[1]}{cut(found[2], _LONGEST_QUOTE)}{found[1]}"

    quoted = re.sub(_QUOTES, shorter, printable(str(text)))
    return cut(re.sub(_WORDS, lambda found: cut(found[0], _LONGEST_WORD), quoted), _LONGEST)


class Error(ValueError):
    """Base of every error that is the input's fault and not a bug; its text is a sentence."""

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))


class SizeMismatch(Error):
    """The device itself answers ARM_MATH_SIZE_MISMATCH, or another error, to these parameters."""

    status = -3


class Refused(Error):
    """The device would accept the call, but leave its buffers or do nothing; we do not follow."""

    status = -1


class ModelError(Error):
    """A model file, or a file that belongs to one, cannot be used as it is."""


class DeviceWarning(UserWarning):
    """The device computes this, but probably not what its author meant."""

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))
