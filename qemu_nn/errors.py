"""Errors and warnings for users: each message names the thing, the reason and the remedy.

Messages may quote untrusted files, so control characters are escaped and long texts are cut.
"""

from __future__ import annotations

import re
from typing import Any, Optional

#: Most characters of a sentence, of a quotation in it, and of a word outside quotations. Some
#: sentences list all functions, and a path counts as a word.
_LONGEST, _LONGEST_QUOTE, _LONGEST_WORD = 8000, 160, 400

#: Compiled with the first sentence: most programs raise no error.
_QUOTES = rf"""(['"])((?:(?!\1).){{{_LONGEST_QUOTE + 1},}})\1"""
_WORDS = rf"\S{{{_LONGEST_WORD + 1},}}"


def printable(text: str, kept: str = "") -> str:
    """Escape the control characters of an untrusted text.

    Parameters
    ----------
    text : str
        Any text.
    kept : str, default ""
        Control characters that remain unescaped.

    Returns
    -------
    str
        The text, with \\x1b for an escape character.
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


def shorten_middle(text: str, longest: int = 40) -> str:
    """Shorten a long text by its middle.

    Parameters
    ----------
    text : str
        Any text.
    longest : int, default 40
        Maximum number of characters of the result.

    Returns
    -------
    str
        The text, or its start and its end.
    """
    end = longest // 3
    return text if len(text) <= longest else f"{text[: longest - end - 3]}...{text[-end:]}"


def sentence(text: object) -> str:
    """Make a message safe to print: one line, printable, of limited length.

    Parameters
    ----------
    text : object
        A message.

    Returns
    -------
    str
        The text, with long quotations and words shortened.
    """

    def shorter(found: re.Match[str]) -> str:
        return f"{found[1]}{shorten_middle(found[2], _LONGEST_QUOTE)}{found[1]}"

    quoted = re.sub(_QUOTES, shorter, printable(str(text)))
    return shorten_middle(
        re.sub(_WORDS, lambda found: shorten_middle(found[0], _LONGEST_WORD), quoted), _LONGEST
    )


class Error(ValueError):
    """Base class of all errors that an input causes; its text is one sentence.

    Parameters
    ----------
    text : object, default ""
        The sentence: the thing given, the requirement, and the remedy.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))


class SizeMismatch(Error):
    """Parameters for which the device returns ARM_MATH_SIZE_MISMATCH or another error."""

    status = -3


class Refused(Error):
    """A call that the device accepts, but that exceeds its buffers or does nothing."""

    status = -1


class LayerFault(Refused):
    """A layer that stops on its inputs, as it does on the device.

    Parameters
    ----------
    network, layer, reason : str
        The names, and the inputs at which the layer stops.
    sample, time : int, optional
        The sample of the batch, counted from 0, and its time step, if they are known.
    name : str, default ""
        The sample's name in the data; default: its number.
    """

    def __init__(
        self,
        network: str = "",
        layer: str = "",
        reason: str = "",
        sample: Optional[int] = None,
        time: Optional[int] = None,
        name: str = "",
    ) -> None:
        self.network, self.layer, self.reason = network, layer, reason
        self.sample, self.time, self.name = sample, time, name
        at = name or ("" if sample is None else f"sample {sample}")
        at = f" at {at}" if at else ""
        at += "" if time is None else f", time step {time}"
        super().__init__(
            f"{network}: layer {layer!r} stops{at}, as it does on the device: {reason}; keep such "
            "inputs from it"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parts."""
        parts = (self.network, self.layer, self.reason, self.sample, self.time, self.name)
        return LayerFault, parts


class ModelError(Error):
    """A model file, or a file that belongs to a model, that cannot be used."""


class DeviceWarning(UserWarning):
    """A computation of the device that its author probably did not intend.

    Parameters
    ----------
    text : object, default ""
        The sentence.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))


class InputWarning(UserWarning):
    """Inputs that a network accepts, but that its author probably scaled differently.

    Parameters
    ----------
    text : object, default ""
        The sentence.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(sentence(text))
