"""Tables of 256 entries that TensorFlow Lite Micro computes in float32 before a network runs."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np

#: Digits of an exponential; a float32 has 8. Rounded to float64 and then to float32, the result is
#: the nearest float32, except for one number in 2^29.
_DIGITS = Context(prec=40)


def make_elu_table(
    scale: float, zero_point: int, output_scale: float, output_zero_point: int
) -> tuple[np.ndarray, int]:
    """Return ELU of int8, by input + 128, and the number of entries that depend on an exponential's
    last bit.

    All steps are float32. C libraries compute exponentials within one unit in the last place. An
    entry that is equal for both neighbouring values is identical on every device.
    """
    with np.errstate(all="ignore"):
        x = np.float32(scale) * np.arange(-128 - zero_point, 128 - zero_point).astype(np.float32)
        power = np.array([_compute_exponential(float(each)) for each in x], np.float32)
        inverse = np.float32(1) / np.float32(output_scale)
        made = []
        for near in (power, *(np.nextafter(power, np.float32(end)) for end in (0, np.inf))):
            y = np.where(x < 0, near - np.float32(1), x) * inverse
            made.append(_quantize_table(y, output_zero_point))
    unsure = (made[0] != made[1]) | (made[0] != made[2])
    return made[0], int(np.count_nonzero(unsure & (x < 0)))


def _compute_exponential(x: float) -> float:
    """Compute e^x for x < 0, and 1 for values that ELU does not use."""
    return float(_DIGITS.exp(Decimal(x))) if -1e4 < x < 0 else float(x >= 0)


def _quantize_table(y: np.ndarray, zero_point: int) -> np.ndarray:
    """Quantize a table: round halves away from zero, add the zero point in float32, saturate."""
    whole = np.copysign(np.floor(np.abs(y.astype(np.float64)) + 0.5), y)
    moved = whole.astype(np.float32) + np.float32(zero_point)
    integers: np.ndarray = np.clip(np.trunc(moved), -128, 127).astype(np.int8)
    return integers
