"""Integer multipliers, shifts and limits from scales, computed as TensorFlow Lite Micro does.

A file's scales are float32. The last bits of a multiplier depend on the precision of each step,
float32 or float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...errors import Error, ModelError
from ...functions.scaling import quantize_multiplier

#: Fused activation -> its lower and upper limit; None if there is no limit.
RANGES: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}


def multiplier(real: float) -> tuple[int, int]:
    """Return (multiplier, shift) of a float factor; the shift is at most 30, as kernels require."""
    try:
        pair = quantize_multiplier(real)
    except Error as error:
        raise ModelError(f"the ratio of its scales is unsupported: {error}") from None
    if pair[1] > 30:
        raise ModelError(f"the ratio of its scales is {real:g}; it must be less than 2^30")
    return pair


def multipliers(reals: Iterable[float]) -> np.ndarray:
    """Return the multipliers and shifts of float factors, as two rows of int32."""
    pairs: np.ndarray = np.array([multiplier(real) for real in reals], np.int32).reshape(-1, 2).T
    return pairs


def integer_limit(real: float, scale: float, zero: int) -> int:
    """Return a float limit as an integer of a format.

    The quotient real / scale is float32; halves round away from zero.
    """
    with np.errstate(over="ignore"):
        steps = float(np.float32(real) / np.float32(scale))
    if not abs(steps) < 2**31:
        raise ModelError(
            f"its activation's limit {real:g} at the scale {scale:g} exceeds 32 bits; give its "
            "output a larger scale"
        )
    return zero + int(math.copysign(math.floor(abs(steps) + 0.5), steps))


def activation_range(kind: str, scale: float, zero: int, dtype: str) -> tuple[int, int]:
    """Return the least and the largest integer of a fused activation's output."""
    limits, (low, high) = np.iinfo(dtype), RANGES[kind]
    least, most = int(limits.min), int(limits.max)
    if low is not None:
        least = max(least, integer_limit(low, scale, zero))
    if high is not None:
        most = min(most, integer_limit(high, scale, zero))
    if least > most:
        raise ModelError(
            f"its fused activation {kind} clamps to an empty range at the scale {scale:g} and zero "
            f"point {zero} of {dtype}; change the output's scale or zero point"
        )
    return least, most
