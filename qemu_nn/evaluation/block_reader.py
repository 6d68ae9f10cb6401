"""Reading of data in blocks, here or on the worker that computes them; the data alone determine the
size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error
from ..io.selection import Indices
from ..io.sources import MemorySource
from .batches import Batch, Batches, Blocks, Stream

#: Most bytes and samples of a block, least samples of a block if samples are small, and the number
#: of blocks before blocks grow.
_BYTES, _MOST, _LEAST, _BLOCKS = 2**26, 2**15, 64, 128

#: Name of a row's sample in errors.
Names = Callable[[int], str]


@dataclass(frozen=True)
class Given:
    """A block that was already read, and the numbers of its samples."""

    batch: Batch
    which: Indices


@dataclass(frozen=True)
class BlockSource:
    """Source of blocks; None: the blocks are Given."""

    blocks: Optional[Blocks] = None

    def read(self, block: Any) -> tuple[Batch, Names]:
        """Return a block, Given or by number, and the names of its samples."""
        if isinstance(block, Given):
            which = block.which
            return block.batch, lambda row: f"sample {int(which[row])} of the data"
        assert self.blocks is not None  # numbers are of these
        batch = self.blocks.block(block)
        numbers = self.blocks.which[batch.first : batch.first + len(batch)]
        source = next(iter(self.blocks.samples.sources.values()))
        return batch, lambda row: source.name(int(numbers[row]))


def choose_block_size(samples: int, sample_bytes: int) -> int:
    """Return the samples of a block: a power of two determined by the data alone, so block sums
    never change.
    """
    most = min(max(_BYTES // max(sample_bytes, 1), 1), _MOST)
    wanted = min(max(-(-samples // _BLOCKS), _LEAST), most)
    size = 1 << (wanted - 1).bit_length()
    return size if size <= most else size // 2


def take_first(source: Batches) -> tuple[Batch, Optional[Iterable[Batch]]]:
    """Return some of the first samples, and, for data in sequence, an iterator over all batches."""
    if not isinstance(source, Stream):
        return source.blocks(_LEAST).block(0), None
    batches: Iterator[Batch] = iter(source)
    for batch in batches:
        if len(batch):
            return batch, chain([batch], batches)
    raise Error("the data have no samples: give one or more")


def take_batch_rows(batch: Batch, part: slice) -> tuple[Any, Optional[np.ndarray]]:
    """Return some samples of a batch, and their labels, if any."""
    x = batch.x
    x = {name: rows[part] for name, rows in x.items()} if isinstance(x, dict) else x[part]
    return x, None if batch.y is None else batch.y[part]


def open_blocks(
    source: Batches, rest: Optional[Iterable[Batch]], sample_bytes: int, away: bool
) -> tuple[BlockSource, Iterable[Any], Optional[int]]:
    """Return the source of blocks, the blocks, and their number if known.

    rest: result of take_first(), if it was called. away: true if different processes compute the
    blocks; arrays in memory are then sent block by block.
    """
    if rest is not None or isinstance(source, Stream):
        rest = source if rest is None else rest
        total = len(source) if hasattr(source, "__len__") and _count_samples(source) else None
        given = (Given(b, range(b.first, b.first + len(b))) for b in rest if len(b))
        return BlockSource(), given, total
    assert source.samples is not None  # unknown for streams only
    blocks = source.blocks(choose_block_size(source.samples, sample_bytes))
    labels = blocks.samples.labels
    sources = [*blocks.samples.sources.values(), *([labels.source] if labels else [])]
    if not (away and any(isinstance(each, MemorySource) for each in sources)):
        return BlockSource(blocks), range(len(blocks)), len(blocks)
    sent = (Given(batch, blocks.which[batch.first : batch.first + len(batch)]) for batch in blocks)
    return BlockSource(), sent, len(blocks)


def _count_samples(source: Batches) -> bool:
    try:
        return len(source) >= 0
    except TypeError:
        return False
