"""Sources of samples that can be read singly: arrays in memory, shards, chunks."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from .selection import Indices


class Source:
    """Samples read by number, in any order; a pickle contains their location if possible.

    Attributes
    ----------
    whole : tuple of int
        Shape of all samples together, (N, ...).
    dtype : numpy.dtype
        Type of the elements.
    label : str
        What errors call the data.
    classes : tuple of str
        Names of the classes, where the data say them.
    """

    whole: Any
    dtype: Any
    label: Any = "the data"
    classes: Any = ()

    def __len__(self) -> int:
        return self.whole[0] if self.whole else 0

    def take(self, which: Indices) -> np.ndarray:
        """Return the samples with these numbers, [n, ...]."""
        raise NotImplementedError

    def prepare(self, which: Indices) -> None:
        """Start to read samples that take() will return, if reading takes long."""

    def view(self) -> np.ndarray:
        """Return all samples; those of a file are read on use."""
        return self.take(range(len(self)))

    def name(self, number: int) -> str:
        """Return the name of a sample in error messages."""
        return f"sample {number} of {self.label}"


def make_row_reader(which: Indices) -> Union[slice, np.ndarray]:
    """Return an index of these rows of an array; for an ascending range a slice, which copies
    nothing.
    """
    if isinstance(which, range) and which.step > 0:
        return slice(which.start, which.stop, which.step)
    return np.asarray(which)


@dataclass(frozen=True, eq=False)
class MemorySource(Source):
    """An array in memory."""

    array: np.ndarray
    label: str = "the data"

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self.array.dtype

    @property
    def whole(self) -> tuple[int, ...]:
        """Shape of all samples together."""
        return self.array.shape

    def take(self, which: Indices) -> np.ndarray:
        """Return the samples with these numbers."""
        return self.array[make_row_reader(which)]


class Pieces(Source):
    """Concatenated pieces of samples; each piece is read alone."""

    @property
    def starts(self) -> list[int]:
        """Number of each piece's first sample, and last the total number of samples."""
        raise NotImplementedError

    def piece(self, number: int, which: np.ndarray) -> np.ndarray:
        """Return samples of one piece, by their numbers in it."""
        raise NotImplementedError

    def place(self, number: int) -> tuple[int, int]:
        """Return the piece of a sample, and its number in it."""
        piece = bisect.bisect_right(self.starts, number) - 1
        return piece, number - self.starts[piece]

    def take(self, which: Indices) -> np.ndarray:
        """Return the samples with these numbers; read each piece once."""
        numbers = np.asarray(which)
        owner = np.searchsorted(self.starts, numbers, "right") - 1
        out = np.empty((len(numbers), *self.whole[1:]), self.dtype)
        for piece in np.unique(owner):
            mine = owner == piece
            out[mine] = self.piece(int(piece), numbers[mine] - self.starts[piece])
        return out


class LoadedPieces(Pieces):
    """Pieces that are read completely; the last one read is kept."""

    _kept: Optional[tuple[int, np.ndarray]] = None

    def __getstate__(self) -> Mapping[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def load(self, number: int) -> np.ndarray:
        """Return all samples of a piece."""
        raise NotImplementedError

    def piece(self, number: int, which: np.ndarray) -> np.ndarray:
        """Return samples of one piece."""
        kept = self._kept
        if kept is None or kept[0] != number:
            kept = number, self.load(number)
            self.__dict__["_kept"] = kept  # atomically, because several threads may read
        part: np.ndarray = kept[1][which]
        return part


@dataclass(frozen=True, eq=False)
class Shards(Pieces):
    """Concatenated sources; all have samples of one shape and type."""

    parts: Sequence[Source]
    label: str = "the data"

    def __post_init__(self) -> None:
        first = self.parts[0]
        for part in self.parts:
            if (part.whole[1:], part.dtype) != (first.whole[1:], first.dtype):
                raise Error(
                    f"{part.label} has samples {part.dtype} {list(part.whole[1:])}, but "
                    f"{first.label} {first.dtype} {list(first.whole[1:])}: all files of the "
                    "data must have one type and shape"
                )

    @cached_property
    def starts(self) -> list[int]:
        """Number of each shard's first sample, and last the total number of samples."""
        return [0, *accumulate(map(len, self.parts))]

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        part: np.dtype = self.parts[0].dtype
        return part

    @property
    def whole(self) -> tuple[int, ...]:
        """Shape of all samples together."""
        return (self.starts[-1], *self.parts[0].whole[1:])

    def piece(self, number: int, which: np.ndarray) -> np.ndarray:
        """Return samples of one shard."""
        ordered = range(int(which[0]), int(which[-1]) + 1)
        consecutive = len(ordered) == len(which) and bool((np.diff(which) == 1).all())
        return self.parts[number].take(ordered if consecutive else which)

    def name(self, number: int) -> str:
        """Return the name of a sample in error messages: its number among all, and its place."""
        piece, own = self.place(number)
        return f"sample {number} of the data ({self.parts[piece].name(own)})"
