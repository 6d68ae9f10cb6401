"""What is known of one layer of a quantized network after a run over data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..formats import q_format
from ..statistics import Statistics
from .errors import Errors, Tally, errors_of


@dataclass(frozen=True)
class Bars:
    """A histogram for a picture: shares of equal bins over [low, high]; limits: what the format
    can represent.
    """

    low: float
    high: float
    real: tuple[float, ...]
    quantized: tuple[float, ...]
    limits: tuple[float, float]


@dataclass(frozen=True)
class LayerFigures:
    """One layer. low, high: range of the real values. saturated: of `elements`, those that left
    the format where the next layer would not have cut them off.

    sums: least and largest accumulator; wraps: it leaves 32 bits. whole: errors accumulate
    through the network; single: the layer alone, on the real inputs rounded into its format.
    dead: channels that are never anything but zero, of `channels`.
    """

    name: str
    function: str
    format: str
    weight_format: Optional[str]
    bias_format: Optional[str]
    bias_shift: Optional[int]
    out_shift: Optional[int]
    low: float
    high: float
    saturated: int
    elements: int
    sums: Optional[tuple[int, int]]
    whole: Errors
    single: Errors
    dead: int
    channels: int
    bars: Bars

    @property
    def wraps(self) -> bool:
        """Does an accumulator leave 32 bits?"""
        return self.sums is not None and not -(2**31) <= self.sums[0] <= self.sums[1] < 2**31

    @property
    def saturated_share(self) -> float:
        """Of all elements, in percent."""
        return 100 * self.saturated / max(self.elements, 1)


@dataclass(frozen=True)
class WeightFigures:
    """Weights or bias of a layer. saturated of `elements` lie more than a step outside of the
    format, lost became zero; bits: that the largest integer needs.
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


@dataclass
class Gathered:
    """The figures of one layer while batches come in."""

    frac: int
    dtype: str
    whole: Tally = field(default_factory=Tally)
    single: Tally = field(default_factory=Tally)
    real: Statistics = field(default_factory=Statistics)
    device: Statistics = field(default_factory=Statistics)
    saturated: int = 0
    elements: int = 0
    sums: Optional[tuple[int, int]] = None
    alive: Optional[np.ndarray] = None

    def add(self, real: np.ndarray, device: np.ndarray, single: np.ndarray) -> None:
        """One batch: real values, and integers of the whole network and of the layer alone."""
        got = np.ldexp(device.astype(np.float64), -self.frac)
        self.whole.add(real, got)
        self.single.add(real, np.ldexp(single.astype(np.float64), -self.frac))
        self.real.add(real)
        self.device.add(got)
        self.elements += device.size
        alive = (real != 0).reshape(-1, real.shape[-1]).any(0)
        self.alive = alive if self.alive is None else self.alive | alive

    def add_sums(self, sums: np.ndarray, outputs: np.ndarray, below: bool, above: bool) -> None:
        """The accumulators of one batch, and the outputs that they stand for, unsaturated.

        below, above: does it matter there? What the next call cuts off anyway does not.
        """
        low, high = int(sums.min()), int(sums.max())
        now = self.sums or (low, high)
        self.sums = (min(now[0], low), max(now[1], high))
        limits = np.iinfo(self.dtype)
        lost = (below & (outputs < limits.min)) | (above & (outputs > limits.max))
        self.saturated += int(np.count_nonzero(lost))

    def bars(self, bins: int = 48) -> Bars:
        """The histograms of real and quantized values over one range."""
        limits = np.iinfo(self.dtype)
        ends = (np.ldexp(float(limits.min), -self.frac), np.ldexp(float(limits.max), -self.frac))
        span = max(self.real.largest, self.device.largest, 1e-12)
        edges = np.linspace(-span if self.real.low < 0 else 0.0, span, bins + 1)
        shares = []
        for statistics in (self.real, self.device):
            place = np.searchsorted(edges, statistics.centres, "right") - 1
            counts = np.bincount(np.clip(place, 0, bins - 1), statistics.counts, bins)
            zero = np.clip(np.searchsorted(edges, 0.0, "right") - 1, 0, bins - 1)
            counts[zero] += statistics.zeros
            total = max(counts.sum(), 1.0)
            shares.append(tuple(float(count / total) for count in counts))
        return Bars(float(edges[0]), span, shares[0], shares[1], (float(ends[0]), float(ends[1])))


def weight_figures(
    layer: str, role: str, real: np.ndarray, integers: np.ndarray, frac: int
) -> WeightFigures:
    """The figures of an array of integers [...] of a layer, and the real one that it stands for."""
    limits = np.iinfo(integers.dtype)
    exact = np.rint(np.ldexp(np.asarray(real, np.float64), frac))
    return WeightFigures(
        layer,
        role,
        q_format(integers.dtype.name, frac),
        float(np.min(real, initial=0.0)),
        float(np.max(real, initial=0.0)),
        int(np.count_nonzero((exact < limits.min - 1) | (exact > limits.max + 1))),
        integers.size,
        int(np.abs(integers.astype(np.int64)).max(initial=0)).bit_length() + 1,
        int(np.count_nonzero((integers == 0) & (np.asarray(real) != 0))),
        errors_of(real, np.ldexp(integers.astype(np.float64), -frac)),
    )
