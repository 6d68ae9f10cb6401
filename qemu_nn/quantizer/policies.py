"""How to choose between formats: functions (statistics, bits) -> fraction bits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Callable, NamedTuple, Union

import numpy as np

from ..arguments import shown
from ..errors import Error
from ..formats import dec_bit
from ..statistics import Statistics

Policy = Callable[[Statistics, int], int]


class Grid(NamedTuple):
    """What a format can represent: multiples of `step`, from `low` to `high`."""

    step: float
    low: float
    high: float


#: What rounding and saturating cost by some measure: of a histogram, on a grid.
Loss = Callable[[Statistics, Grid], float]


#: Formats a policy considers: the one the range asks for, and up to 3 integer bits fewer.
_SPAN = 4


def minmax(statistics: Statistics, bits: int) -> int:
    """Nothing saturates: (bits - 1) - ceil(log2(largest magnitude))."""
    return dec_bit(statistics.largest, bits)


def mse(statistics: Statistics, bits: int) -> int:
    """The least mean square error, of rounding and of saturation together."""
    return _best(statistics, bits, square_error)


def kl(statistics: Statistics, bits: int) -> int:
    """The least Kullback-Leibler divergence of the quantized distribution from the real one."""
    return _best(statistics, bits, divergence)


def percentile(percent: float) -> Policy:
    """So much of the data does not saturate: 0 < percent <= 100."""
    if not 0 < percent <= 100:
        raise Error(f"a percentile lies above 0 and up to 100, not at {percent}")

    return lambda statistics, bits: dec_bit(reach(statistics, percent), bits)


def reach(statistics: Statistics, percent: float) -> float:
    """The magnitude that so much of the data does not exceed."""
    middle = statistics.bins // 2
    folded = statistics.counts[middle:] + statistics.counts[:middle][::-1]
    total = int(folded.sum()) + statistics.zeros
    reached = np.cumsum(folded) + statistics.zeros >= total * percent / 100
    bound = (int(np.argmax(reached)) + 1) * statistics.width
    return min(bound, statistics.largest)


POLICIES: dict[str, Policy] = {"minmax": minmax, "mse": mse, "kl": kl}


def policy(method: Union[str, float], also: Sequence[str] = ()) -> Policy:
    """A policy by its name, or a percentile by its number; also: methods that the caller has."""
    if isinstance(method, str) and method in POLICIES:
        return POLICIES[method]
    return percentile(percent_of(method, POLICIES, also))


def percent_of(method: Union[str, float], names: Iterable[str], also: Sequence[str] = ()) -> float:
    """The percentile that a method is (99.9, or "99.9"); Error where it is not, with the names."""
    try:
        return float(method)
    except (TypeError, ValueError, OverflowError):
        have = ", or ".join([", ".join(names), "a percentile as a number", *also])
        raise Error(f"no method {shown(method)}; have: {have}") from None


def _best(statistics: Statistics, bits: int, loss: Loss) -> int:
    """The format of least loss; of equals the one with the widest range."""
    start = minmax(statistics, bits)
    if not statistics.largest:
        return start
    return min(range(start, start + _SPAN), key=lambda frac: loss(statistics, _grid(bits, frac)))


def _grid(bits: int, frac: int) -> Grid:
    """Of so many bits, so many of them fraction bits."""
    step, most = math.ldexp(1.0, -frac), 2 ** (bits - 1)
    return Grid(step, -most * step, (most - 1) * step)


def _quantized(statistics: Statistics, grid: Grid) -> np.ndarray:
    """What each bin's centre becomes."""
    return np.clip(np.rint(statistics.centres / grid.step) * grid.step, grid.low, grid.high)


def square_error(statistics: Statistics, grid: Grid) -> float:
    """Sum of squares; a step finer than a bin errs by step^2 / 12 inside of the range."""
    centres, step = statistics.centres, grid.step
    error = (_quantized(statistics, grid) - centres) ** 2
    if step < statistics.width:
        inside = (centres > grid.low) & (centres < grid.high + step)
        error = np.where(inside, step**2 / 12, error)
    return float(statistics.counts @ error)


def divergence(statistics: Statistics, grid: Grid) -> float:
    """KL of the histogram from itself with every level's share spread over the level's bins.

    What saturates counts to the outermost level of the real distribution too, but not to the
    shape of the quantized one: so clipping costs as much as it distorts.
    """
    levels = np.unique(_quantized(statistics, grid), return_inverse=True)[1].ravel()
    inside = (statistics.centres >= grid.low) & (statistics.centres < grid.high + grid.step)
    kept = np.where(inside, statistics.counts, 0).astype(float)
    real = kept.copy()
    first, last = np.flatnonzero(inside)[[0, -1]] if inside.any() else (0, -1)
    real[first] += statistics.counts[:first].sum()
    real[last] += statistics.counts[last + 1 :].sum()
    used = kept > 0
    mass = np.bincount(levels, kept)
    size = np.bincount(levels, used)
    spread = np.where(used, mass[levels] / np.maximum(size[levels], 1), 0)
    if not spread.any():
        return float("inf")
    p, q = real / real.sum(), spread / spread.sum()
    lost = (p > 0) & (q == 0)
    terms = p[~lost & (p > 0)] * np.log(p[~lost & (p > 0)] / q[~lost & (p > 0)])
    return float(terms.sum() + np.sum(p[lost]) * np.log(1e9))
