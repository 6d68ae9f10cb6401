"""Bars of the kit's loops: on a terminal, or counted by whoever listens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional, TypeVar, cast

from tqdm import tqdm

from ..io import stages

_T = TypeVar("_T")


def show_bar(
    turns: Iterable[_T], total: Optional[int] = None, title: Optional[str] = None
) -> Iterable[_T]:
    """Return the turns of a loop, whose progress is shown on a terminal."""
    if not stages.is_heard():
        bar = tqdm(turns, total=total, desc=title, disable=None, leave=False)
        return cast("Iterable[_T]", bar)
    if title is not None:
        stages.announce(title)
    return stages.count(turns, total)
