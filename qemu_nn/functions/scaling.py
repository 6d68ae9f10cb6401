"""Real scales into the integer arguments of functions, in the steps of TensorFlow Lite (Micro)."""

from __future__ import annotations

import math

import numpy as np

from ..errors import Error


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


def add_scaling(first: float, second: float, output: float, left_shift: int = 20) -> dict[str, int]:
    """The multipliers and shifts of a sum (or difference) of tensors with two scales, as TFLite.

    Both inputs are brought to twice the larger scale, in steps of 2^-left_shift of it.
    """
    twice = 2 * max(first, second)
    factors = {
        "input_1": first / twice,
        "input_2": second / twice,
        "out": twice / (2**left_shift * output),
    }
    made = {"left_shift": left_shift}
    for name, factor in factors.items():
        made[f"{name}_mult"], made[f"{name}_shift"] = quantize_multiplier(factor)
    return made


def logistic_scaling(scale: float) -> tuple[int, int, int]:
    """(input_multiplier, input_left_shift, input_range_radius) of LOGISTIC and TANH of int8.

    scale * 2^27 as a multiplier and a shift; radius: the least size that saturates. A scale below
    2^-28 has no left shift and is an error.
    """
    multiplier, shift = quantize_multiplier(float(scale) * 2**27)
    if not (multiplier and shift >= 0):
        raise Error(f"LOGISTIC and TANH need a scale above 2^-28, is {scale}")
    return multiplier, shift, (15 << 27) >> shift


def _near_log2(scale: float) -> tuple[int, bool]:
    """The nearest power of two, and is it as near as 0.001 in the logarithm?"""
    log2 = np.float32(math.log(scale)) * (np.float32(1) / np.float32(math.log(2.0)))
    power = round(float(log2))
    return power, abs(float(log2) - power) < 1e-3


def logistic_scaling_s16(scale: float, tanh: bool = False) -> tuple[int, int]:
    """(input_multiplier, input_left_shift) of LOGISTIC or TANH of int16.

    Multiplier 0 where the scale is almost 2^-12 (of TANH also 2^-11); else scale * 3 * 2^(12 +
    shift), rounded down, of 15 bits. Scales above 2.66 have none and are an error.
    """
    power, near = _near_log2(scale)
    if near and power + 12 in ((0, 1) if tanh else (0,)):
        return 0, power + 12
    multiplier, shift = float(scale) * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    if not multiplier < 32768:
        raise Error(f"LOGISTIC and TANH of int16 need a scale below 2.66, is {scale}")
    return int(multiplier), shift


def leaky_relu_scaling(
    scale: float, output_scale: float, alpha: float
) -> tuple[tuple[int, int], tuple[int, int]]:
    """(multiplier, shift) of the identity and of alpha of LEAKY_RELU; quotients are float32."""
    one, out = np.float32(scale), np.float32(output_scale)
    identity, negative = one / out, one * np.float32(alpha) / out
    return quantize_multiplier(float(identity)), quantize_multiplier(float(negative))


def rescale_factors(scale: float, zero_point: int, output_scale: float) -> np.ndarray:
    """Factor and start of tflm_rescale_u8: float32 as its bits, int32 [2]."""
    factor = np.float32(scale) * (np.float32(1) / np.float32(output_scale))
    start = np.float32(-zero_point) * factor
    return np.array([factor, start], np.float32).view(np.int32)
