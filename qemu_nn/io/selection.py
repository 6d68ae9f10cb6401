"""Selection of samples: a number of them, or some by index, in order or shuffled."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from .arguments import as_array, as_count, as_flag, format_value

#: Numbers of samples; a range if they are consecutive, because it takes no memory.
Indices = Union[range, np.ndarray]

#: Types that a caller may give as index.
Index = Union[int, str, slice, Sequence[Union[int, slice]], np.ndarray, None]

#: Seeds that numpy takes.
_SEEDS = 2**32 - 1


@dataclass(frozen=True)
class Selection:
    """A selection of samples of the data, and their order.

    Parameters
    ----------
    limit : int, optional
        Use at most this number of samples, after index and shuffle.
    index : int, str, slice, sequence of int or ndarray of int, optional
        Use these samples, in this order: numbers from 0, negative ones from the end. As text
        "3,10:20,-1", with ranges without their ends.
    shuffle : bool, default False
        Put the samples into random order.
    seed : int, default 0
        Seed of the order; a seed gives the same order on every host.

    Raises
    ------
    Error
        A value has another type or is out of range.
    """

    limit: Optional[int] = None
    index: Index = None
    shuffle: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        limit = None if self.limit is None else as_count(self.limit, "limit")
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "index", None if self.index is None else _parse_parts(self.index))
        object.__setattr__(self, "shuffle", as_flag(self.shuffle, "shuffle"))
        object.__setattr__(self, "seed", as_count(self.seed, "seed", least=0, most=_SEEDS))

    @property
    def in_order(self) -> bool:
        """True if the samples are the first samples of the data, in order."""
        return self.index is None and not self.shuffle

    def of(self, count: int) -> Indices:
        """Return the numbers of the samples that are used.

        Parameters
        ----------
        count : int
            How many samples the data hold.

        Returns
        -------
        range or ndarray of int
            Numbers in 0..count-1, at least one.

        Raises
        ------
        Error
            A number is out of range, or nothing is left.
        """
        which: Indices = range(count)
        if isinstance(self.index, tuple):
            which = _pick_samples(self.index, count)
        if self.shuffle:  # this generator's streams never change, unlike those of default_rng
            which = np.asarray(which)[np.random.RandomState(self.seed).permutation(len(which))]
        which = which[: self.limit]
        if not len(which):
            raise Error(
                f"index chooses none of the {count} samples of the data: give numbers from 0 to "
                f"{count - 1}"
            )
        return which


def _parse_parts(index: Any) -> tuple[Union[int, slice], ...]:
    """Return numbers and ranges, from whatever a caller gives."""
    if isinstance(index, str):
        return tuple(_parse_part(text, index) for text in index.split(","))
    if isinstance(index, slice):
        index = (index,)
    if isinstance(index, (list, tuple)) and any(isinstance(part, slice) for part in index):
        found = tuple(part if isinstance(part, slice) else _parse_integer(part) for part in index)
        for part in found:
            if isinstance(part, slice):
                _parse_range(part, 0)
        return found
    numbers = np.atleast_1d(as_array(index, "index"))
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not numbers.size:
        raise _make_index_error(index)
    return tuple(numbers.tolist())


def _parse_part(text: str, whole: str) -> Union[int, slice]:
    """Return one of "3", "10:20", "10:", ":-5", "0:100:2"."""
    try:
        ends = [int(end) if end.strip() else None for end in text.split(":")]
    except ValueError:
        raise _make_index_error(whole) from None
    if len(ends) == 1 and ends[0] is not None:
        return ends[0]
    if len(ends) not in (2, 3):
        raise _make_index_error(whole)
    part = slice(*ends)
    _parse_range(part, 0)
    return part


def _parse_integer(part: Any) -> int:
    try:
        return operator.index(part)
    except TypeError:
        raise _make_index_error(part) from None


def _parse_range(part: slice, count: int) -> range:
    try:
        return range(count)[part]
    except (TypeError, ValueError):  # ends that are no integers, a step of 0
        raise _make_index_error(part) from None


def _pick_samples(parts: tuple[Union[int, slice], ...], count: int) -> Indices:
    """Return the numbers of samples that an index names."""
    if len(parts) == 1 and isinstance(parts[0], slice):
        return _parse_range(parts[0], count)
    numbers: list[int] = []
    for part in parts:
        if isinstance(part, slice):
            numbers.extend(_parse_range(part, count))
        elif -count <= part < count:
            numbers.append(part % count)
        else:
            raise Error(f"there is no sample {part}: the data have {count}, from 0 to {count - 1}")
    return np.array(numbers, np.int64)


def _make_index_error(index: Any) -> Error:
    return Error(
        "index must be numbers of samples and ranges of them, such as 0,5,10:20, not "
        f"{format_value(index)}"
    )
