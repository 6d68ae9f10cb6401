"""Real scales into the integer arguments of functions, in the steps of TensorFlow Lite (Micro)."""

from __future__ import annotations

import math

import numpy as np

from ..errors import Error


def quantize_multiplier(real: float) -> tuple[int, int]:
    """Return (multiplier, shift) with multiplier * 2^(shift - 31) nearest to a real factor >= 0.

    As TFLite's QuantizeMultiplier: 2^30 <= multiplier < 2^31, halves away from zero. 0, and factors
    that need a shift below -31, yield (0, 0). Kernels accept no shift above 30.
    """
    if not 0 <= real < math.inf:
        raise Error(f"no multiplier represents the factor {real}; it must be finite and >= 0")
    fraction, shift = math.frexp(float(real))
    multiplier = math.floor(fraction * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (multiplier, shift) if multiplier and shift >= -31 else (0, 0)


def scale_softmax(beta: float, scale: float, integer_bits: int = 5) -> tuple[int, int, int]:
    """Return (mult, shift, diff_min) of the softmax of 8-bit values with this scale.

    As TFLite's PreprocessSoftmaxScaling and CalculateInputRadius: beta * scale in units of
    2^(integer_bits - 31), at most 2^31 - 1. It must be above 1.
    """
    fraction_bits = 31 - integer_bits
    factor = min(float(beta) * float(scale) * 2**fraction_bits, 2.0**31 - 1)
    if not factor > 1:
        raise Error(
            f"beta * scale of a softmax is {beta} * {scale}; it must be above "
            f"2^-{fraction_bits}, else all outputs are equal"
        )
    mult, shift = quantize_multiplier(factor)
    return mult, shift, -(((2**integer_bits - 1) << fraction_bits) >> shift)


def scale_softmax_s16(beta: float, scale: float) -> tuple[int, int]:
    """Return (mult, shift) of the softmax of 16-bit values, as TFLite: steps of 10 / 65535."""
    return quantize_multiplier(float(scale) * float(beta) / (10.0 / 65535.0))


def add_scaling(
    first: float,
    second: float,
    output: float,
    left_shift: int = 20,
    real: type[np.floating] = np.float64,
) -> dict[str, int]:
    """Return the multipliers and shifts of a sum of tensors with two scales, as TFLite.

    Both inputs are rescaled to twice the larger scale, in steps of 2^-left_shift of it. real: the
    type of the three ratios.
    """
    one, two, out = (real(scale) for scale in (first, second, output))
    with np.errstate(all="ignore"):
        twice = real(2) * max(one, two)
        factors = {
            "input_1": one / twice,
            "input_2": two / twice,
            "out": twice / (real(2**left_shift) * out),
        }
    made = {"left_shift": left_shift}
    for name, factor in factors.items():
        made[f"{name}_mult"], made[f"{name}_shift"] = quantize_multiplier(float(factor))
    return made


def sub_scaling(
    first: float,
    second: float,
    output: float,
    left_shift: int = 20,
    real: type[np.floating] = np.float32,
) -> dict[str, int]:
    """Return the multipliers and shifts of a difference, whose ratios are float32 in TensorFlow
    Lite Micro.

    They are float64 (real=np.float64) from October 2022 to February 2023, and in its Python wheel
    of October 2026, which is off by one in some elements.
    """
    return add_scaling(first, second, output, left_shift, real)


def div_factor(
    first: float, second: float, output: float, real: type[np.floating] = np.float32
) -> float:
    """Return the factor of integer quotients; real: as in sub_scaling()."""
    with np.errstate(all="ignore"):
        return float(real(first) / (real(second) * real(output)))


def scale_squared_difference(
    first: float, second: float, output: float, left_shift: int
) -> dict[str, int]:
    """Return the multipliers and shifts of a squared difference, both inputs as in
    add_scaling().
    """
    made = add_scaling(first, second, output, left_shift)
    twice = 2 * max(first, second)
    factor = twice * twice / float(np.float32(2 ** (2 * left_shift)) * np.float32(output))
    made["out_mult"], made["out_shift"] = quantize_multiplier(factor)
    return made


def compare_scaling(first: float, second: float) -> dict[str, int]:
    """Return the multipliers and shifts of two tensors that are compared: their scales, below 1."""
    made = {}
    for name, scale in (("input_1", first), ("input_2", second)):
        if not 0 < scale < 1:
            raise Error(
                f"a comparison reads a tensor with the scale {scale:g}; scales must be above 0 "
                "and below 1"
            )
        made[f"{name}_mult"], made[f"{name}_shift"] = quantize_multiplier(scale)
    return made


def scale_hard_swish(scale: float, output_scale: float) -> dict[str, int]:
    """Return the multipliers and shifts of HARD_SWISH; quotients are float32."""
    with np.errstate(all="ignore"):
        fine = np.float32(scale) * np.float32(1 / 128)
        factors = {
            "output": fine / np.float32(output_scale),
            "reluish": fine / (np.float32(3) / np.float32(32768)),
        }
    made = {}
    for name, factor in factors.items():
        made[f"{name}_multiplier"], made[f"{name}_shift"] = quantize_multiplier(float(factor))
    if made["output_shift"] > 0:
        raise Error(
            f"HARD_SWISH has the input scale {scale:g} and the output scale {output_scale:g}; "
            "the output's must be at least 1/128 of the input's"
        )
    return made


def compute_rsqrt_factor(scale: float, output_scale: float) -> float:
    """Return 1 / (sqrt(scale) * output_scale), the product in float32."""
    with np.errstate(all="ignore"):
        product = float(np.sqrt(np.float32(scale)) * np.float32(output_scale))
    if not product > 0:
        raise Error(
            f"RSQRT has no factor for the scales {scale:g} and {output_scale:g}; their product "
            "must be above 0 in float32"
        )
    return 1.0 / product


def log_softmax_scaling(scale: float) -> dict[str, int]:
    """Return mult, shift and diff_min as for softmax, and their reciprocals reverse_mult and
    reverse_shift.
    """
    mult, shift, least = scale_softmax(1.0, scale)
    reverse = math.ldexp(1.0, 31 - shift) / mult
    if not reverse < 1:
        raise Error(f"LOG_SOFTMAX has the scale {scale:g}; it must be above 2^-26")
    pair = quantize_multiplier(reverse)
    made = {"mult": mult, "shift": shift, "diff_min": least}
    return {**made, "reverse_mult": pair[0], "reverse_shift": pair[1]}


def scale_logistic(scale: float) -> tuple[int, int, int]:
    """Return (input_multiplier, input_left_shift, input_range_radius) of LOGISTIC and TANH of int8.

    They are scale * 2^27 as a multiplier and a shift, and the least size that saturates. A scale
    below 2^-28 has no left shift and is an error. With a shift above 30 every input saturates: the
    radius is 0, and the shift is ignored.
    """
    multiplier, shift = quantize_multiplier(float(scale) * 2**27)
    if not (multiplier and shift >= 0):
        raise Error(f"LOGISTIC or TANH has the scale {scale}; it must be above 2^-28")
    return multiplier, min(shift, 30), (15 << 27) >> shift


def _find_near_log2(scale: float) -> tuple[int, bool]:
    """Return the exponent of the nearest power of two, and true if it is within 0.001 in the
    logarithm.
    """
    log2 = np.float32(math.log(scale)) * (np.float32(1) / np.float32(math.log(2.0)))
    power = round(float(log2))
    return power, abs(float(log2) - power) < 1e-3


def scale_logistic_s16(scale: float, tanh: bool = False) -> tuple[int, int]:
    """Return (input_multiplier, input_left_shift) of LOGISTIC or TANH of int16.

    The multiplier is 0 if the scale is almost 2^-12 (for TANH also 2^-11). Otherwise it is scale *
    3 * 2^(12 + shift), rounded down to 15 bits. Scales above 2.66 have none and are an error.
    """
    power, near = _find_near_log2(scale)
    if near and power + 12 in ((0, 1) if tanh else (0,)):
        return 0, power + 12
    multiplier, shift = float(scale) * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    if not multiplier < 32768:
        raise Error(f"LOGISTIC or TANH of int16 has the scale {scale}; it must be below 2.66")
    return int(multiplier), shift


def scale_leaky_relu(
    scale: float, output_scale: float, alpha: float, real: type[np.floating] = np.float32
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return (multiplier, shift) of identity and of LEAKY_RELU's alpha; real as in sub_scaling().

    A negative alpha has a negative multiplier.
    """
    one, out = real(scale), real(output_scale)
    identity, below = one / out, one * real(abs(alpha)) / out
    multiplier, shift = quantize_multiplier(float(below))
    return quantize_multiplier(float(identity)), (-multiplier if alpha < 0 else multiplier, shift)


def compute_rescale_factors(scale: float, zero_point: int, output_scale: float) -> np.ndarray:
    """Return factor and start of tflm_rescale_u8: float32 as its bits, int32 [2]."""
    factor = np.float32(scale) * (np.float32(1) / np.float32(output_scale))
    start = np.float32(-zero_point) * factor
    return np.array([factor, start], np.float32).view(np.int32)
