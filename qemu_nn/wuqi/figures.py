"""Figures of tensors whose values are added in pieces: range, moments, histogram, errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

#: Keeps a ratio to an error of 0 finite (9.5.2 of the manual: 89.37 dB of 0.0866).
_NO_ERROR = 1e-10


@dataclass
class Histogram:
    """Return the number of values nearest to each of `bins` centres from low to high."""

    low: float
    high: float
    counts: np.ndarray

    def add(self, values: np.ndarray) -> None:
        """Count more values."""
        last = len(self.counts) - 1
        step = (self.high - self.low) / last if last else 0.0
        index = np.rint((values.ravel() - self.low) / step) if step else np.zeros(values.size)
        self.counts += np.bincount(np.clip(index, 0, last).astype(np.int64), minlength=last + 1)

    @property
    def shares(self) -> np.ndarray:
        """Counts as shares with the sum 1."""
        result: np.ndarray = self.counts / max(int(self.counts.sum()), 1)
        return result

    @property
    def pairs(self) -> np.ndarray:
        """[2, bins]: centres and counts."""
        return np.stack([np.linspace(self.low, self.high, len(self.counts)), self.counts])


@dataclass
class Moments:
    """Range, mean and variance of values added in pieces."""

    low: float = np.inf
    high: float = -np.inf
    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, values: np.ndarray) -> None:
        """Count more values."""
        mean, size = float(values.mean()), values.size
        apart, total = mean - self.mean, self.count + size
        self.squares += float(((values - mean) ** 2).sum()) + apart**2 * self.count * size / total
        self.mean += apart * size / total
        self.count = total
        self.low, self.high = min(self.low, float(values.min())), max(self.high, values.max())


@dataclass
class Errors:
    """Sums over pairs of float and fixed-point values added in pieces."""

    count: int = 0
    real: float = 0.0
    fixed: float = 0.0
    absolute: float = 0.0
    largest: float = 0.0
    square: float = 0.0
    rows: int = 0
    wrong: int = 0

    def add(self, real: np.ndarray, fixed: np.ndarray) -> None:
        """Count more pairs; a class is an index along axis 1."""
        error = np.abs(real - fixed)
        self.count += real.size
        self.real += float((real**2).sum())
        self.fixed += float((fixed**2).sum())
        self.absolute += float(error.sum())
        self.largest = max(self.largest, float(error.max()))
        self.square += float((error**2).sum())
        axis = 1 if real.ndim > 1 else 0
        wrong = real.argmax(axis) != fixed.argmax(axis)
        self.rows += wrong.size
        self.wrong += int(np.count_nonzero(wrong))

    def figures(self) -> dict[str, float]:
        """Return the figures, by the endings of compare_float_and_quant()'s names."""
        mean = {name: getattr(self, name) / self.count for name in ("real", "fixed", "square")}
        ratio = (mean["real"] + _NO_ERROR) / (mean["square"] + _NO_ERROR)
        return {
            "fmsv": mean["real"],
            "qmsv": mean["fixed"],
            "mae": self.absolute / self.count,
            "maxae": self.largest,
            "mse": mean["square"],
            "qsnr": float(10 * np.log10(ratio)),
            "top1err": self.wrong / self.rows,
        }


@dataclass
class Target:
    """One tensor: figures of its values in one or two kinds of network."""

    histograms: list[Histogram]
    moments: Moments = field(default_factory=Moments)
    errors: Errors = field(default_factory=Errors)

    def add(self, values: Sequence[np.ndarray]) -> None:
        """Count a piece of the tensor, once for each kind of network."""
        for histogram, array in zip(self.histograms, values):
            histogram.add(array)
        if len(values) == 2:
            self.errors.add(values[0], values[1])
        else:
            self.moments.add(values[0])
