"""Convolutions: images HWC, weights OHWI [out_channel, y, x, in_channel], one bias per channel."""

from collections.abc import Mapping
from typing import Optional

from ..targets import Profile
from .base import Function, never
from .extents import Array, vector

_SQUARE: tuple[str, ...] = ("dim_im_in", "ch_im_in", "ch_im_out", "dim_kernel", "padding", "stride")
_SQUARE += ("bias_shift", "out_shift", "dim_im_out")
_NONSQUARE: tuple[str, ...] = ("dim_im_in_x", "dim_im_in_y", "ch_im_in", "ch_im_out")
_NONSQUARE += ("dim_kernel_x", "dim_kernel_y", "padding_x", "padding_y", "stride_x", "stride_y")
_NONSQUARE += ("bias_shift", "out_shift", "dim_im_out_x", "dim_im_out_y")


def _names(square: bool, stem: str) -> tuple[str, str]:
    return (stem, stem) if square else (f"{stem}_y", f"{stem}_x")


def _odd_channels(params: Mapping[str, int], profile: Profile) -> Optional[str]:
    """5.6.0 widens a pixel at a time, to addresses that are odd halfwords behind an odd pixel; GCC
    makes doubleword stores of that, which need words."""
    channels = params["ch_im_in"]
    if (profile.cmsis, profile.path) != ("5.6.0", "dsp") or channels < 5 or channels % 2 == 0:
        return None
    return (
        f"CMSIS 5.6.0, compiled by GCC with -O2 or -O3, ends in a hard fault on a core with the "
        f"DSP extension for an odd number of input channels from 5 on, here {channels}; use "
        f"cmsis='5.9.0' or an even number of channels"
    )


def _convolution(name: str, op: str, type: str, columns: int, note: str = "") -> Function:
    """columns: im2col columns that bufferA holds, in q15 elements."""
    square = not name.endswith("nonsquare")
    dtype = "int8" if type == "q7" else "int16"
    image, kernel = _names(square, "dim_im_in"), _names(square, "dim_kernel")
    output = _names(square, "dim_im_out")
    return Function(
        name=name,
        op=op,
        type=type,
        params=_SQUARE if square else _NONSQUARE,
        inputs=(Array("Im_in", dtype, (*image, "ch_im_in")),),
        weights=Array("wt", dtype, ("ch_im_out", *kernel, "ch_im_in")),
        bias=vector("bias", dtype, "ch_im_out"),
        output=Array("Im_out", dtype, (*output, "ch_im_out")),
        scratch=(2, columns, "ch_im_in", *kernel),
        macs=(*output, "ch_im_out", *kernel, "ch_im_in"),
        fault=_odd_channels if op == "convolve" and type == "q7" else never,
        note=note,
    )


def _depthwise(name: str) -> Function:
    square = not name.endswith("nonsquare")
    image, kernel = _names(square, "dim_im_in"), _names(square, "dim_kernel")
    output = _names(square, "dim_im_out")
    return Function(
        name=name,
        op="depthwise",
        type="q7",
        params=_SQUARE if square else _NONSQUARE,
        inputs=(Array("Im_in", "int8", (*image, "ch_im_in")),),
        weights=Array("wt", "int8", (*kernel, "ch_im_in")),
        bias=vector("bias", "int8", "ch_im_out"),
        output=Array("Im_out", "int8", (*output, "ch_im_out")),
        scratch=(4, "ch_im_in", *kernel),
        macs=(*output, "ch_im_out", *kernel),
        note="Depthwise: weights [y, x, channel]; ch_im_out must equal ch_im_in.",
    )


_FAST_Q7 = "ch_im_in must be a multiple of 4 and ch_im_out of 2."
_FAST_Q15 = "ch_im_in and ch_im_out must be multiples of 2."

FUNCTIONS = (
    _convolution("arm_convolve_HWC_q7_basic", "convolve", "q7", 2),
    _convolution("arm_convolve_HWC_q7_basic_nonsquare", "convolve", "q7", 2),
    _convolution("arm_convolve_HWC_q7_RGB", "convolve_rgb", "q7", 2, "ch_im_in must be 3."),
    _convolution("arm_convolve_HWC_q7_fast", "convolve_fast", "q7", 2, _FAST_Q7),
    _convolution(
        "arm_convolve_HWC_q7_fast_nonsquare", "convolve_fast_nonsquare", "q7", 2, _FAST_Q7
    ),
    _convolution(
        "arm_convolve_1x1_HWC_q7_fast_nonsquare",
        "convolve_1x1_fast",
        "q7",
        2,
        _FAST_Q7 + " Kernel 1x1, no padding, stride 1.",
    ),
    _convolution("arm_convolve_HWC_q15_basic", "convolve", "q15", 1),
    _convolution("arm_convolve_HWC_q15_fast", "convolve_fast", "q15", 2, _FAST_Q15),
    _convolution(
        "arm_convolve_HWC_q15_fast_nonsquare", "convolve_fast_nonsquare", "q15", 2, _FAST_Q15
    ),
    _depthwise("arm_depthwise_separable_conv_HWC_q7"),
    _depthwise("arm_depthwise_separable_conv_HWC_q7_nonsquare"),
)
