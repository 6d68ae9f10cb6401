"""Conversion of arguments to the required type, with errors that name the argument."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error

#: Most characters of a value in a sentence; most threads, because each allocates memory.
_LONGEST, MOST_THREADS = 60, 1024

#: Most choices that a sentence lists.
_MOST_LISTED = 40


def format_value(value: object) -> str:
    """Format a value for a sentence: words and numbers literally, all further values by
    their type.
    """
    if value is None or isinstance(value, (str, bytes, int, float)):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f"of type {type(value).__name__}"


def one_of(choices: Iterable[str], value: object, what: str) -> str:
    """Return the value if it is one of the choices; else raise Error "no {what} 'x'; have: ..."."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise Error(f"no {what} {format_value(value)}; {have(known, value)}")
    return value


def have(choices: Iterable[str], value: object, near: Optional[Mapping[str, str]] = None) -> str:
    """Return the end of a sentence about an unknown name: the choices and the nearest ones.

    near: word to compare the name with -> its choice; default: the choices in lower case. Of many
    choices only the nearest ones are listed.
    """
    known = list(choices)
    words = {name.lower(): name for name in known} if near is None else near
    listed = f"have: {', '.join(known)}"
    meant: list[str] = []
    if isinstance(value, str) and len(value) <= _LONGEST:
        meant = difflib.get_close_matches(value.lower(), words, 3, cutoff=0.7)
    if len(known) > _MOST_LISTED:
        listed = f"have {len(known)} names, such as {', '.join(known[:3])}"
    hint = f"did you mean {' or '.join(words[w] for w in meant)}?"
    if meant:
        return hint if len(known) > _MOST_LISTED else f"{listed}; {hint}"
    return listed


def as_text(value: Optional[str], what: str) -> Optional[str]:
    """Return a string, or None."""
    if value is not None and not isinstance(value, str):
        raise Error(f"{what} must be a name, not {format_value(value)}")
    return value


def as_count(value: Any, what: str, least: int = 1, most: int = 2**31 - 1) -> int:
    """Convert a value to an integer of this range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(f"{what} must be an integer, not {format_value(value)}") from None
    if not least <= number:
        raise Error(f"{what} must be at least {least}, not {format_value(number)}")
    if number > most:
        raise Error(f"{what} must be at most {most}, not {format_value(number)}")
    return number


def as_number(value: Any, what: str) -> float:
    """Convert a value to a finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not np.isfinite(number):
        raise Error(f"{what} must be a finite number, not {format_value(value)}")
    return number


def as_flag(value: Any, what: str) -> bool:
    """Convert a value to True or False."""
    if not isinstance(value, (bool, np.bool_, int)):
        raise Error(f"{what} must be True or False, not {format_value(value)}")
    return bool(value)


def as_path(value: Any, what: str) -> Path:
    """Convert a value to the path of a file or folder; an empty string is no path."""
    given = os.fsdecode(value) if isinstance(value, (str, os.PathLike)) else ""
    if not given or "\0" in given:
        raise Error(f"{what} must be a path, not {format_value(value)}")
    path = Path(given)
    try:
        path.exists()
    except OSError as error:  # the name is too long, or its folder forbids access
        raise Error(f"{what} cannot be {format_value(str(path))}: {error.strerror}") from None
    return path


def as_array(value: Any, what: str) -> np.ndarray:
    """Convert a value to an array of any shape and type; rows of unequal lengths are refused."""
    try:
        return np.asarray(value)
    except Exception as error:  # __array__ of another library may raise anything
        uneven = isinstance(value, (list, tuple)) and isinstance(error, ValueError)
        why = "its rows are of different lengths" if uneven else error
        raise Error(f"{what} must be an array, not {format_value(value)}: {why}") from None


def as_mapping(value: Any, what: str) -> Mapping[str, Any]:
    """Return a mapping with string keys; an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise Error(f"{what} must be a dictionary whose keys are names, not {format_value(value)}")
    return value


def as_callable(value: Any, what: str) -> Optional[Callable[..., Any]]:
    """Return a callable, or None."""
    if value is not None and not callable(value):
        raise Error(f"{what} must be a function, not {format_value(value)}")
    function: Optional[Callable[..., Any]] = value
    return function
