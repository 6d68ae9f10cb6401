"""Range and histogram of values added in any number of pieces, in constant memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

import numpy as np

from ..errors import Error

#: Bins of a histogram by default.
BINS = 4096

#: Smallest range of a histogram; smaller values matter in no format.
_SMALLEST = -40

#: The largest magnitude that can become an integer.
_LARGEST = 2.0**60

#: Samples whose extremes tell how a tail falls; the fewest gaps between them that tell it alone,
#: and the scale of the tail, as a share of the largest value, that fewer gaps are averaged with.
_PEAKS, _GAPS, _PRIOR = 16, 3, 0.3


class Filled(NamedTuple):
    """The bins of a histogram that are not empty, in order: centres, counts and width."""

    centres: np.ndarray
    counts: np.ndarray
    width: float


class Histogram(NamedTuple):
    """Histogram without its range's empty bins; largest: magnitude of the values."""

    largest: float
    filled: Filled

    def list_filled_bins(self) -> Filled:
        """Return the bins."""
        return self.filled


class Statistics:
    """Range and histogram of all values added so far.

    bins: a multiple of 4. They cover [-2^e, 2^e); e grows with the data, and bins are merged. 0
    bins: the range alone. low, high: the range; 0, 0 before the first value. zeros: number of
    values equal to 0. counts[i]: number of nonzero values in [edge, edge + width) with edge = (i -
    bins / 2) * width. samples: number counted by add_samples().
    """

    def __init__(self, bins: int = BINS) -> None:
        self.bins = bins
        self.low = self.high = 0.0
        self.zeros = 0
        self.counts = np.zeros(bins, np.int64)
        self._exponent = _SMALLEST
        self._empty = True
        self.samples = 0
        self._lows = self._highs = np.empty(0)  # of samples, the _PEAKS most extreme

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without empty bins: statistics travel between processes."""
        filled = np.flatnonzero(self.counts)
        return {**vars(self), "counts": (filled, self.counts[filled])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        filled, counts = state["counts"]
        vars(self).update(state, counts=np.zeros(state["bins"], np.int64))
        self.counts[filled] = counts

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(-self.low, self.high)

    @property
    def width(self) -> float:
        """The width of one bin."""
        return math.ldexp(2.0 / self.bins, self._exponent)

    @property
    def centres(self) -> np.ndarray:
        """The middle of every bin."""
        return self._centres(np.arange(self.bins))

    def list_filled_bins(self) -> Filled:
        """Return the bins that are not empty: in a fine histogram most are."""
        filled = np.flatnonzero(self.counts)
        return Filled(self._centres(filled), self.counts[filled], self.width)

    def _centres(self, indices: np.ndarray) -> np.ndarray:
        return (indices - self.bins / 2 + 0.5) * self.width

    def add(self, values: np.ndarray, times: Optional[np.ndarray] = None) -> None:
        """Count more values; raise Error for values that are not finite. times: count of each, once
        if None.
        """
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        if not max(-low, high) < _LARGEST:  # NaN too
            raise Error("it has values that are not finite, or too large for any format")
        if not self._empty:
            low, high = min(self.low, low), max(self.high, high)
        self.low, self.high, self._empty = low, high, False
        if self.bins:
            self._count(values, times)

    def add_samples(self, values: np.ndarray) -> None:
        """Count values [samples, ...], and the extremes of each sample; raise Error as add()."""
        self.add(values)
        if values.size:
            rows = values.reshape(len(values), -1)
            self._add_peaks(len(rows), rows.min(1), rows.max(1))

    def _add_peaks(self, samples: int, lows: np.ndarray, highs: np.ndarray) -> None:
        self.samples += samples
        self._lows = np.sort(np.concatenate([self._lows, lows]))[:_PEAKS]
        self._highs = -np.sort(-np.concatenate([self._highs, highs]))[:_PEAKS]

    def extrapolate(self, samples: int) -> tuple[float, float]:
        """Return the range that so many samples are likely to reach; the range seen if there were
        as many.

        The extremes of samples are taken to fall off exponentially beyond the largest: then the
        gaps between the largest, each times its rank, have the mean `scale`, and n times as many
        samples reach scale * ln(n) further. The gap to the largest itself does not count, so that
        one wild sample widens nothing beyond itself.
        """
        low = -_extrapolate_end(-self._lows, self.samples, samples)
        return min(self.low, low), max(
            self.high, _extrapolate_end(self._highs, self.samples, samples)
        )

    def merge(self, other: Statistics) -> None:
        """Add the counts of another object with as many bins."""
        if other._empty:
            return
        self._add_peaks(other.samples, other._lows, other._highs)
        ends = (other.low, other.high) if self._empty else (self.low, self.high)
        self.low, self.high = min(ends[0], other.low), max(ends[1], other.high)
        self._empty = False
        exponent = max(self._exponent, other._exponent)
        mine, theirs = self._widen_bins(exponent), other._widen_bins(exponent)
        self.counts, self._exponent = mine + theirs, exponent
        self.zeros += other.zeros

    def _count(self, values: np.ndarray, times: Optional[np.ndarray]) -> None:
        if self.largest >= math.ldexp(1.0, self._exponent):
            exponent = math.frexp(self.largest)[1]
            self.counts, self._exponent = self._widen_bins(exponent), exponent
        middle = self.bins // 2
        scaled = values / self.width
        index = np.floor(scaled, out=scaled).astype(np.int32).ravel(order="K")
        index += middle
        if times is not None or index.size < self.bins:
            np.add.at(self.counts, index, 1 if times is None else times)
        else:
            self.counts += np.bincount(index, minlength=self.bins)
        if times is None:
            zeros = int(np.count_nonzero(values == 0))
        else:
            zeros = int(times[values == 0].sum())
        self.counts[middle] -= zeros
        self.zeros += zeros

    def _widen_bins(self, exponent: int) -> np.ndarray:
        """Return the counts with bins merged so that they cover [-2^exponent, 2^exponent)."""
        if exponent == self._exponent:
            return self.counts
        middle, filled = self.bins // 2, np.flatnonzero(self.counts)
        merged = (filled - middle >> exponent - self._exponent) + middle
        counts = np.zeros(self.bins, np.int64)
        np.add.at(counts, merged, self.counts[filled])
        return counts


def _extrapolate_end(highs: np.ndarray, seen: int, samples: int) -> float:
    """Return how high so many samples reach, of which some were seen, with these largest values,
    the largest first.
    """
    if not seen or samples <= seen or highs[0] <= 0:
        return float(highs[0]) if seen else 0.0
    gaps = np.arange(2, len(highs)) * (highs[1:-1] - highs[2:])
    if len(gaps) < _GAPS:
        gaps = np.append(gaps, _PRIOR * highs[0])
    return float(highs[0] + gaps.mean() * math.log(samples / seen))


def make_statistics(values: np.ndarray, bins: int = BINS) -> Statistics:
    """Return the statistics of one array."""
    result = Statistics(bins)
    result.add(np.asarray(values, np.float64))
    return result


def make_histogram(values: np.ndarray, bins: int) -> Histogram:
    """Return the histogram of one array, as make_statistics() has it, in memory for its values."""
    values = np.asarray(values, np.float64).ravel()
    values = values[values != 0]
    largest = float(np.abs(values).max(initial=0.0))
    width = math.ldexp(2.0 / bins, max(math.frexp(largest)[1], _SMALLEST))
    index, counts = np.unique(np.floor(values / width), return_counts=True)
    return Histogram(largest, Filled((index + 0.5) * width, counts, width))
