"""Batches of samples and their labels: in order, or single blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..io.arguments import as_count
from ..io.selection import Indices, Selection
from ..io.sources import MemorySource, Source
from ..runtime.samples import convert_to_numbers
from .class_numbers import number_classes
from .codes_or_floats import Meaning
from .sample_transforms import Take, iterate_arrays


@dataclass(frozen=True)
class Batch:
    """Samples x [n, *shape], a dict if there are several inputs, and their labels y [n], if any.

    first: number of samples before them.
    """

    x: Any
    y: Optional[np.ndarray] = None
    first: int = 0

    def __len__(self) -> int:
        return len(next(iterate_arrays(self.x)))


@dataclass(frozen=True)
class Labels:
    """The labels of all samples: classes, or whatever a network is right with (any_labels)."""

    source: Source
    any_labels: bool = False

    @classmethod
    def of(cls, source: Source, any_labels: bool, count: Optional[int]) -> Labels:
        """Return labels for a network of so many classes; None: labels are values."""
        return cls(number_classes(source, count), any_labels)

    def check(self, count: int) -> None:
        """Refuse labels that are not one for each sample."""
        found = self.source
        if self.any_labels and found.whole[:1] == (count,) and found.dtype.kind in "iufb":
            return
        if found.whole != (count,) or found.dtype.kind not in "iu":
            kind = "number" if self.any_labels else "integer"
            raise Error(
                f"labels are {found.dtype} {list(found.whole)}, but must be one {kind} for "
                f"each of the {count} samples"
            )

    def take(self, which: Indices) -> np.ndarray:
        """Return the labels of these samples; raise Error for a label below 0."""
        y = self.source.take(which)
        if not self.any_labels and len(y) and y.min() < 0:
            row = int(y.argmin())
            raise Error(
                f"the label of sample {int(which[row])} is {y[row]}, but classes count from 0: "
                "subtract the lowest label"
            )
        return y


@dataclass(frozen=True)
class Samples:
    """Samples read by number, their conversion, and their labels.

    sources: data of each input; a single input has no name.
    """

    sources: Mapping[Optional[str], Source]
    take: Take
    labels: Optional[Labels] = None

    def name(self, number: int) -> str:
        """Return the name of a sample in error messages."""
        return next(iter(self.sources.values())).name(number)

    def batch(self, which: Indices, first: int) -> Batch:
        """Return the samples with these numbers."""
        x = {name: source.take(which) for name, source in self.sources.items()}
        y = None if self.labels is None else self.labels.take(which)
        return Batch(self.take(x.get(None, x), lambda row: self.name(int(which[row]))), y, first)


@dataclass(frozen=True)
class Blocks:
    """Samples in blocks of one size, each readable alone.

    A pickle of data in files contains their paths: each process reads its own part.
    """

    samples: Samples
    which: Indices
    size: int

    def __len__(self) -> int:
        return -(-len(self.which) // self.size)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.block, range(len(self)))

    def name(self, row: int) -> str:
        """Return the name of a row's sample in error messages, counted through all blocks."""
        return self.samples.name(int(self.which[row]))

    @property
    def in_memory(self) -> bool:
        """True if a pickle contains the samples or labels themselves."""
        labels = self.samples.labels
        held = [*self.samples.sources.values(), *([labels.source] if labels else [])]
        return any(isinstance(source, MemorySource) for source in held)

    def block(self, number: int) -> Batch:
        """Return a block by its number from 0; the last block may be smaller.

        The next block is read in the background.
        """
        first, end = number * self.size, (number + 1) * self.size
        own, following = self.which[first:end], self.which[end : end + self.size]
        for source in self.samples.sources.values():
            source.prepare(own)
            if len(following):
                source.prepare(following)
        return self.samples.batch(own, first)


class Batches:
    """Iterable of Batch, with a len() for progress bars if it is known.

    Attributes
    ----------
    samples : int or None
        How many samples there are; None where nobody knows, as of a generator.
    classes : tuple of str
        The names of the classes, where the data say them.
    """

    def __init__(self, blocks: Blocks, classes: tuple[str, ...] = ()) -> None:
        self._blocks = blocks
        self.samples: Optional[int] = len(blocks.which)
        self.classes = classes

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def numbers(self, batch: Batch) -> Indices:
        """Return the numbers in the data of the samples of a batch."""
        return self._blocks.which[batch.first : batch.first + len(batch)]

    def labels(self) -> Optional[np.ndarray]:
        """Return the labels of all samples in order; None if there are none."""
        blocks = self._blocks
        return None if blocks.samples.labels is None else blocks.samples.labels.take(blocks.which)

    def blocks(self, size: int) -> Blocks:
        """Return the same samples in blocks of a different size, each readable alone.

        Raises Error for data that come in sequence.
        """
        return Blocks(self._blocks.samples, self._blocks.which, as_count(size, "size"))


class Stream(Batches):
    """Batches of an iterable of samples or pairs (x, y), in order; a generator yields them once."""

    def __init__(
        self,
        source: Iterable[Any],
        take: Take,
        labels: Optional[Labels],
        any_labels: bool,
        selection: Selection,
        count: Optional[int] = None,
        meanings: Mapping[Optional[str], Meaning] = MappingProxyType({}),
    ) -> None:
        if not selection.in_order:
            raise Error(
                "the data are a generator, which index and shuffle cannot choose samples "
                "of: give arrays or files, or a limit"
            )
        self._source, self._take, self._labels, self._any_labels = source, take, labels, any_labels
        self._limit, self._used = selection.limit, False
        self._count, self._meanings = count, meanings
        self.samples, self.classes = None, ()

    def __iter__(self) -> Iterator[Batch]:
        items = iter(self._source)
        if self._used and items is self._source:
            raise Error(
                "the data come from a generator, which an earlier call has used up: create it again"
            )
        self._used = True
        done = 0
        for item in items:
            batch = self._check_batch(item, done)
            done += len(batch)
            yield batch
            if done == self._limit:
                return
        if self._labels is not None and done != len(self._labels.source):
            raise Error(
                f"there are {len(self._labels.source)} labels for {done} samples: give one "
                "label for each sample"
            )

    def __len__(self) -> int:
        try:
            return len(self._source)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(
                "the data come from a generator, whose length is unknown: give arrays or files"
            ) from None

    def numbers(self, batch: Batch) -> Indices:
        """Return the numbers of the samples of a batch."""
        return range(batch.first, batch.first + len(batch))

    def blocks(self, size: int) -> Blocks:
        """Raise Error, because no block of a generator is readable alone."""
        raise Error(
            "the data come from a generator, which cannot be read in blocks: save them as .npy"
        )

    def _check_batch(self, item: Any, first: int) -> Batch:
        given, y = item if _is_pair(item) else (item, None)
        x: Any
        if isinstance(given, Mapping):
            names = self._take.names
            keys = keys_of(names, given, "a batch of the data")
            y = given.get("y") if y is None and "y" not in keys else y
            found = [convert_to_numbers(given[key], "the data") for key in keys]
            x = dict(zip(names, found)) if names else found[0]
        else:
            x = convert_to_numbers(given, "the data")
        x = self._decide(x)
        counts = {len(part) if part.ndim else 0 for part in iterate_arrays(x)}
        if len(counts) != 1 or counts == {0}:
            raise Error(
                "the data are single numbers, but must be arrays with an axis of samples, [N, ...]"
            )
        count = counts.pop()
        labels = self._labels
        if labels is None and y is not None:
            found_labels = MemorySource(convert_to_numbers(y, "labels"))
            if found_labels.array.ndim == 0:
                raise Error(
                    "the data yield single samples and labels, but must yield batches: x "
                    "[n, ...] and y [n]"
                )
            labels = Labels.of(found_labels, self._any_labels, self._count)
            labels.check(count)
            y = labels.take(range(count))
        elif labels is not None:
            if first + count > len(labels.source):
                raise Error(
                    f"there are {len(labels.source)} labels, but the data have more samples: "
                    "give one label for each sample"
                )
            y = labels.take(range(first, first + count))
        most = count if self._limit is None else min(count, self._limit - first)
        x = {k: v[:most] for k, v in x.items()} if isinstance(x, Mapping) else x[:most]
        y = None if y is None else y[:most]
        return Batch(self._take(x, lambda row: f"sample {first + row} of the data"), y, first)

    def _decide(self, x: Any) -> Any:
        """Return arrays in types that say whether they are codes."""
        if isinstance(x, Mapping):
            return {name: self._decide_one(part, name) for name, part in x.items()}
        return self._decide_one(x, None)

    def _decide_one(self, x: np.ndarray, name: Optional[str]) -> np.ndarray:
        meaning = self._meanings.get(name)
        return x if meaning is None or not x.ndim else meaning.decide(MemorySource(x)).view()


class Reader:
    """Batches of ONNX Runtime's CalibrationDataReader: what get_next() returns until it is None."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def __iter__(self) -> Iterator[Any]:
        if not hasattr(self._reader, "rewind"):
            return self
        self._reader.rewind()
        return iter(self._reader.get_next, None)

    def __next__(self) -> Any:
        item = self._reader.get_next()
        if item is None:
            raise StopIteration
        return item


def keys_of(names: Sequence[str], arrays: Mapping[str, Any], what: str) -> Sequence[str]:
    """Return the keys of a network's inputs in a dictionary: their names, or x0, x1, ... in order.

    names: of several inputs. The key of a single input is x, or the only key. Raises Error for a
    missing key.
    """
    if names:
        for keys in (names, [f"x{number}" for number in range(len(names))]):
            if set(keys) <= set(arrays):
                return keys
        wanted = f"the inputs {', '.join(map(repr, names))}, or x0, x1, ... in order"
    else:
        if "x" in arrays or len(arrays) == 1:
            return ["x" if "x" in arrays else next(iter(arrays))]
        wanted = "the inputs 'x', and labels 'y'"
    raise Error(f"{what} has {', '.join(map(str, arrays)) or 'no arrays'}; name {wanted}")


def _is_pair(item: Any) -> bool:
    """True if an item of a stream is a pair of samples and labels; a torch loader yields lists."""
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        return False
    return isinstance(item, tuple) or np.ndim(item[1]) == 1 < np.ndim(item[0])
