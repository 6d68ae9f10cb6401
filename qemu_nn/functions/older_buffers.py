"""Scratch memory that functions of older states ask for, where it is more than main's."""

from __future__ import annotations

from collections.abc import Mapping

from ..releases import place_of
from .s8_buffers import convolve_s8

Params = Mapping[str, int]

_ROWS = ("arm_convolve_wrapper_s8", "arm_convolve_1_x_n_s8")
_DEPTHWISE = ("arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8_opt")
_DEPTHWISE_S4 = ("arm_depthwise_conv_wrapper_s4", "arm_depthwise_conv_s4_opt")


def list_older_bytes(name: str, p: Params, path: str, cmsis: str) -> dict[str, int]:
    """Return scratch memory by the `..._get_buffer_size` of a state, or a few bytes more, if main's
    is not enough: C name -> bytes.
    """
    if name == "arm_transpose_conv_s8" and place_of(cmsis) < place_of("7.0.0"):
        columns = p["filter_h"] * p["filter_w"] * p["input_h"] * p["input_w"]
        sums = p["output_h"] * p["output_w"]
        return {"ctx": 4 * columns * p["output_c"], "output_ctx": 4 * sums * p["output_c"]}
    size = _count_older_bytes(name, p, path, cmsis)
    return {"ctx": size} if size else {}


def _count_older_bytes(name: str, p: Params, path: str, cmsis: str) -> int:
    """Return the bytes of `ctx` in a state; 0 if main's are enough."""
    place = place_of(cmsis)
    if name in _ROWS and place < place_of("4.1.0"):
        return convolve_s8(p, path)  # other shapes take the functions for points and rows
    if name in (*_DEPTHWISE, *_DEPTHWISE_S4) and p["ch_mult"] == 1 and path in ("mve", "dsp"):
        taps = p["filter_h"] * p["filter_w"] * p["input_c"]
        if name in _DEPTHWISE_S4:
            return 2 * taps if place < place_of("01dee38e") else 0
        if path == "mve" and place < place_of("51263182"):
            return 4 * taps + 4
        return 2 * taps if place < place_of("977abe98") else 0
    return 0
