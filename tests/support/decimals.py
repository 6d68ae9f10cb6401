"""Decimals as float32."""

from decimal import Decimal
from fractions import Fraction

import numpy as np


def rounded(value):
    """Round a decimal to the nearest float32, of the three floats around its double."""
    if abs(value) >= Decimal(2) ** 128 - Decimal(2) ** 103:
        return np.float32(np.inf if value > 0 else -np.inf)
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(min(max(float(value), -3.4028234e38), 3.4028234e38))
        around = [near, *(np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf))]
    exact = Fraction(value)
    finite = [x for x in around if np.isfinite(x)]
    return min(finite, key=lambda x: abs(Fraction(float(x)) - exact))
