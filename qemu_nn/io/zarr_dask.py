"""Arrays in chunks, such as those of Zarr and Dask, read chunk by chunk."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from ..errors import Error
from .sources import LoadedPieces


class Chunked(LoadedPieces):
    """An array of Zarr or Dask, or one with the same interface."""

    def __init__(self, array: Any, label: str = "the data") -> None:
        self._array, self.label = array, label
        self.whole, self.dtype = tuple(array.shape), np.dtype(array.dtype)
        sizes = array.chunks[0]
        if not isinstance(sizes, (tuple, list)):  # Zarr: one size for all chunks
            count = self.whole[0]
            sizes = [min(sizes, count - first) for first in range(0, count, sizes)]
        if any(size != size for size in sizes):  # NaN: Dask's size before it computes
            raise Error(f"{label} has chunks of unknown size: call compute_chunk_sizes() first")
        self._sizes = [int(size) for size in sizes]

    @cached_property
    def starts(self) -> list[int]:
        """Number of each chunk's first sample, and last the total number of samples."""
        return [0, *accumulate(self._sizes)]

    def load(self, number: int) -> np.ndarray:
        """Return all samples of a chunk."""
        first, end = self.starts[number : number + 2]
        try:
            return np.asarray(self._array[first:end])
        except Exception as error:  # a store and a graph of tasks fail in ways of their own
            raise Error(f"cannot read chunk {number} of {self.label}: {error}") from None


def is_chunked(x: Any) -> bool:
    """True if an array declares chunks along its first axis."""
    if isinstance(x, np.ndarray) or not all(hasattr(x, name) for name in ("shape", "dtype")):
        return False
    chunks = getattr(x, "chunks", None)
    return isinstance(chunks, (tuple, list)) and len(chunks) == len(x.shape) > 0
