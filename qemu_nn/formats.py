"""Number formats, and real numbers rounded into them."""

from __future__ import annotations

import numpy as np

from .errors import Error

#: Element type -> bits.
BITS = {"int8": 8, "int16": 16, "int32": 32}


def dec_bit(largest: float, bits: int = 8) -> int:
    """Fraction bits with which a value of magnitude `largest` still fits: Q(m).(n) with m+n=bits-1.

    (bits - 1) - ceil(log2(largest)), exact at powers of two; 0.0 gives bits - 1.
    """
    if not np.isfinite(largest):
        raise Error(f"no format holds {largest}")
    if largest == 0:
        return bits - 1
    mantissa, exponent = np.frexp(abs(float(largest)))  # largest = mantissa * 2^exponent
    return bits - 1 - int(exponent - (mantissa == 0.5))


def quantize(x: np.ndarray, frac: int, dtype: str = "int8") -> np.ndarray:
    """Real numbers as integers with `frac` fraction bits: round half to even, then saturate.

    NaN has no integer and is an error.
    """
    x = np.asarray(x, np.float64)
    if np.isnan(x).any():
        raise Error("the data contains NaN, which no integer stands for")
    limits = np.iinfo(dtype)
    return np.clip(np.rint(np.ldexp(x, frac)), limits.min, limits.max).astype(dtype)


def quantize_affine(
    x: np.ndarray, scale: float, zero_point: int, dtype: str = "int8"
) -> np.ndarray:
    """Real numbers as integers q that stand for scale * (q - zero_point).

    As TFLite Micro's QUANTIZE does it: x / scale in float32, halves away from zero, then saturated.
    NaN has no integer and is an error.
    """
    x = np.asarray(x, np.float32)
    if np.isnan(x).any():
        raise Error("the data contains NaN, which no integer stands for")
    limits = np.iinfo(dtype)
    ratio = (x / np.float32(scale)).astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(ratio) + 0.5), ratio)
    return np.clip(rounded + zero_point, limits.min, limits.max).astype(dtype)


def dequantize_affine(q: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """The real numbers, float32, that integers stand for."""
    result: np.ndarray = (np.asarray(q, np.int64) - zero_point).astype(np.float32) * np.float32(
        scale
    )
    return result


def q_format(dtype: str, frac: int) -> str:
    """The name of a power-of-two format, sign bit not counted: Q0.7, Q5.2, Q-1.8."""
    return f"Q{BITS[dtype] - 1 - frac}.{frac}"
