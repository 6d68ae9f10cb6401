"""Scratch memory of the convolutions of the s8 and s16 API, as Arm's `..._get_buffer_size` answer.

Each function takes the scalar C arguments and the path of the core, and gives bytes. They are those
of the library built with GCC; built with Arm's own compiler it has another size where that is
said. Both releases use the same memory, and these are the answers of main-2026-07. 7.0.0 answers
more for 4-bit wrappers of one row on Helium, which the call does not use, and too little for the
8-bit wrapper of a 1x1 or one-row convolution with groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

Params = Mapping[str, int]

#: Channels that the depthwise kernels of Helium take at once.
_BLOCK = 124

#: Input channels up to which a transposed convolution is computed row by row.
_FEW_CHANNELS = 16

#: Taps from which on 16-bit depthwise convolutions are not computed by the fast kernel.
_MANY_TAPS = 512


def _taps(p: Params) -> int:
    """Taps of a filter, as if there were no groups."""
    return p["filter_h"] * p["filter_w"] * p["input_c"]


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _is_1x1(p: Params) -> bool:
    ones = ("filter_h", "filter_w", "dilation_h", "dilation_w")
    unpadded = p["pad_h"] == p["pad_w"] == 0
    return unpadded and all(p[name] == 1 for name in ones) and p["input_c"] == p["filter_c"]


def _is_1xn(p: Params) -> bool:
    one_row = p["input_h"] == p["filter_h"] == p["dilation_w"] == 1
    return one_row and p["stride_w"] * p["input_c"] % 4 == 0 and p["input_c"] == p["filter_c"]


def _stretches(p: Params) -> tuple[int, int, int]:
    """Columns of one row on Helium that are padded on the left and on the right, and whether the
    padding is odd (-1 or 1) or even (0)."""
    stride, pad = p["stride_w"], p["pad_w"]
    total = (p["output_w"] - 1) * stride + p["filter_w"] - p["input_w"]
    odd = int(math.fmod(total, 2))
    right = max(1, -(-(pad + odd) // stride)) if pad + odd else 0
    return -(-pad // stride), right, odd


def nothing(p: Params, path: str) -> int:
    """No scratch memory on any core."""
    return 0


def convolve_s8(p: Params, path: str) -> int:
    """Two columns of 16 bits, or four of 8 bits on Helium."""
    return 4 * _up(_taps(p), 16 if path == "mve" else 4)


def convolve_1xn_s8(p: Params, path: str) -> int:
    """On Helium the edges of a row."""
    left, right, odd = _stretches(p)
    if path != "mve" or left + right > p["output_w"]:
        return convolve_s8(p, path)
    columns = p["filter_w"]
    padded = right if odd else p["pad_w"]
    return max(columns + p["pad_w"], columns - 1 + padded) * p["input_c"]


def convolve_wrapper_s8(p: Params, path: str) -> int:
    """Arm's own compiler needs 4 * input_c bytes for 1x1 with strides of 1 on the DSP path."""
    if _is_1x1(p):
        return 0
    return (convolve_1xn_s8 if _is_1xn(p) else convolve_s8)(p, path)


def convolve_s16(p: Params, path: str) -> int:
    """Two columns, or four on Helium."""
    return 8 * _up(_taps(p), 8) if path == "mve" else 4 * _taps(p)


def convolve_s4(p: Params, path: str) -> int:
    """Two columns of 16 bits."""
    return 4 * _taps(p)


def convolve_even_s4(p: Params, path: str) -> int:
    """Four columns of 8 bits; it is for Helium alone."""
    return 4 * _up(_taps(p), 16)


def convolve_1xn_s4(p: Params, path: str) -> int:
    """None on Helium, where the row is long enough for its edges."""
    left, right, _ = _stretches(p)
    if path != "mve":
        return convolve_s4(p, path)
    return 4 * _up(_taps(p), 16) if left + right > p["output_w"] else 0


def convolve_wrapper_s4(p: Params, path: str) -> int:
    """That of the function that the wrapper calls."""
    if _is_1x1(p):
        return 0
    if path != "mve":
        return convolve_s4(p, path)
    return (convolve_1xn_s4 if _is_1xn(p) else convolve_even_s4)(p, path)


def _is_opt(p: Params) -> bool:
    samples = p["batches"] * p["ch_mult"]
    return samples == p["dilation_h"] == p["dilation_w"] == 1


def depthwise_s8_opt(p: Params, path: str) -> int:
    """One column of 16 bits on the DSP path, four blocks of channels on Helium."""
    taps = p["filter_h"] * p["filter_w"]
    return {"mve": 4 * _BLOCK * taps, "dsp": 2 * _taps(p)}.get(path, 0)


def depthwise_wrapper_s8(p: Params, path: str) -> int:
    """On Helium one input channel is a convolution with a filter in another order."""
    if path == "mve" and p["input_c"] == 1 and p["ch_mult"] > 1:
        whole = {**p, "filter_c": 1}
        return convolve_wrapper_s8(whole, path) + _taps(p) * p["ch_mult"]
    if not _is_opt(p):
        return 0
    small = p["filter_h"] == p["filter_w"] == 3 and max(p["pad_h"], p["pad_w"]) <= 1
    return 0 if small and path != "mve" else depthwise_s8_opt(p, path)


def depthwise_s4_opt(p: Params, path: str) -> int:
    """As of 8 bits; cores without any extension need that of the DSP path."""
    return depthwise_s8_opt(p, "mve" if path == "mve" else "dsp")


def depthwise_wrapper_s4(p: Params, path: str) -> int:
    """That of the function that the wrapper calls."""
    return depthwise_s4_opt(p, path) if _is_opt(p) else 0


def depthwise_fast_s16(p: Params, path: str) -> int:
    """One column, or four on Helium and 8 bytes that it reads beyond."""
    return {"mve": 8 * _taps(p) + 8, "dsp": 2 * _taps(p)}.get(path, 0)


def depthwise_wrapper_s16(p: Params, path: str) -> int:
    """That of the function that the wrapper calls."""
    undilated = p["ch_mult"] == p["dilation_h"] == p["dilation_w"] == 1
    fast = undilated and p["filter_h"] * p["filter_w"] < _MANY_TAPS
    return depthwise_fast_s16(p, path) if fast else 0


def _is_turned(p: Params) -> bool:
    """Is a transposed convolution one with the filter turned round?"""
    return max(p["stride_h"], p["stride_w"]) <= 2 and p["input_c"] > _FEW_CHANNELS


def transpose_conv_second(p: Params, path: str) -> int:
    """The second buffer of a transposed convolution: for the filter turned round."""
    return _taps(p) * p["output_c"] if _is_turned(p) else 0


def transpose_conv_rows(p: Params, path: str) -> int:
    """Rows of sums. Arm's answer puts stride_h for stride_w and can be too small: this is what the
    function uses."""
    columns = (p["input_w"] - 1) * p["stride_w"] + max(p["filter_w"], p["stride_w"])
    return 4 * columns * p["output_c"] * max(p["filter_h"], p["stride_h"])


def transpose_conv_first(p: Params, path: str) -> int:
    """The first buffer: rows of sums, or the columns of a convolution."""
    return (convolve_s8 if _is_turned(p) else transpose_conv_rows)(p, path)


def transpose_conv_wrapper(p: Params, path: str) -> int:
    """Both buffers: rows of sums alone, or the columns of a convolution and its filter."""
    return transpose_conv_first(p, path) + transpose_conv_second(p, path)
