"""Convolutions: images HWC, weights OHWI [out_channel, y, x, in_channel], one bias per channel."""

from collections.abc import Mapping
from random import Random
from typing import Optional

import numpy as np

from ..operators import Conv
from ..releases import place_of
from ..targets import Profile
from .base import Function, Params, find_no_fault
from .c_signature import STATUS, legacy
from .random_params import MOST_CHANNELS, Drawn, draw_natural_output
from .random_params import draw_legacy as drawn
from .shapes import Array, vector

_SQUARE: tuple[str, ...] = ("dim_im_in", "ch_im_in", "ch_im_out", "dim_kernel", "padding", "stride")
_SQUARE += ("bias_shift", "out_shift", "dim_im_out")
_NONSQUARE: tuple[str, ...] = ("dim_im_in_x", "dim_im_in_y", "ch_im_in", "ch_im_out")
_NONSQUARE += ("dim_kernel_x", "dim_kernel_y", "padding_x", "padding_y", "stride_x", "stride_y")
_NONSQUARE += ("bias_shift", "out_shift", "dim_im_out_x", "dim_im_out_y")

_C_SQUARE = (
    "Im_in dim_im_in ch_im_in wt ch_im_out dim_kernel padding stride bias bias_shift out_shift"
    " Im_out dim_im_out bufferA bufferB"
)
_C_NONSQUARE = (
    "Im_in dim_im_in_x dim_im_in_y ch_im_in wt ch_im_out dim_kernel_x dim_kernel_y"
    " padding_x padding_y stride_x stride_y bias bias_shift out_shift"
    " Im_out dim_im_out_x dim_im_out_y bufferA bufferB"
)


def _keeps(dim: int, channels: int, out: int, kernel: int) -> Params:
    """Return a case that keeps the size of a square image."""
    image = {"dim_im_in": dim, "ch_im_in": channels, "ch_im_out": out, "dim_im_out": dim}
    return {**image, "dim_kernel": kernel, "padding": kernel // 2, "stride": 1}


def _keeps_oblong(height: int, width: int, channels: int, out: int, kernel: int) -> Params:
    """Return the same of an image that is not square."""
    sizes = {"dim_im_in": (width, height), "dim_im_out": (width, height)}
    sizes.update(dim_kernel=(kernel,) * 2, padding=(kernel // 2,) * 2, stride=(1, 1))
    pairs = {
        f"{name}_{axis}": pair[i] for name, pair in sizes.items() for i, axis in enumerate("xy")
    }
    return {**pairs, "ch_im_in": channels, "ch_im_out": out}


def _meet(rng: Random, function: Function, params: Drawn) -> None:
    """Check the channels and windows of a function."""
    fast = "fast" in function.name
    if fast:
        params["ch_im_in"] = 4 * rng.choice((1, 2, 3, 4, 16, 33))
        params["ch_im_out"] = 2 * rng.choice((1, 2, 3, 4, 5, 9, 17))
    if "RGB" in function.name:
        params["ch_im_in"] = 3
    if "1x1" in function.name:
        for axis in "xy":
            params[f"dim_kernel_{axis}"] = params[f"stride_{axis}"] = 1
            params[f"padding_{axis}"] = 0
    draw_natural_output(rng, params, even=fast and function.type == "q15")


def _meet_depthwise(rng: Random, function: Function, params: Drawn) -> None:
    params["ch_im_out"] = params["ch_im_in"]
    draw_natural_output(rng, params)


def _windows(params: Mapping[str, int], weights: np.ndarray, groups: int = 1) -> Conv:
    """Return a convolution with these weights; square functions have one size for both axes."""
    pads, strides = [], []
    for axis, kernel in (("y", int(weights.shape[1])), ("x", int(weights.shape[2]))):
        size, stride, before, out = (params.get(f"{n}_{axis}", params.get(n, 0)) for n in _SIDES)
        pads.append((before, (out - 1) * stride + kernel - size - before))
        strides.append(stride)
    around = (pads[0][0], pads[1][0], pads[0][1], pads[1][1])
    return Conv(weights, None, (strides[0], strides[1]), around, groups=groups)


_SIDES = ("dim_im_in", "stride", "padding", "dim_im_out")


def _kernel(params: Mapping[str, int]) -> tuple[int, int]:
    height, width = (params.get(f"dim_kernel_{a}", params.get("dim_kernel", 0)) for a in "yx")
    return height, width


def _product(params: Mapping[str, int], weights: np.ndarray) -> Conv:
    shape = (params["ch_im_out"], *_kernel(params), params["ch_im_in"])
    return _windows(params, weights.astype(np.float64).reshape(shape))


def _depthwise_product(params: Mapping[str, int], weights: np.ndarray) -> Conv:
    channels = params["ch_im_in"]
    planes = weights.astype(np.float64).reshape(*_kernel(params), channels)
    return _windows(params, planes.transpose(2, 0, 1)[..., None], channels)


def _names(square: bool, stem: str) -> tuple[str, str]:
    return (stem, stem) if square else (f"{stem}_y", f"{stem}_x")


def _odd_channels(params: Mapping[str, int], profile: Profile) -> Optional[str]:
    """Return the reason for a fault: CMSIS up to 5.6.0 widens pixel by pixel, to odd halfword
    addresses after an odd pixel (until commit 04c0b9a8).

    GCC merges these stores into doubleword stores, which need word alignment.
    """
    channels = params["ch_im_in"]
    is_new = place_of(profile.cmsis) > place_of("5.6.0")
    if is_new or profile.path != "dsp" or channels < 5 or channels % 2 == 0:
        return None
    return (
        f"CMSIS {profile.cmsis}, compiled by GCC with -O2 or -O3, ends in a hard fault on a core "
        f"with the DSP extension for an odd number of input channels from 5 on, here {channels}; "
        "use cmsis='5.9.0' or an even number of channels"
    )


def _convolution(
    name: str, op: str, type: str, columns: int, *cases: Params, note: str = ""
) -> Function:
    """Declare a convolution; columns: im2col columns in bufferA, in q15 elements."""
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
        fault=_odd_channels if op == "convolve" and type == "q7" else find_no_fault,
        note=note,
        order=legacy(_C_SQUARE if square else _C_NONSQUARE, returns=STATUS),
        draw=drawn(_meet),
        cases=cases,
        product=_product,
    )


def _depthwise(name: str, *cases: Params) -> Function:
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
        order=legacy(_C_SQUARE if square else _C_NONSQUARE, returns=STATUS),
        draw=drawn(_meet_depthwise, ("ch_im_in",), MOST_CHANNELS),
        cases=cases,
        product=_depthwise_product,
    )


_FAST_Q7 = "ch_im_in must be a multiple of 4 and ch_im_out of 2."
_FAST_Q15 = "ch_im_in and ch_im_out must be multiples of 2."

FUNCTIONS = (
    _convolution("arm_convolve_HWC_q7_basic", "convolve", "q7", 2, _keeps(28, 1, 6, 5)),
    _convolution("arm_convolve_HWC_q7_basic_nonsquare", "convolve", "q7", 2),
    _convolution(
        "arm_convolve_HWC_q7_RGB",
        "convolve_rgb",
        "q7",
        2,
        _keeps(32, 3, 32, 5),
        note="ch_im_in must be 3.",
    ),
    _convolution(
        "arm_convolve_HWC_q7_fast",
        "convolve_fast",
        "q7",
        2,
        _keeps(16, 32, 16, 5),
        _keeps(8, 16, 32, 5),
        _keeps(8, 64, 64, 3),
        note=_FAST_Q7,
    ),
    _convolution(
        "arm_convolve_HWC_q7_fast_nonsquare",
        "convolve_fast_nonsquare",
        "q7",
        2,
        _keeps_oblong(25, 5, 64, 64, 3),
        note=_FAST_Q7,
    ),
    _convolution(
        "arm_convolve_1x1_HWC_q7_fast_nonsquare",
        "convolve_1x1_fast",
        "q7",
        2,
        _keeps_oblong(25, 5, 64, 64, 1),
        _keeps_oblong(14, 14, 512, 512, 1),
        note=_FAST_Q7 + " Kernel 1x1, no padding, stride 1.",
    ),
    _convolution("arm_convolve_HWC_q15_basic", "convolve", "q15", 1, _keeps(16, 3, 32, 5)),
    _convolution(
        "arm_convolve_HWC_q15_fast",
        "convolve_fast",
        "q15",
        2,
        _keeps(16, 32, 32, 5),
        note=_FAST_Q15,
    ),
    _convolution(
        "arm_convolve_HWC_q15_fast_nonsquare",
        "convolve_fast_nonsquare",
        "q15",
        2,
        _keeps_oblong(16, 16, 32, 32, 5),
        note=_FAST_Q15,
    ),
    _depthwise("arm_depthwise_separable_conv_HWC_q7"),
    _depthwise("arm_depthwise_separable_conv_HWC_q7_nonsquare", _keeps_oblong(25, 5, 64, 64, 3)),
)
