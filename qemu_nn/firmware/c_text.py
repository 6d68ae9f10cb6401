"""C text that fits into its lines: argument lists, prototypes, comments."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..functions.prototypes import Prototype

_WIDTH = 100

#: A space where no line may end.
_HARD = "\0"


def wrapped(head: str, parts: Sequence[str], tail: str, indent: int = 4) -> str:
    """head, parts and tail within the line's width, broken between the parts alone.

    If not even the first part fits behind the head, all parts go below it.
    """
    hard = [text.replace(" ", _HARD) for text in parts]
    lines = _fill(f"{head.replace(' ', _HARD)}{', '.join(hard)}{tail}", indent, " " * (indent + 4))
    if len(lines.split("\n")[0]) > _WIDTH:
        below = _fill(f"{', '.join(hard)}{tail}", indent + 4, " " * (indent + 4))
        lines = f"{head}\n{below}"
    return lines.lstrip(" ").replace(_HARD, " ")


def signature(declared: Prototype, tail: str) -> str:
    """A prototype within the line's width; tail: ";" of a declaration, " {" of a definition."""
    space = "" if declared.returns.endswith("*") else " "
    head = f"{declared.returns}{space}{declared.name}("
    return wrapped(head, list(map(str, declared.arguments)), f"){tail}", 0)


def comment(text: str, indent: int = 0) -> str:
    """A comment, its first line without the indentation; text: harmless in a comment."""
    return _fill(f"/* {text} */", indent, f"{' ' * indent} * ").lstrip()


def _fill(text: str, indent: int, further: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
