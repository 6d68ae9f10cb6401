"""Policies for formats: functions (statistics, bits) -> fraction bits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Callable, NamedTuple, Union

import numpy as np

from ..errors import Error
from ..io.arguments import format_value, have
from ..ir.formats import compute_dec_bit
from ..ir.statistics import Filled, Histogram, Statistics

Policy = Callable[[Statistics, int], int]


class CandidateGrid(NamedTuple):
    """Values of a format: multiples of `step`, from `low` to `high`."""

    step: float
    low: float
    high: float


#: Cost of rounding and saturation by some measure: of a histogram, on a grid.
Loss = Callable[[Filled, CandidateGrid], float]


#: Samples whose range the policy `extrapolate` estimates. A format of twice the range costs a bit.
_SAMPLES = 20

#: Number of formats that a policy considers: the whole range, and up to 3 integer bits fewer.
_SPAN = 4


def minmax(statistics: Union[Statistics, Histogram], bits: int) -> int:
    """Return (bits - 1) - ceil(log2(largest magnitude)): nothing saturates."""
    return compute_dec_bit(statistics.largest, bits)


def extrapolate(statistics: Statistics, bits: int) -> int:
    """Return the format in which nothing saturates that twenty samples are likely to reach."""
    low, high = statistics.extrapolate(_SAMPLES)
    return compute_dec_bit(max(-low, high), bits)


def mse(statistics: Union[Statistics, Histogram], bits: int) -> int:
    """Return the least mean square error, of rounding and of saturation together."""
    return _find_best_format(statistics, bits, compute_square_error)


def kl(statistics: Union[Statistics, Histogram], bits: int) -> int:
    """Return the least Kullback-Leibler divergence of the quantized distribution from the real
    one.
    """
    return _find_best_format(statistics, bits, compute_divergence)


def percentile(percent: float) -> Policy:
    """Return the finest format in which so many percent of the data do not saturate."""
    if not 0 < percent <= 100:
        raise Error(f"the percentile is {percent:g}, but must be above 0 and at most 100")
    return partial(_covers_range, percent)


def _covers_range(percent: float, statistics: Statistics, bits: int) -> int:
    return compute_dec_bit(find_percentile_magnitude(statistics, percent), bits)


def find_percentile_magnitude(statistics: Statistics, percent: float) -> float:
    """Return the magnitude that so many percent of the data do not exceed."""
    middle = statistics.bins // 2
    folded = statistics.counts[middle:] + statistics.counts[:middle][::-1]
    total = int(folded.sum()) + statistics.zeros
    reached = np.cumsum(folded) + statistics.zeros >= total * percent / 100
    bound = (int(np.argmax(reached)) + 1) * statistics.width
    return min(bound, statistics.largest)


POLICIES: dict[str, Policy] = {"extrapolate": extrapolate, "minmax": minmax, "mse": mse, "kl": kl}


def get_policy(method: Union[str, float], also: Sequence[str] = ()) -> Policy:
    """Return a policy by its name, or a percentile by its number; also: methods that the caller
    has.
    """
    if isinstance(method, str) and method in POLICIES:
        return POLICIES[method]
    return percentile(parse_percent(method, POLICIES, also))


def name_method(chosen: Policy) -> Union[str, float]:
    """Return the name of a policy, or its percentile: what get_policy() makes it of."""
    for name, known in POLICIES.items():
        if chosen is known:
            return name
    assert isinstance(chosen, partial)
    percent: float = chosen.args[0]
    return percent


def parse_percent(
    method: Union[str, float], names: Iterable[str], also: Sequence[str] = ()
) -> float:
    """Return the percentile that a method names (99.9 or "99.9"); Error with the names for
    others.
    """
    try:
        return float(method)
    except (TypeError, ValueError, OverflowError):
        choices = [*names, "or a percentile as a number", *(f"or {name}" for name in also)]
        near = {name: name for name in (*names, *also)}
        raise Error(
            f"there is no method {format_value(method)}; {have(choices, method, near)}"
        ) from None


def _find_best_format(statistics: Union[Statistics, Histogram], bits: int, loss: Loss) -> int:
    """Return the format of the least loss; among equals the one with the widest range."""
    start = minmax(statistics, bits)
    if not statistics.largest:
        return start
    filled = statistics.list_filled_bins()
    return min(range(start, start + _SPAN), key=lambda frac: loss(filled, _make_grid(bits, frac)))


def _make_grid(bits: int, frac: int) -> CandidateGrid:
    """Return what integers of so many bits represent, with so many fraction bits."""
    step, most = math.ldexp(1.0, -frac), 2 ** (bits - 1)
    return CandidateGrid(step, -most * step, (most - 1) * step)


def _quantize_centres(centres: np.ndarray, grid: CandidateGrid) -> np.ndarray:
    """Return what each bin's centre becomes."""
    return np.clip(np.rint(centres / grid.step) * grid.step, grid.low, grid.high)


def compute_square_error(filled: Filled, grid: CandidateGrid) -> float:
    """Sum of squares; a step finer than a bin errs by step^2 / 12 inside of the range."""
    centres, step = filled.centres, grid.step
    error = (_quantize_centres(centres, grid) - centres) ** 2
    if step < filled.width:
        inside = (centres > grid.low) & (centres < grid.high + step)
        error = np.where(inside, step**2 / 12, error)
    return float(filled.counts @ error)


def compute_divergence(filled: Filled, grid: CandidateGrid) -> float:
    """Return the KL of the histogram from itself with every level's share spread over the level's
    bins.

    What saturates counts to the outermost bin of the grid in the real distribution too, but not to
    the shape of the quantized one: so clipping costs as much as it distorts.
    """
    end = grid.high + grid.step
    first, last = np.searchsorted(filled.centres, [grid.low, end])
    centres, kept = filled.centres[first:last], filled.counts[first:last]
    if not kept.size:
        return float("inf")
    starts = np.flatnonzero(np.diff(_quantize_centres(centres, grid), prepend=-np.inf))
    sizes = np.diff(starts, append=kept.size)
    spread = np.repeat(np.add.reduceat(kept, starts) / sizes, sizes)
    real = kept.astype(np.float64)
    lost = 0.0  # what saturates to an outermost bin that is empty, so that no level reaches it
    for end_bin, beyond, empty in (
        (0, filled.counts[:first].sum(), centres[0] - filled.width >= grid.low),
        (-1, filled.counts[last:].sum(), centres[-1] + filled.width < end),
    ):
        if empty:
            lost += beyond
        else:
            real[end_bin] += beyond
    total = filled.counts.sum()
    p, q = real / total, spread / spread.sum()
    return float((p * np.log(p / q)).sum() + lost / total * np.log(1e9))
