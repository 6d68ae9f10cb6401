"""C text that fits into its lines: argument lists, prototypes, comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from ..layers.prototypes import Prototype

_WIDTH = 100


def wrapped(head: str, parts: Sequence[str], tail: str, indent: int = 4) -> str:
    """head, parts and tail within the line's width, broken after commas alone."""
    text = re.sub("(?<!,) ", "\0", f"{head}{', '.join(parts)}{tail}")
    return _fill(text, indent, " " * (indent + 4)).replace("\0", " ").lstrip()


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
