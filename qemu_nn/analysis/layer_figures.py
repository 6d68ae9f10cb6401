"""Figures of one layer of a quantized network after a run over data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..ir.formats import Format
from ..ir.statistics import Statistics
from .errors import (
    Errors,
    Tally,
    compute_decibels,
    measure_errors,
    sum_squares,
    tally_errors,
)

#: A channel of fewer codes than this is coarse. An outlier channel reaches this many times as far
#: as half of the channels; most outlier channels, as a share of all.
COARSE, FURTHER, _OUTLIERS = 16, 8.0, 0.125


@dataclass(frozen=True)
class Bars:
    """Histogram to draw: shares of equal bins over [low, high].

    The bins cover all values and the range of the format, limits[0] to limits[1], without its
    negative half if unused.
    """

    low: float
    high: float
    real: tuple[float, ...]
    quantized: tuple[float, ...]
    limits: tuple[float, float]


#: Largest error of the histogram, in steps of the format; larger ones are counted there.
MOST_STEPS = 8


@dataclass(frozen=True)
class ChannelFigures:
    """Figures of each channel of a layer's output: the last axis.

    low, high: range of the float values. sqnr: in dB, errors accumulated through the network.
    vanished: channels that are always 0 on the device alone.
    """

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    sqnr: tuple[float, ...] = ()
    vanished: tuple[int, ...] = ()

    @property
    def reach(self) -> tuple[float, ...]:
        """The largest magnitude of each channel."""
        return tuple(max(-low, high) for low, high in zip(self.low, self.high))


@dataclass(frozen=True)
class LayerFigures:
    """Figures of one layer, or of the input.

    operator: in the float network. function: on the device, None for the input. low, high: range of
    the float values. saturated: of `elements`, those whose exact value is outside the format. lost:
    those more than a step outside that no later activation would clip. sums: least and largest
    accumulator. whole: errors accumulated through the network. single: errors of the layer alone,
    on float inputs rounded to its format. crowded: share of the nonzero values within an eighth of
    the largest. dead: channels that are always 0 in the float network, of `channels`. input_frac:
    fraction bits of its input. step: of its format. beyond: share of the float values more than a
    step outside the format. inputs: of its call. by_channel: figures of each channel. steps: shares
    of the elements by their error in steps, -8 or less to 8 or more.
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
    steps: tuple[float, ...] = ()
    step: float = 0.0
    beyond: float = 0.0
    inputs: tuple[str, ...] = ()
    by_channel: ChannelFigures = ChannelFigures()

    @property
    def wraps(self) -> bool:
        """True if an accumulator exceeds 32 bits."""
        return self.sums is not None and not -(2**31) <= self.sums[0] <= self.sums[1] < 2**31

    @property
    def outliers(self) -> tuple[int, ...]:
        """Channels that reach so much further than the others that these have few codes."""
        return find_outliers(self.by_channel.reach, self.step)

    @property
    def saturated_share(self) -> float:
        """Share of all elements, in percent."""
        return 100 * self.saturated / max(self.elements, 1)

    @property
    def lost_share(self) -> float:
        """Share of all elements, in percent."""
        return 100 * self.lost / max(self.elements, 1)


def find_outliers(reach: Sequence[float], step: float) -> tuple[int, ...]:
    """Return the channels that reach so much further than the others that these are coarse.

    reach: the largest magnitude of each channel. step: of their common format.
    """
    values = np.array(reach)
    alive = values[values > 0]
    if len(alive) < 2 or np.median(alive) >= COARSE * step:
        return ()
    outliers = np.flatnonzero(values > FURTHER * np.median(alive))
    return tuple(outliers.tolist()) if len(outliers) <= max(1, _OUTLIERS * len(values)) else ()


@dataclass(frozen=True)
class WeightFigures:
    """Figures of weights or bias of a layer.

    saturated: of `elements`, those more than a step outside the format. lost: relevant ones that
    became zero. bits: of the largest integer. channels: largest magnitude of each output channel,
    floats. scales: of each of them.
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
    scales: tuple[float, ...] = ()

    @property
    def outliers(self) -> tuple[int, ...]:
        """Output channels whose weights leave few codes for the others; none with a scale each."""
        return find_outliers(self.channels, self.scales[0]) if len({*self.scales}) == 1 else ()


@dataclass(frozen=True)
class _Channels:
    """Sums over the values of each channel; alive: float values other than 0 were seen."""

    low: np.ndarray
    high: np.ndarray
    signal: np.ndarray
    noise: np.ndarray
    alive: np.ndarray
    device_alive: np.ndarray

    def merge(self, other: _Channels) -> _Channels:
        """Return the sums over both."""
        return _Channels(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.signal + other.signal,
            self.noise + other.noise,
            self.alive | other.alive,
            self.device_alive | other.device_alive,
        )


def _measure_channels(exact: np.ndarray, got: np.ndarray) -> _Channels:
    """Return the sums of float values [N, ..., C] and of those of the device.

    Samples are reduced first, because numpy reduces long rows faster than short ones.
    """
    channels = exact.shape[-1]
    exact, got = (each.reshape(len(exact), -1) for each in (exact, got))
    error = got - exact

    def spread(values: np.ndarray) -> np.ndarray:
        return values.reshape(-1, channels)

    low, high = spread(exact.min(0)).min(0), spread(exact.max(0)).max(0)
    return _Channels(
        low,
        high,
        spread(np.einsum("nw,nw->w", exact, exact)).sum(0),
        spread(np.einsum("nw,nw->w", error, error)).sum(0),
        (low != 0) | (high != 0),
        np.asarray(spread(np.asarray(got.any(0))).any(0)),
    )


@dataclass
class Gathered:
    """Figures of one tensor, accumulated over batches.

    kept: lowest and highest float value that later activations pass.
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
    steps: np.ndarray = field(default_factory=lambda: np.zeros(2 * MOST_STEPS + 1, np.int64))
    by_channel: Optional[_Channels] = None

    def add(
        self, real: np.ndarray, device: np.ndarray, single: Optional[np.ndarray] = None
    ) -> None:
        """Add a batch: float values, integers of the whole network, and of the layer alone if they
        differ.
        """
        got, exact = self.format.dequantize(device), np.asarray(real, np.float64)
        signal = sum_squares(exact)
        batch = tally_errors(exact, got, signal)
        self.whole.merge(batch)
        self.steps += _count_steps((got - exact) / self.format.scale)
        if single is not None:
            batch = tally_errors(exact, self.format.dequantize(single), signal)
        self.single.merge(batch)
        self.real.add(real)
        self.device.add(*self._codes(device, got))
        self.elements += device.size
        if real.size and real.ndim > 1:
            found = _measure_channels(exact, got)
            self.by_channel = found if self.by_channel is None else self.by_channel.merge(found)

    def _codes(
        self, device: np.ndarray, got: np.ndarray
    ) -> tuple[np.ndarray, Optional[np.ndarray]]:
        """Return the values of integers, and the count of each, if counting is faster."""
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
        """Add the integers of one batch in an unbounded format.

        cut: the clamping interval of an activation in the same call.
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
        self.steps += other.steps
        if other.sums is not None:
            self.add_sums(np.array(other.sums))
        if other.by_channel is not None:
            found = other.by_channel
            self.by_channel = found if self.by_channel is None else self.by_channel.merge(found)

    def compute_crowded_share(self) -> float:
        """Return the share of the nonzero float values within an eighth of the largest."""
        inner = np.abs(self.real.centres) <= self.real.largest / 8
        return float(self.real.counts[inner].sum() / max(self.real.counts.sum(), 1))

    def count_dead_channels(self) -> tuple[int, int]:
        """Return how many channels are 0 on all data, of how many."""
        found = self.by_channel
        return (0, 0) if found is None else (int((~found.alive).sum()), found.alive.size)

    def compute_share_beyond(self) -> float:
        """Return the share of the float values more than a step outside the format."""
        least, most = self.format.ends
        step, bins = self.format.scale, self.real.list_filled_bins()
        outside = (bins.centres < least - step) | (bins.centres > most + step)
        total = self.real.counts.sum() + self.real.zeros
        return float(bins.counts[outside].sum() / max(total, 1))

    def figures_by_channel(self) -> ChannelFigures:
        """Return the figures of each channel."""
        found = self.by_channel
        if found is None:
            return ChannelFigures()
        pairs = zip(found.signal.tolist(), found.noise.tolist())
        return ChannelFigures(
            tuple(found.low.tolist()),
            tuple(found.high.tolist()),
            tuple(compute_decibels(signal, noise) for signal, noise in pairs),
            tuple(np.flatnonzero(found.alive & ~found.device_alive).tolist()),
        )

    def make_bars(self, most: int = 64) -> Bars:
        """Return the histograms of float and quantized values in at most this many bins.

        The width of a bin is a power of two of the format's steps; a bin counts the values that
        round into it.
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


def _count_steps(errors: np.ndarray) -> np.ndarray:
    """Count errors by their nearest number of steps; those beyond MOST_STEPS at the ends."""
    nearest = np.clip(np.rint(np.nan_to_num(errors.ravel())), -MOST_STEPS, MOST_STEPS)
    return np.bincount(nearest.astype(np.int64) + MOST_STEPS, minlength=2 * MOST_STEPS + 1)


def _count_beyond(
    values: np.ndarray, ends: np.ndarray, cuts: Sequence[np.ndarray], least: float, most: float
) -> int:
    """Count the values outside an interval after clamping to a second one.

    ends: least and largest value, which mostly show that there is none.
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
    """Return the figures of a layer's integer array [...] and its float counterpart.

    scale: of the integers, broadcasts to them. format: its name. matters: the least relevant
    magnitude.
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
        _find_rows(real),
        tuple(np.broadcast_to(np.ravel(scale), len(real)).tolist()) if real.ndim > 1 else (),
    )


def _find_rows(real: np.ndarray) -> tuple[float, ...]:
    """Return the largest magnitude of each output channel; nothing for a bias."""
    return tuple(np.abs(real.reshape(len(real), -1)).max(1).tolist()) if real.ndim > 1 else ()
