"""Twiddle factors of the Signal library's Fourier transforms, the same on every host."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

#: Fraction bits of sine and cosine before rounding: the rest of 53 bits after pi's.
_BITS = 192

#: The largest number of the types that are fixed point.
_MOST = {"s16": 2**15 - 1, "s32": 2**31 - 1}

_DTYPES = {"s16": np.int16, "s32": np.int32, "f32": np.float32}


def compute_cosine_sine(angle: float) -> tuple[float, float]:
    """Return cosine and sine of an angle, 0 or above 2^-100, each the nearest float, without a
    libm.
    """
    numerator, denominator = angle.as_integer_ratio()
    x = (numerator << _BITS) // denominator
    sums, term, k = [0, 0], 1 << _BITS, 0
    while term not in (0, -1):
        sums[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term = (term * x >> _BITS) // k
    cosine, sine = (total / (1 << _BITS) for total in sums)  # this division rounds once
    return cosine, math.copysign(sine, angle) if sine == 0 else sine


@lru_cache(64)
def make_twiddles(type: str, fft_length: int, inverse: bool) -> np.ndarray:
    """Return both tables of csrc/s/signal/fft.h, concatenated, for a real transform of
    this length.
    """
    n = fft_length // 2
    angles = [-2 * math.pi * k / n for k in range(n)]
    angles += [-math.pi * ((k + 1) / n + 0.5) for k in range((n + 1) // 2)]
    pairs = (compute_cosine_sine(-angle if inverse else angle) for angle in angles)
    numbers = [number for pair in pairs for number in pair]
    if type in _MOST:
        numbers = [math.floor(0.5 + _MOST[type] * number) for number in numbers]
    table = np.array(numbers, _DTYPES[type])
    table.flags.writeable = False
    return table
