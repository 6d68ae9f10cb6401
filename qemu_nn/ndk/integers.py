"""Real numbers of a feature as the integers that the chip has in their place."""

from __future__ import annotations

import numpy as np


def as_integers(feature: np.ndarray, bit_width: int, frac: int, signed: bool = True) -> np.ndarray:
    """floor(x * 2^frac), saturated, in the type of the width."""
    kind = np.dtype(f"{'' if signed else 'u'}int{bit_width}")
    limits = np.iinfo(kind)
    grid = np.floor(np.ldexp(np.asarray(feature, np.float64), frac))
    return np.clip(grid, limits.min, limits.max).astype(kind)
