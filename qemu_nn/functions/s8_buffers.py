"""Scratch memory of s8 and s16 convolutions, as returned by Arm's `..._get_buffer_size`.

Each function takes the scalar C arguments and the core path, and returns bytes of the library built
with GCC; comments name different sizes of Arm's compiler. Both releases use the same memory; the
values are those of main-2026-07. 7.0.0 returns more for 4-bit wrappers of one row on Helium, which
the call does not use. It returns too little for the 8-bit wrapper of a 1x1 or one-row convolution
with groups.
"""

from __future__ import annotations

import math

from .base import Params
from .s8_windows import taps


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _is_1x1(p: Params) -> bool:
    ones = ("filter_h", "filter_w", "dilation_h", "dilation_w")
    unpadded = p["pad_h"] == p["pad_w"] == 0
    return unpadded and all(p[name] == 1 for name in ones) and p["input_c"] == p["filter_c"]


def _is_1xn(p: Params) -> bool:
    one_row = p["input_h"] == p["filter_h"] == p["dilation_w"] == 1
    return one_row and p["stride_w"] * p["input_c"] % 4 == 0 and p["input_c"] == p["filter_c"]


def _count_stretches(p: Params) -> tuple[int, int, int]:
    """Return the columns of one row on Helium with padding on the left and on the right, and the
    parity of the padding: odd (-1 or 1) or even (0).
    """
    stride, pad = p["stride_w"], p["pad_w"]
    total = (p["output_w"] - 1) * stride + p["filter_w"] - p["input_w"]
    odd = int(math.fmod(total, 2))
    right = max(1, -(-(pad + odd) // stride)) if pad + odd else 0
    return -(-pad // stride), right, odd


def convolve_s8(p: Params, path: str) -> int:
    """Return two columns of 16 bits, or four of 8 bits on Helium."""
    return 4 * _round_up(taps(p), 16 if path == "mve" else 4)


def convolve_1xn_s8(p: Params, path: str) -> int:
    """Return the scratch bytes: on Helium, the edges of a row."""
    left, right, odd = _count_stretches(p)
    if path != "mve" or left + right > p["output_w"]:
        return convolve_s8(p, path)
    columns = p["filter_w"]
    padded = right if odd else p["pad_w"]
    return max(columns + p["pad_w"], columns - 1 + padded) * p["input_c"]


def convolve_wrapper_s8(p: Params, path: str) -> int:
    """Return the bytes of the function that fits; none for 1x1 windows.

    Arm's compiler needs 4 * input_c bytes for 1x1 with strides of 1 on the DSP path.
    """
    if _is_1x1(p):
        return 0
    return (convolve_1xn_s8 if _is_1xn(p) else convolve_s8)(p, path)


def convolve_s16(p: Params, path: str) -> int:
    """Return two columns, or four on Helium."""
    return 8 * _round_up(taps(p), 8) if path == "mve" else 4 * taps(p)


def convolve_s4(p: Params, path: str) -> int:
    """Return two columns of 16 bits."""
    return 4 * taps(p)


def convolve_even_s4(p: Params, path: str) -> int:
    """Return four columns of 8 bits; the function exists on Helium alone."""
    return 4 * _round_up(taps(p), 16)


def convolve_1xn_s4(p: Params, path: str) -> int:
    """Return the scratch bytes: none on Helium if the row is long enough for its edges."""
    left, right, _ = _count_stretches(p)
    if path != "mve":
        return convolve_s4(p, path)
    return 4 * _round_up(taps(p), 16) if left + right > p["output_w"] else 0


def convolve_wrapper_s4(p: Params, path: str) -> int:
    """Return the scratch bytes of the function that the wrapper calls."""
    if _is_1x1(p):
        return 0
    if path != "mve":
        return convolve_s4(p, path)
    return (convolve_1xn_s4 if _is_1xn(p) else convolve_even_s4)(p, path)
