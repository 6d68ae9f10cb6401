"""Ranges of affine formats, by the methods of policies.py on float bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np

from ..errors import Error
from ..ir.formats import affine_format
from ..ir.statistics import Statistics, make_statistics
from .policies import (
    CandidateGrid,
    Loss,
    compute_divergence,
    compute_square_error,
    find_percentile_magnitude,
    parse_percent,
)

#: The ranges that a loss compares: down to an eighth of the whole, in quarters of an octave.
_FACTORS = tuple(2.0 ** (-step / 4) for step in range(13))

_LOSSES: dict[str, Optional[Loss]] = {
    "minmax": None,
    "mse": compute_square_error,
    "kl": compute_divergence,
}

#: The method that estimates how far unseen samples reach, and how many samples these are.
_EXTRAPOLATE, _SAMPLES = "extrapolate", 500


@dataclass(frozen=True)
class Ranges:
    """A method: the range of the least loss, or without a loss that of `percent` of the data.

    dtype: of activations. samples: estimate the range of so many samples, where fewer were seen.
    """

    loss: Optional[Loss] = None
    percent: float = 100.0
    dtype: str = "int8"
    samples: int = 0

    @property
    def method(self) -> Union[str, float]:
        """The name or percentile that get_range_method() reads."""
        if self.samples:
            return _EXTRAPOLATE
        if self.loss is None and self.percent != 100:
            return self.percent
        return next(name for name, loss in _LOSSES.items() if loss is self.loss)

    def choose_activation_range(self, statistics: Statistics) -> tuple[float, float]:
        """Return the lowest and highest real value of a tensor; each is chosen by itself."""
        if self.samples:
            return statistics.extrapolate(self.samples)
        low, high = statistics.low, statistics.high
        if self.loss is None:
            bound = (
                statistics.largest
                if self.percent == 100
                else find_percentile_magnitude(statistics, self.percent)
            )
            return max(low, -bound), min(high, bound)
        if not statistics.largest:
            return low, high
        tried = [
            (a, b)
            for a in _list_range_ends(min(low, 0.0))
            for b in _list_range_ends(max(high, 0.0))
        ]
        filled = statistics.list_filled_bins()
        costs = [self.loss(filled, self._grid(a, b)) for a, b in tried]
        return tried[int(np.argmin(costs))]

    def _grid(self, low: float, high: float) -> CandidateGrid:
        chosen = affine_format(low, high, self.dtype)
        return CandidateGrid(chosen.scale, *chosen.ends)

    def choose_weight_range(self, values: np.ndarray, most: int = 127) -> float:
        """Return the magnitude that becomes the integer `most`."""
        largest = float(np.abs(values).max(initial=0.0))
        if not largest or (self.loss is None and self.percent == 100):
            return largest
        statistics = make_statistics(values)
        if self.loss is None:
            return find_percentile_magnitude(statistics, self.percent)
        tried, filled = list(_list_range_ends(largest)), statistics.list_filled_bins()
        costs = [self.loss(filled, CandidateGrid(end / most, -end, end)) for end in tried]
        return tried[int(np.argmin(costs))]


def get_range_method(
    method: Union[str, float], also: Sequence[str] = (), dtype: str = "int8"
) -> Ranges:
    """Return a method by its name, or a percentile of the magnitudes by its number; also: see
    policy().
    """
    if isinstance(method, str) and method in _LOSSES:
        return Ranges(_LOSSES[method], dtype=dtype)
    if isinstance(method, str) and method == _EXTRAPOLATE:
        return Ranges(dtype=dtype, samples=_SAMPLES)
    percent = parse_percent(method, (_EXTRAPOLATE, *_LOSSES), also)
    if not 0 < percent <= 100:
        raise Error(f"the percentile is {percent:g}, but must be above 0 and at most 100")
    return Ranges(None, percent, dtype)


def _list_range_ends(end: float) -> Iterator[float]:
    """Return the widest first, as the first of equals is taken."""
    return (end * factor for factor in (_FACTORS if end else (1.0,)))
