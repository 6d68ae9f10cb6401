"""The range and histogram of values that come in any number of pieces, in constant memory."""

from __future__ import annotations

import math

import numpy as np

from .errors import Error

#: Bins of a histogram, if not told otherwise.
BINS = 4096

#: The smallest range a histogram covers: nothing below it matters in any format.
_SMALLEST = -40

#: A magnitude that nothing reaches which is to become an integer.
_LARGEST = 2.0**60


class Statistics:
    """Range and histogram of all values added so far.

    bins: a multiple of 4. They cover [-2^e, 2^e), and e grows with the data, pairs merging. low,
    high: the range; 0, 0 before the first value. zeros: how many are exactly 0. counts[i]: how
    many others lie in [edge, edge + width) with edge = (i - bins / 2) * width.
    """

    def __init__(self, bins: int = BINS) -> None:
        self.bins = bins
        self.low = self.high = 0.0
        self.zeros = 0
        self.counts = np.zeros(bins, np.int64)
        self._exponent = _SMALLEST

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(-self.low, self.high)

    @property
    def width(self) -> float:
        """Of one bin."""
        return math.ldexp(2.0 / self.bins, self._exponent)

    @property
    def centres(self) -> np.ndarray:
        """The middle of every bin."""
        return (np.arange(self.bins) - self.bins / 2 + 0.5) * self.width

    def add(self, values: np.ndarray) -> None:
        """Count more values; Error for what is not finite."""
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        if not max(-low, high) < _LARGEST:  # NaN too
            raise Error("it has values that are not finite, or that no format holds")
        if not self.counts.any() and not self.zeros:
            self.low, self.high = low, high
        self.low, self.high = min(self.low, low), max(self.high, high)
        while math.ldexp(1.0, self._exponent) <= self.largest:
            self._grow()
        others = values[values != 0]
        self.zeros += values.size - others.size
        index = np.floor(others.ravel() / self.width).astype(np.int64) + self.bins // 2
        self.counts += np.bincount(index, minlength=self.bins)

    def _grow(self) -> None:
        pairs = self.counts.reshape(-1, 2).sum(1)
        self.counts = np.zeros(self.bins, np.int64)
        self.counts[self.bins // 4 : self.bins * 3 // 4] = pairs
        self._exponent += 1


def statistics_of(values: np.ndarray, bins: int = BINS) -> Statistics:
    """The statistics of one array."""
    result = Statistics(bins)
    result.add(np.asarray(values, np.float64))
    return result
