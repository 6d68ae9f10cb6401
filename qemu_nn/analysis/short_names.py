"""Short names of layers for people: unique, without what all names have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..errors import printable, shorten_middle


def shorten_names(names: Iterable[str], longest: int) -> dict[str, str]:
    """Return name -> a name of at most `longest` characters; different names stay different.

    Converters join several names with ";": the first is kept. Leading folders ("model/") that all
    names share are removed.
    """
    every = list(dict.fromkeys(names))
    plain = {name: printable(name.split(";")[0].strip("/")) or "-" for name in every}
    parts = {name: text.split("/") for name, text in plain.items()}
    shared = _count_shared([path for path in parts.values() if len(path) > 1])
    short: dict[str, str] = {}
    for name, path in parts.items():
        rest = path[shared:] if len(path) > shared else path
        short[name] = shorten_middle("/".join(rest), longest)
    return _make_unique(short, longest)


def _count_shared(paths: Sequence[Sequence[str]]) -> int:
    """Return how many parts at the start all paths share, at least one left for each."""
    if not paths:
        return 0
    count = 0
    most = min(map(len, paths)) - 1
    while count < most and len({path[count] for path in paths}) == 1:
        count += 1
    return count


def _make_unique(short: dict[str, str], longest: int) -> dict[str, str]:
    """Make names unique by a number after repeated ones."""
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    made = {}
    for name, text in short.items():
        fresh = text
        while fresh in taken:
            numbers[text] += 1
            ending = f"~{numbers[text] + 1}"
            fresh = f"{shorten_middle(text, longest - len(ending))}{ending}"
        taken.add(fresh)
        made[name] = fresh
    return made
