"""Figures of one layer of a quantized network after a run over data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..ir.formats import Format
from ..ir.statistics import Statistics
from .errors import Errors, Tally, measure_errors, sum_squares, tally_errors


@dataclass(frozen=True)
class Bars:
    """A histogram to draw: shares of equal bins over [low, high], which holds all values and
    what the format can represent, from limits[0] to limits[1]; its half below 0 only if in use.
    """

    low: float
    high: float
    real: tuple[float, ...]
    quantized: tuple[float, ...]
    limits: tuple[float, float]


@dataclass(frozen=True)
class LayerFigures:
    """One layer, or the input. operator: what the float network computes there; function: the
    device, None for the input. low, high: range of the real values.

    saturated: of `elements`, those whose exact value left the format; lost: those of them that
    left it by more than a step, and that no activation after the layer would have cut off.
    sums: least and largest accumulator. whole: errors accumulate through the network; single: the
    layer alone, on the real inputs rounded into its format. crowded: share of the values that
    are not 0 within an eighth of the largest. dead: of `channels`, those that are 0 always.
    input_frac: fraction bits of what it reads.
    """

    name: str
    operator: str
    function: Optional[str]
    format: str
    weight_format: Optional[str]
    bias_format: Optional[str]
    bias_shift: Optional[int]
    out_shift: Optional[int]
    input_frac: Optional[int]
    low: float
    high: float
    saturated: int
    lost: int
    elements: int
    sums: Optional[tuple[int, int]]
    whole: Errors
    single: Errors
    crowded: float
    dead: int
    channels: int
    bars: Bars

    @property
    def wraps(self) -> bool:
        """Does an accumulator leave 32 bits?"""
        return self.sums is not None and not -(2**31) <= self.sums[0] <= self.sums[1] < 2**31

    @property
    def saturated_share(self) -> float:
        """Share of all elements, in percent."""
        return 100 * self.saturated / max(self.elements, 1)

    @property
    def lost_share(self) -> float:
        """Share of all elements, in percent."""
        return 100 * self.lost / max(self.elements, 1)


@dataclass(frozen=True)
class WeightFigures:
    """Weights or bias of a layer. saturated of `elements` lie more than a step outside of the
    format; lost became zero, though they are large enough to matter; bits: that the largest
    integer needs. channels: the largest magnitude of each output channel, floats.
    """

    layer: str
    role: str
    format: str
    low: float
    high: float
    saturated: int
    elements: int
    bits: int
    lost: int
    errors: Errors
    channels: tuple[float, ...] = ()


@dataclass
class Gathered:
    """The figures of one tensor while batches come in.

    kept: the real values that the activations after it pass, lowest and highest.
    """

    format: Format
    kept: tuple[float, float] = (-math.inf, math.inf)
    whole: Tally = field(default_factory=Tally)
    single: Tally = field(default_factory=Tally)
    real: Statistics = field(default_factory=Statistics)
    device: Statistics = field(default_factory=Statistics)
    saturated: int = 0
    lost: int = 0
    elements: int = 0
    sums: Optional[tuple[int, int]] = None
    alive: Optional[np.ndarray] = None

    def add(
        self, real: np.ndarray, device: np.ndarray, single: Optional[np.ndarray] = None
    ) -> None:
        """Add a batch: real values, and integers of the whole network and of the layer alone, where
        these are others."""
        got, exact = self.format.dequantize(device), np.asarray(real, np.float64)
        signal = sum_squares(exact)
        batch = tally_errors(exact, got, signal)
        self.whole.merge(batch)
        if single is not None:
            batch = tally_errors(exact, self.format.dequantize(single), signal)
        self.single.merge(batch)
        self.real.add(real)
        self.device.add(*self._codes(device, got))
        self.elements += device.size
        if self.alive is None or not self.alive.all():
            alive = (real != 0).any(0).reshape(-1, real.shape[-1]).any(0)
            self.alive = alive if self.alive is None else self.alive | alive

    def _codes(
        self, device: np.ndarray, got: np.ndarray
    ) -> tuple[np.ndarray, Optional[np.ndarray]]:
        """Return what integers stand for, and how often each occurs, if that is quicker to
        count.
        """
        if device.dtype.kind != "i" or device.itemsize > 1:
            return got, None
        times = np.bincount(device.ravel().view(np.uint8), minlength=256)
        codes = np.flatnonzero(times)
        values = codes.astype(np.uint8).view(device.dtype)
        return self.format.dequantize(values), times[codes]

    def add_sums(self, sums: np.ndarray) -> None:
        """Add the accumulators of one batch."""
        low, high = int(sums.min()), int(sums.max())
        now = self.sums or (low, high)
        self.sums = (min(now[0], low), max(now[1], high))

    def add_unsaturated(self, outputs: np.ndarray, cut: Optional[np.ndarray] = None) -> None:
        """Add the integers of one batch as they would be in an unbounded format.

        cut: the interval to which an activation in the same call would cut them.
        """
        least, most = self.format.limits
        kept = self.format.scale_unrounded(np.array(self.kept))
        found = [outputs.min(), outputs.max()] if outputs.size else [0, 0]
        ends = np.array(found, np.float64)
        cuts = () if cut is None else (cut,)
        self.saturated += _count_beyond(outputs, ends, cuts, least, most)
        self.lost += _count_beyond(outputs, ends, (*cuts, kept), least - 1, most + 1)

    def merge(self, other: Gathered) -> None:
        """Add the figures of the same tensor from another collector."""
        for mine, theirs in ((self.whole, other.whole), (self.single, other.single)):
            mine.merge(theirs)
        self.real.merge(other.real)
        self.device.merge(other.device)
        self.saturated += other.saturated
        self.lost += other.lost
        self.elements += other.elements
        if other.sums is not None:
            self.add_sums(np.array(other.sums))
        if other.alive is not None:
            self.alive = other.alive if self.alive is None else self.alive | other.alive

    def compute_crowded_share(self) -> float:
        """Return the share of the real values other than 0 within an eighth of the largest."""
        inner = np.abs(self.real.centres) <= self.real.largest / 8
        return float(self.real.counts[inner].sum() / max(self.real.counts.sum(), 1))

    def count_dead_channels(self) -> tuple[int, int]:
        """Return how many channels are 0 on all data, of how many."""
        return (0, 0) if self.alive is None else (int((~self.alive).sum()), self.alive.size)

    def make_bars(self, most: int = 64) -> Bars:
        """Return the histograms of real and quantized values in at most so many bins.

        Bins are some power of two of the format's steps wide, and hold what rounds into them.
        """
        ends, step = self.format.ends, self.format.scale
        negative = min(self.real.low, self.device.low) < 0
        low = min(self.real.low, ends[0]) if negative else 0.0
        high = max(self.real.high, ends[1])
        width, count = step / 2, most + 1
        while count > most:
            width *= 2
            start = math.floor(low / width) * width
            count = math.floor((high + step / 2 - start) / width) + 1
        shares = []
        for statistics in (self.real, self.device):
            values = np.append(statistics.centres, 0.0)
            bins = np.floor((values + step / 2 - start) / width).astype(np.int64)
            counts = np.append(statistics.counts, statistics.zeros)
            heights = np.bincount(np.clip(bins, 0, count - 1), counts, count)
            shares.append(tuple(float(share) for share in heights / max(heights.sum(), 1.0)))
        return Bars(start, start + count * width, shares[0], shares[1], ends)


def _count_beyond(
    values: np.ndarray, ends: np.ndarray, cuts: Sequence[np.ndarray], least: float, most: float
) -> int:
    """Return how many values leave an interval, once cut to other ones; ends: the least and the
    largest, which mostly say that none does.
    """
    for cut in cuts:
        ends = np.clip(ends, *cut)
    if least <= ends[0] and ends[1] <= most:
        return 0
    values = np.asarray(values, np.float64)
    for cut in cuts:
        values = np.clip(values, *cut)
    return int(np.count_nonzero((values < least) | (values > most)))


def measure_weights(
    layer: str,
    role: str,
    real: np.ndarray,
    integers: np.ndarray,
    scale: np.ndarray,
    format: str,
    matters: float = 0.0,
) -> WeightFigures:
    """Return the figures of an array of integers [...] of a layer, and the real one that it stands
    for.

    scale: of the integers, broadcasts to them. format: what it is called. matters: the least
    magnitude whose loss matters.
    """
    limits = np.iinfo(integers.dtype)
    real = np.asarray(real, np.float64)
    exact = np.rint(np.divide(real, scale, out=np.zeros_like(real), where=scale != 0))
    return WeightFigures(
        layer,
        role,
        format,
        float(np.min(real, initial=0.0)),
        float(np.max(real, initial=0.0)),
        int(np.count_nonzero((exact < limits.min - 1) | (exact > limits.max + 1))),
        integers.size,
        int(np.abs(integers.astype(np.int64)).max(initial=0)).bit_length() + 1,
        int(np.count_nonzero((integers == 0) & (real != 0) & (np.abs(real) >= matters))),
        measure_errors(real, integers * scale),
        tuple(np.abs(real.reshape(len(real), -1)).max(1).tolist()) if real.ndim > 1 else (),
    )
