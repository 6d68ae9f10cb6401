"""Sums of float64 values without any rounding, so that no order of adding shows in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: A finite float64 is an integer of 53 bits times 2^e with e >= -1126: sums count these units.
_LEAST = -1126
#: Bits of the lower half of a mantissa, and most values whose halves float64 sums exactly.
_HALF, _MOST = 26, 2**25


@dataclass(frozen=True)
class ExactSum:
    """Exact sum: units * 2^-1126, and the number of values; not finite if a value is not."""

    units: int = 0
    count: int = 0
    finite: bool = True

    def __add__(self, other: ExactSum) -> ExactSum:
        finite = self.finite and other.finite
        return ExactSum(self.units + other.units, self.count + other.count, finite)

    def __float__(self) -> float:
        """Return the nearest float64; NaN if a value was not finite."""
        return self._over(1)

    @property
    def mean(self) -> float:
        """Nearest float64 to the exact mean; NaN without values."""
        return self._over(self.count)

    def _over(self, count: int) -> float:
        if not self.finite or not count:
            return float("nan")
        try:
            return self.units / (count << -_LEAST)  # Python rounds this once, to nearest
        except OverflowError:
            return float("inf") if self.units > 0 else float("-inf")


def sum_exactly(values: np.ndarray) -> ExactSum:
    """Return the exact sum of an array of floats, taken as float64."""
    flat = np.asarray(values, np.float64).ravel()
    if not np.isfinite(flat).all():
        return ExactSum(0, flat.size, False)
    units = sum(_sum_units(flat[i : i + _MOST]) for i in range(0, flat.size, _MOST))
    return ExactSum(units, flat.size)


def _sum_units(values: np.ndarray) -> int:
    """Return the sum of so few values that halves of mantissas, added up by exponent, stay
    integers.
    """
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    lowest = int(exponents.min(initial=0))
    places = exponents - lowest
    high = np.bincount(places, mantissas >> _HALF).tolist()
    low = np.bincount(places, mantissas & (1 << _HALF) - 1).tolist()
    base = lowest - 53 - _LEAST
    return sum(
        ((int(upper) << _HALF) + int(lower)) << base + place
        for place, (upper, lower) in enumerate(zip(high, low))
        if upper or lower
    )
