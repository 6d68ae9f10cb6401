"""Changes that no input can show, with their reasons: equivalent.txt."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("equivalent.txt")


def reasons(text: str) -> dict[tuple[str, str, str], str]:
    """Return the reason for each change: file, line before, line after.

    Lines with "# " are a reason, for all changes that follow. A line without a mark is the path of
    a file, "- " starts a line of it, "+ " the same line changed.
    """
    found: dict[tuple[str, str, str], str] = {}
    reason = path = before = last = ""
    for line in text.splitlines():
        mark, rest = line[:2], line[2:].strip()
        if mark == "# ":
            reason = f"{reason} {rest}" if last == "# " else rest
        elif mark == "- ":
            before = rest
        elif mark == "+ ":
            found[path, before, rest] = reason
        elif line.strip():
            path = line.strip()
        last = mark
    return found
