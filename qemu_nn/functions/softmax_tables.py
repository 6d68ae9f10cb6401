"""The two tables of the 16-bit softmax, as TensorFlow Lite Micro computes them.

They have 513 entries of 16 bits over an interval of 512 steps, for linear interpolation. An entry
is lowered by half of the interpolation's excess in the middle of the step. The arithmetic is
float32, which determines two entries of the second table.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Callable

import numpy as np

_STEPS = 512
_ONE = 32768


def _round_half_away(x: np.floating) -> int:
    """Round to the nearest integer, halves away from zero."""
    return int(math.copysign(math.floor(abs(float(x)) + 0.5), x))


def _make_table(function: Callable[[float], float], low: float, high: float) -> np.ndarray:
    step = np.float32((high - low) / _STEPS)

    def scale(x: np.floating) -> np.float32:
        product: np.float32 = np.float32(np.float32(function(float(x))) * np.float32(_ONE))
        return product

    entries = []
    for i in range(_STEPS):
        start = np.float32(low) + np.float32(i) * step
        end = np.float32(low) + np.float32(i + 1) * step
        sample = _round_half_away(scale(start))
        between = _round_half_away((scale(end) + np.float32(sample)) / np.float32(2))
        middle = _round_half_away(scale(start + step / np.float32(2)))
        entries.append(sample - _round_half_away(np.float32(between - middle) / np.float32(2)))
    entries.append(_round_half_away(scale(np.float32(high))))
    table = np.clip(entries, -_ONE, _ONE - 1).astype(np.int16)
    table.setflags(write=False)  # every call gives the same
    return table


@cache
def make_exp_lut() -> np.ndarray:
    """Return e^x for x from -10 to 0, int16 [513]."""
    return _make_table(math.exp, -10.0, 0.0)


@cache
def make_one_by_one_lut() -> np.ndarray:
    """Return 1 / (1 + x) for x from 0 to 1, int16 [513]; the quotient is float32."""
    return _make_table(lambda x: 1.0 / float(np.float32(1.0 + x)), 0.0, 1.0)
