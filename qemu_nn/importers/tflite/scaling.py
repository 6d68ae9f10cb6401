"""Scales as the integers that kernels compute with, in the steps of TensorFlow Lite Micro.

A file's scales are float32; where these steps are taken in float32 and where in float64 shows in
the last bits of multipliers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...errors import Error, ModelError
from ...functions.scaling import quantize_multiplier

#: Fused activation -> the real numbers that it keeps; None: no limit on that side.
RANGES: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}


def multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) of a real factor, whose shift kernels can take."""
    try:
        pair = quantize_multiplier(real)
    except Error as error:
        raise ModelError(f"its scales do not fit each other: {error}") from None
    if pair[1] > 30:
        raise ModelError(f"its scales do not fit each other: their ratio is {real:g}")
    return pair


def multipliers(reals: Iterable[float]) -> np.ndarray:
    """Multipliers and shifts of real factors, as two rows of int32."""
    return np.array([multiplier(real) for real in reals], np.int32).reshape(-1, 2).T


def integer_limit(real: float, scale: float, zero: int) -> int:
    """A real limit in steps of a format: real / scale in float32, halves away from zero."""
    with np.errstate(over="ignore"):
        steps = float(np.float32(real) / np.float32(scale))
    if not abs(steps) < 2**31:
        raise ModelError(f"its activation's limit {real:g} is out of range for the scale {scale:g}")
    return zero + int(math.copysign(math.floor(abs(steps) + 0.5), steps))


def activation_range(kind: str, scale: float, zero: int, dtype: str) -> tuple[int, int]:
    """The integers that a fused activation keeps."""
    if kind not in RANGES:
        raise ModelError(f"its fused activation is {kind}; have: {', '.join(RANGES)}")
    limits, (low, high) = np.iinfo(dtype), RANGES[kind]
    least, most = int(limits.min), int(limits.max)
    if low is not None:
        least = max(least, integer_limit(low, scale, zero))
    if high is not None:
        most = min(most, integer_limit(high, scale, zero))
    if least > most:
        raise ModelError(f"its fused activation {kind} leaves no values of {dtype}")
    return least, most
