"""Batches of samples and their labels: one after the other, or any block alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..io.arguments import as_array, as_count
from ..io.selection import Indices, Selection
from ..io.sources import Held, Source
from .arrange import Arrange


@dataclass(frozen=True)
class Batch:
    """Samples x, float [n, *shape], of several inputs by name; their labels y, integers [n], if
    there are any; first: how many samples came before them."""

    x: Any
    y: Optional[np.ndarray] = None
    first: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.x.values())) if isinstance(self.x, Mapping) else self.x)


@dataclass(frozen=True)
class Samples:
    """Samples that are read by number, and their labels.

    parts: of each input its data, and how they become what the network takes; one input alone has
    no name.
    """

    parts: Mapping[Optional[str], tuple[Source, Arrange]]
    labels: Optional[Source] = None

    def batch(self, which: Indices, first: int) -> Batch:
        """These samples."""
        x = {name: _read(*part, which) for name, part in self.parts.items()}
        y = None if self.labels is None else checked_labels(self.labels.take(which), which)
        return Batch(x.get(None, x), y, first)


def _read(source: Source, arrange: Arrange, which: Indices) -> np.ndarray:
    return arrange(source.take(which), lambda row: source.name(int(which[row])))


@dataclass(frozen=True)
class Blocks:
    """Samples in blocks of one size, each of which is read alone.

    A pickle of what lies in files holds their paths: each process reads what it uses.
    """

    samples: Samples
    which: Indices
    size: int

    def __len__(self) -> int:
        return -(-len(self.which) // self.size)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.block, range(len(self)))

    def block(self, number: int) -> Batch:
        """One of the blocks, counted from 0; the last may be smaller."""
        first = number * self.size
        return self.samples.batch(self.which[first : first + self.size], first)


class Batches:
    """An iterable of Batch, with a len() where it is known, for progress bars.

    Attributes
    ----------
    samples : int or None
        How many samples there are; None where nobody knows, as of a generator.
    classes : tuple of str
        The names of the classes, where the data say them.
    """

    def __init__(self, all_of_them: Blocks, classes: tuple[str, ...] = ()) -> None:
        self._blocks = all_of_them
        self.samples: Optional[int] = len(all_of_them.which)
        self.classes = classes

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def blocks(self, size: int) -> Blocks:
        """The same samples in blocks of another size, any of which can be read alone; Error where
        the data come one after the other."""
        return Blocks(self._blocks.samples, self._blocks.which, as_count(size, "size"))


class Stream(Batches):
    """Batches of what yields arrays or pairs (x, y), in order; a generator yields them once."""

    def __init__(
        self, source: Iterable, arrange: Arrange, labels: Optional[Source], selection: Selection
    ) -> None:
        if not selection.in_order:
            raise Error(
                "the data come one after the other, so index and shuffle cannot choose among them: "
                "give arrays or files, or a limit"
            )
        self._source, self._arrange, self._labels = source, arrange, labels
        self._limit, self._used = selection.limit, False
        self.samples, self.classes = None, ()

    def __iter__(self) -> Iterator[Batch]:
        again = iter(self._source)
        if self._used and again is self._source:
            raise Error("the data come from a generator, which was used up: make it anew")
        self._used = True
        done = 0
        for item in again:
            batch = self._batch(item, done)
            if self._limit is not None and done + len(batch) >= self._limit:
                yield self._cut(batch, self._limit - done)
                return
            yield batch
            done += len(batch)
        if self._labels is not None and done != len(self._labels):
            raise Error(f"there are {len(self._labels)} labels for {done} samples")

    def __len__(self) -> int:
        try:
            return len(self._source)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError("the data come from a generator, whose length is unknown") from None

    def blocks(self, size: int) -> Blocks:
        """Raise Error: nothing of a generator can be read alone."""
        raise Error("the data come one after the other: save them as .npy to read them in blocks")

    def _batch(self, item: Any, first: int) -> Batch:
        x, y = item if is_pair(item) else (item, None)
        x = as_samples(x)
        if x.ndim == 0:
            raise Error("the data must be arrays with an axis of samples, not numbers")
        self._arrange.of(x.shape[1:])
        which = range(first, first + len(x))
        if self._labels is not None:
            if which.stop > len(self._labels):
                raise Error(f"there are {len(self._labels)} labels for more samples than that")
            y = self._labels.take(which)
        if y is not None:
            y = as_samples(y, "labels")
            check_labels(Held(y), len(x))
            y = checked_labels(y, which)
        return Batch(self._arrange(x, lambda row: f"sample {first + row} of the data"), y, first)

    def _cut(self, batch: Batch, count: int) -> Batch:
        return Batch(batch.x[:count], None if batch.y is None else batch.y[:count], batch.first)


def is_pair(item: Any) -> bool:
    """Whether an item of a stream is samples and labels; lists are those of torch's loaders."""
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        return False
    return isinstance(item, tuple) or np.ndim(item[1]) == 1 < np.ndim(item[0])


def as_samples(x: Any, what: str = "the data") -> np.ndarray:
    """An array, also of a tensor of torch."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    return as_array(x, what)


def check_labels(labels: Source, count: int) -> None:
    """Refuse labels that are not one integer for each sample."""
    if labels.whole != (count,) or labels.dtype.kind not in "iu":
        raise Error(
            f"labels must be one integer for each of the {count} samples, are {labels.dtype} "
            f"{list(labels.whole)}"
        )


def checked_labels(y: np.ndarray, which: Indices) -> np.ndarray:
    """Labels of these samples; Error where one is below 0."""
    if len(y) and y.min() < 0:
        row = int(y.argmin())
        raise Error(f"the label of sample {int(which[row])} is {y[row]}; classes count from 0")
    return y
