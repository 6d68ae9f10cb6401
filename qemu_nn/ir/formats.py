"""Number formats, and floats rounded into them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Optional

import numpy as np

from ..errors import Error

#: Element type -> bits.
BITS = {"int8": 8, "int16": 16, "int32": 32}


@cache
def limits(dtype: str) -> tuple[int, int]:
    """Return the least and the largest number of a type; a boolean is 0 or 1."""
    if dtype == "bool":
        return 0, 1
    ends = np.iinfo(dtype)
    return int(ends.min), int(ends.max)


def draw_numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return random numbers over the whole range of a type; floats from -4 to 4."""
    if dtype == "float32":
        return rng.uniform(-4, 4, shape).astype(dtype)
    wide = dtype if dtype in ("int64", "uint64") else "int64"
    return rng.integers(*limits(dtype), shape, wide, endpoint=True).astype(dtype)


def find_differing(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the mask of different bits of two arrays of one type; all NaN are equal."""
    if first.dtype.kind != "f":
        return np.asarray(first != second)
    bits = f"u{first.dtype.itemsize}"
    unlike = np.asarray(first, order="C").view(bits) != np.asarray(second, order="C").view(bits)
    return np.asarray(unlike & ~(np.isnan(first) & np.isnan(second)))


def compute_dec_bit(largest: float, bits: int = 8) -> int:
    """Return the most fraction bits with which a magnitude fits: (bits - 1) - ceil(log2(largest)).

    Exact at powers of two; 0.0 gives bits - 1.
    """
    if not np.isfinite(largest):
        raise Error(f"no format represents {largest}; values must be finite")
    if largest == 0:
        return bits - 1
    mantissa, exponent = np.frexp(abs(float(largest)))  # largest = mantissa * 2^exponent
    return bits - 1 - int(exponent - (mantissa == 0.5))


def quantize(x: np.ndarray, frac: int, dtype: str = "int8") -> np.ndarray:
    """Convert floats to integers with `frac` fraction bits: round half to even, then saturate.

    NaN has no integer and is an error.
    """
    x = np.asarray(x, np.float64)
    x = np.ldexp(x, frac) if abs(frac) > 1000 else x * 2.0**frac  # the same, in a tenth of the time
    if np.isnan(x.min(initial=0.0)):
        raise Error("the data contain NaN, which no integer represents: replace it")
    x = np.rint(x, out=x) if x.ndim else np.rint(x)
    return np.clip(x, *limits(dtype), out=x if x.ndim else None).astype(dtype)


def quantize_affine(
    x: np.ndarray, scale: float, zero_point: int, dtype: str = "int8"
) -> np.ndarray:
    """Convert floats to integers q with the value scale * (q - zero_point).

    As TFLite Micro's QUANTIZE: x / scale in float32, halves away from zero, then saturated. NaN has
    no integer and is an error.
    """
    x = np.asarray(x, np.float32)
    if np.isnan(x).any():
        raise Error("the data contain NaN, which no integer represents: replace it")
    rounded = _round_half_away((x / np.float32(scale)).astype(np.float64))
    integers: np.ndarray = np.clip(rounded + zero_point, *limits(dtype)).astype(dtype)
    return integers


def _round_half_away(x: np.ndarray) -> np.ndarray:
    """Round to the nearest integer, halves away from zero."""
    result: np.ndarray = np.copysign(np.floor(np.abs(x) + 0.5), x)
    return result


def dequantize_affine(q: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """Return the float32 values of integers."""
    result: np.ndarray = (np.asarray(q, np.int64) - zero_point).astype(np.float32) * np.float32(
        scale
    )
    return result


def name_q_format(dtype: str, frac: int) -> str:
    """Return the name of a power-of-two format, sign bit not counted: Q0.7, Q5.2, Q-1.8."""
    return f"Q{BITS[dtype] - 1 - frac}.{frac}"


@dataclass(frozen=True)
class Format:
    """Format of integers q of a type, with the values scale * (q - zero_point).

    frac: fraction bits, if the scale is the power of two 2^-frac and the zero point 0.
    """

    dtype: str
    scale: float
    zero_point: int = 0
    frac: Optional[int] = None

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest integer."""
        return limits(self.dtype)

    @property
    def ends(self) -> tuple[float, float]:
        """Real values of the smallest and the largest integer."""
        low, high = self.limits
        return self.scale * (low - self.zero_point), self.scale * (high - self.zero_point)

    def scale_unrounded(self, x: np.ndarray) -> np.ndarray:
        """Return floats in steps of the format, float64, neither rounded nor saturated."""
        result: np.ndarray = np.asarray(x, np.float64) / self.scale + self.zero_point
        return result

    def quantize(self, x: np.ndarray) -> np.ndarray:
        """Convert floats to integers by quantize() or quantize_affine(); without a format,
        unchanged.
        """
        if self.dtype == "float32":
            return np.asarray(x, np.float32)
        if self.frac is not None:
            return quantize(x, self.frac, self.dtype)
        return quantize_affine(x, self.scale, self.zero_point, self.dtype)

    def dequantize(self, q: np.ndarray) -> np.ndarray:
        """Return the float64 values of integers."""
        result = np.array(q, np.float64)
        if self.zero_point:
            result -= self.zero_point
        result *= self.scale
        return result

    def __str__(self) -> str:
        if self.frac is not None:
            return name_q_format(self.dtype, self.frac)
        shifted = f"(q{-self.zero_point:+d})" if self.zero_point else "q"
        return f"{self.scale:.4g}*{shifted}"


def power_of_two(dtype: str, frac: int) -> Format:
    """Return the format of integers with this many fraction bits."""
    return Format(dtype, math.ldexp(1.0, -frac), 0, frac)


def affine_format(low: float, high: float, dtype: str = "int8") -> Format:
    """Return the format from low to high in float32, as TFLite's converter chooses it.

    The range is extended to contain 0, which gets an exact integer, so the ends move by up to half
    a step. A range of 0 alone gets the format of 0..1. In 16 bits, the zero point is 0, and the
    largest magnitude is the largest integer.
    """
    least, most = limits(dtype)
    with np.errstate(over="ignore"):  # to infinity, refused below
        low32, high32 = np.float32(min(low, 0.0)), np.float32(max(high, 0.0))
        symmetric = dtype == "int16"
        if symmetric:
            low32, high32, steps = np.float32(0), max(-low32, high32), most
        else:
            steps = most - least
        scale = (high32 - low32) / np.float32(steps)
    if not scale > 0:
        low32, scale = np.float32(0), np.float32(1 / steps)
    if not np.isfinite(scale):
        raise Error(f"no format represents {low} .. {high}; both must be finite")
    if symmetric:
        return Format(dtype, float(scale))
    zero = int(_round_half_away(np.float64(np.float32(least) - low32 / scale)))
    return Format(dtype, float(scale), min(max(zero, least), most))


def activation_limits(low: float, high: float, output: Format) -> dict[str, int]:
    """Return act_min and act_max of a layer whose float output is clamped to low .. high."""
    least, most = output.limits
    return {
        "act_min": least if low == -math.inf else _clamp_limits(low, output),
        "act_max": most if high == math.inf else _clamp_limits(high, output),
    }


def _clamp_limits(value: float, output: Format) -> int:
    return int(quantize_affine(np.array(value), output.scale, output.zero_point, output.dtype))


def quantize_symmetric(x: np.ndarray, scale: np.ndarray, most: int) -> np.ndarray:
    """Divide floats by scales that broadcast to them, and round to integers -most .. most (int64).

    Halves are rounded away from zero, as TFLite's converter rounds weights (most 127) and biases.
    """
    rounded = _round_half_away(np.asarray(x, np.float64) / scale)
    integers: np.ndarray = np.clip(rounded, -most, most).astype(np.int64)
    return integers
