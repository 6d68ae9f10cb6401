"""Edits of C functions that must make a claim false."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Break:
    """An edit of one function: every occurrence of a text in its body."""

    function: str
    old: str
    new: str


def _body(text: str, function: str) -> tuple[int, int]:
    """Return the ends of a function's definition in preprocessed C."""
    for match in re.finditer(rf"\b{function}\s*\(", text):
        opened = text.find("{", match.end())
        if opened < 0 or re.search("[;=]", text[match.end() : opened]):
            continue
        depth, end = 1, opened + 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        return match.start(), end
    raise LookupError(f"no definition of {function}(); .ci/proofs must name an existing function")


def broken(text: str, edit: Break) -> str:
    """Return preprocessed C after an edit."""
    start, end = _body(text, edit.function)
    body = text[start:end]
    if edit.old not in body:
        raise LookupError(f"{edit.function}() lacks {edit.old!r}; adapt the edit in .ci/proofs")
    return text[:start] + body.replace(edit.old, edit.new) + text[end:]
