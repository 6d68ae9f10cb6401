"""Widths of the NPU's integers, and conversion of a feature's floats to integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Error


def check_width(name: str, value: Any) -> int:
    """Return a bit width of the hardware; raise Error for values other than the
    integers 8 and 16.
    """
    if not isinstance(value, (int, np.integer)) or value not in (8, 16):
        raise Error(f"{name} is {value!r}, but must be the integer 8 or 16")
    return int(value)


def to_integers(feature: np.ndarray, bit_width: int, frac: int, signed: bool = True) -> np.ndarray:
    """Return floor(x * 2^frac), saturated, in the type of the width."""
    kind = np.dtype(f"{'' if signed else 'u'}int{bit_width}")
    limits = np.iinfo(kind)
    grid = np.floor(np.ldexp(np.asarray(feature, np.float64), frac))
    return np.clip(grid, limits.min, limits.max).astype(kind)
