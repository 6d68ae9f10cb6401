"""Number formats, and real numbers rounded into them."""

from __future__ import annotations

import math

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


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) with multiplier * 2^(shift - 31) nearest to a real factor >= 0.

    As TFLite's QuantizeMultiplier: 2^30 <= multiplier < 2^31, halves away from zero; 0, and what a
    shift below -31 would have to hold, is (0, 0). Kernels take no shift above 30.
    """
    if not 0 <= real < math.inf:
        raise Error(f"no multiplier stands for the factor {real}; it must be finite and >= 0")
    fraction, shift = math.frexp(float(real))
    multiplier = math.floor(fraction * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (multiplier, shift) if multiplier and shift >= -31 else (0, 0)


def softmax_scaling(beta: float, scale: float, integer_bits: int = 5) -> tuple[int, int, int]:
    """(mult, shift, diff_min) of the softmax of 8-bit values that stand for `scale` each.

    As TFLite's PreprocessSoftmaxScaling and CalculateInputRadius: beta * scale in units of
    2^(integer_bits - 31), at most 2^31 - 1. It must be above 1.
    """
    fraction_bits = 31 - integer_bits
    factor = min(float(beta) * float(scale) * 2**fraction_bits, 2.0**31 - 1)
    if not factor > 1:
        raise Error(
            f"softmax needs beta * scale above 2^-{fraction_bits}, is {beta} * {scale}: "
            "all outputs would be equal"
        )
    mult, shift = quantize_multiplier(factor)
    return mult, shift, -(((2**integer_bits - 1) << fraction_bits) >> shift)


def softmax_scaling_s16(beta: float, scale: float) -> tuple[int, int]:
    """(mult, shift) of the softmax of 16-bit values, as TFLite: steps of 10 / 65535."""
    return quantize_multiplier(float(scale) * float(beta) / (10.0 / 65535.0))


def affine_format(dtype: str, scale: float, zero_point: int) -> str:
    """What an integer q stands for in an affine format: int8 0.0235*(q+128)."""
    q = f"(q{-zero_point:+d})" if zero_point else "q"
    return f"{dtype} {scale:.6g}*{q}"


def q_format(dtype: str, frac: int) -> str:
    """The name of a power-of-two format, sign bit not counted: Q0.7, Q5.2, Q-1.8."""
    return f"Q{BITS[dtype] - 1 - frac}.{frac}"
