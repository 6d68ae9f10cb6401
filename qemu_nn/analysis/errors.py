"""Errors of quantized values, summed over batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

import numpy as np


@dataclass(frozen=True)
class Errors:
    """Quantization errors of an array.

    sqnr: signal to quantization noise in dB (inf without noise). cosine: of the angle between both
    arrays. largest, mean: of quantized minus float values.
    """

    sqnr: float
    cosine: float
    largest: float
    mean: float


class Tally:
    """Sums over all values compared so far."""

    def __init__(self) -> None:
        self._signal = self._noise = self._other = self._sum = 0.0
        self._largest, self._count = 0.0, 0

    def add(self, real: np.ndarray, got: np.ndarray, signal: Optional[float] = None) -> None:
        """Compare more values. signal: sum_squares() of the real ones, if known."""
        real, got = (np.asarray(a, np.float64).ravel() for a in (real, got))
        error = got - real
        self._signal += sum_squares(real) if signal is None else signal
        self._noise += sum_squares(error)
        self._other += sum_squares(got)
        self._sum += float(error.sum())
        ends = (-error.min(initial=0.0), error.max(initial=0.0))
        self._largest = max(self._largest, *map(float, ends))
        self._count += error.size

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self._signal += other._signal
        self._noise += other._noise
        self._other += other._other
        self._sum += other._sum
        self._largest = max(self._largest, other._largest)
        self._count += other._count

    def errors(self) -> Errors:
        """Return the figures."""
        both = (self._signal + self._other - self._noise) / 2  # the sum of real times quantized
        return Errors(
            compute_decibels(self._signal, self._noise),
            _compute_ratio(both, math.sqrt(self._signal * self._other)),
            self._largest,
            self._sum / max(self._count, 1),
        )


def sum_squares(a: np.ndarray) -> float:
    """Return the sum of squares, on this thread: a threaded library would be slower here."""
    a = a.ravel()
    return float(np.einsum("i,i->", a, a))


def tally_errors(real: np.ndarray, got: np.ndarray, signal: Optional[float] = None) -> Tally:
    """Return the sums over two arrays alone. signal: sum_squares() of the real one, if known."""
    tally = Tally()
    tally.add(real, got, signal)
    return tally


def measure_errors(real: np.ndarray, got: np.ndarray) -> Errors:
    """Return the figures of two arrays."""
    return tally_errors(real, got).errors()


def compute_decibels(signal: float, noise: float) -> float:
    """Return the ratio of signal to noise, sums of squares, in dB; inf without noise."""
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def _compute_ratio(a: float, b: float) -> float:
    return a / b if b else 1.0
