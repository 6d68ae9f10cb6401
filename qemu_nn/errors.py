"""The errors users meet: each message names the thing, the reason and the way out.

They may quote files that are not trusted, so control characters are escaped and long texts are cut.
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
    """Text of a file that is not trusted, with control characters escaped.

    Parameters
    ----------
    text : str
        Any text.
    kept : str, default ""
        Characters that stay as they are.

    Returns
    -------
    str
        The text, with \\x1b for an escape.
    """
    if text.isprintable():
        return text
    escapes = {
        ord(c): c
        if c.isprintable() or c in kept
        else c.encode("unicode_escape", "surrogatepass").decode()
        for c in set(text)
    }
    return text.translate(escapes)


def cut(text: str, longest: int = 40) -> str:
    """A text with its middle left out where it is long.

    Parameters
    ----------
    text : str
        Any text.
    longest : int, default 40
        The most characters that are returned.

    Returns
    -------
    str
        The text, or its two ends.
    """
    end = longest // 3
    return text if len(text) <= longest else f"{text[: longest - end - 3]}...{text[-end:]}"


def sentence(text: object) -> str:
    """A message as it may be shown: on one line, printable and not too long.

    Parameters
    ----------
    text : object
        A message.

    Returns
    -------
    str
        Its text, with long quotes and words cut.
    """

    def shorter(found: re.Match[str]) -> str:
        return f"{found[1]}{cut(found[2], _LONGEST_QUOTE)}{found[1]}"

    quoted = re.sub(_QUOTES, shorter, printable(str(text)))
    return cut(re.sub(_WORDS, lambda found: cut(found[0], _LONGEST_WORD), quoted), _LONGEST)


class Error(ValueError):
    """Base of all errors that the input causes and not a bug; its text is one sentence.

    Parameters
    ----------
    text : object, default ""
        The sentence: what is wrong, why, and the way out.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))


class SizeMismatch(Error):
    """The device itself answers ARM_MATH_SIZE_MISMATCH, or another error, to these parameters."""

    status = -3


class Refused(Error):
    """The device accepts the call, but leaves its buffers or does nothing; it is not emulated."""

    status = -1


class ModelError(Error):
    """A model file, or a file that belongs to one, cannot be used as it is."""


class DeviceWarning(UserWarning):
    """The device computes this, but probably not what its author meant.

    Parameters
    ----------
    text : object, default ""
        The sentence.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))


class InputWarning(UserWarning):
    """Inputs fit a network, but probably not as its author scaled them.

    Parameters
    ----------
    text : object, default ""
        The sentence.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))
