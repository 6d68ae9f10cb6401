"""Models of ESP-DL in exact numbers: sums product by product, results as fractions."""

from fractions import Fraction
from math import floor

import numpy as np

C, S3, P4 = range(3)


def round_on(chip, value):
    """Return a fraction rounded as a chip rounds: halves up, on an ESP32-P4 to even."""
    return round(value) if chip == P4 else floor(value + Fraction(1, 2))


def saturate(dtype, value):
    """Return an integer within a type."""
    limits = np.iinfo(dtype)
    return max(limits.min, min(limits.max, value))


def finish(chip, dtype, total, shift, rectified=0):
    """Return the output of a sum."""
    result = round_on(chip, Fraction(total) / Fraction(2) ** shift)
    return saturate(dtype, max(result, 0) if rectified else result)


def wrap(value, bits):
    """Return the low bits, with sign."""
    return (value + (1 << bits >> 1)) % (1 << bits) - (1 << bits >> 1)


def count_bits(chip, dtype, channel, channels, depthwise):
    """Return the bits of an accumulator, and True if it saturates."""
    small = dtype == np.int8
    if chip == S3:
        in_lanes = depthwise or channel < channels // 16 * 16
        return (20 if small and in_lanes else 40), True
    return (32 if small else 64), chip == P4 and small


def add_up(products, bias, bits, saturates):
    """Return bias and products, one after the other."""
    total, high = wrap(int(bias), bits), (1 << bits >> 1) - 1
    for product in products:
        total += int(product)
        total = max(-high - 1, min(high, total)) if saturates else wrap(total, bits)
    return total


def list_windows(p, image):
    """Yield y, x and the window [ky, kx, c] of each pixel of the output, zeros outside."""
    for y in range(p["output_h"]):
        for x in range(p["output_w"]):
            window = np.zeros((p["filter_h"], p["filter_w"], p["input_c"]), np.int64)
            for ky in range(p["filter_h"]):
                for kx in range(p["filter_w"]):
                    at_y = y * p["stride_h"] + ky * p["dilation_h"] - p["pad_h"]
                    at_x = x * p["stride_w"] + kx * p["dilation_w"] - p["pad_w"]
                    if 0 <= at_y < p["input_h"] and 0 <= at_x < p["input_w"]:
                        window[ky, kx] = image[at_y, at_x]
            yield y, x, window


def convolve(p, images, filters, bias, depthwise):
    """Return a convolution: each sum in the order ky, kx, c."""
    dtype, width = images.dtype, p["input_c"] if depthwise else p["output_c"]
    bias = np.zeros(width, np.int64) if bias is None else bias
    out = np.zeros((len(images), p["output_h"], p["output_w"], width), dtype)
    for n, image in enumerate(images):
        for y, x, window in list_windows(p, image):
            for o in range(width):
                own = filters[..., o] if depthwise else filters[o]
                terms = (window[..., o] if depthwise else window) * own.astype(np.int64)
                bits = count_bits(p["chip"], dtype, o, width, depthwise)
                total = add_up(terms.ravel(), bias[o], *bits)
                out[n, y, x, o] = finish(p["chip"], dtype, total, p["right_shift"], p["rectified"])
    return out


def multiply(p, left, right, bias=None):
    """Return rows [n][c] by rows [o][c]."""
    width = len(right)
    bias = np.zeros(width, np.int64) if bias is None else bias
    out = np.zeros((len(left), width), left.dtype)
    for n, row in enumerate(left.astype(np.int64)):
        for o, other in enumerate(right):
            bits = count_bits(p["chip"], left.dtype, o, width, False)
            total = add_up(row * other, bias[o], *bits)
            rectified = p.get("rectified", 0)
            out[n, o] = finish(p["chip"], left.dtype, total, p["right_shift"], rectified)
    return out


def combine(name, p, x, y):
    """Return a sum, difference or product of two tensors."""
    dtype, x, y = x.dtype, x.astype(object), y.astype(object)
    if name == "mul":
        products = x * y
        if dtype == np.int16 and (p["chip"] == C or p["row_size"] < 8):
            products = [int(np.float32(int(each))) for each in products]
        values = [finish(p["chip"], dtype, each, p["right_shift"]) for each in products]
    else:
        values = [saturate(dtype, each) for each in (x + y if name == "add" else x - y)]
    return np.array(values, dtype)


def requantize(p, x, dtype):
    """Return integers with another exponent."""
    return np.array([finish(p["chip"], dtype, int(each), p["right_shift"]) for each in x], dtype)
