"""Depthwise convolutions of the s8 and s16 API; output channel input_c * ch_mult + k."""

from random import Random

import numpy as np

from ..operators import Conv
from .base import Function, Params
from .c_signature import Struct, dims
from .float_semantics import get_pads, make_window_meaning
from .random_params import MOST_CHANNELS, SIZES, Drawn
from .s8_buffers import convolve_wrapper_s8
from .s8_weighted import (
    OFFSETS,
    PER_CHANNEL,
    draw_weighted,
    make_filter,
    make_weighted_order,
    rows,
    unpack_weights,
)
from .s8_windows import (
    ANY,
    DILATED,
    DTYPES,
    ENDS,
    FREE,
    IMAGE,
    IMAGE_DIMS,
    NOTES,
    OPT,
    SIDES,
    SMALL,
    WINDOW,
    WRAPPER,
    Buffer,
    case,
    draw_windows,
    image,
    nothing,
    taps,
)
from .shapes import Array, Extent, stack

_CHANNELS: Extent = ("input_c", "ch_mult")

# ---- scratch memory, as Arm's ..._get_buffer_size answer; see s8_buffers.py ----

#: Channels that the depthwise kernels of Helium take at once.
_BLOCK = 124

#: Taps from which on 16-bit depthwise convolutions are not computed by the fast kernel.
_MANY_TAPS = 512


def _is_opt(p: Params) -> bool:
    samples = p["batches"] * p["ch_mult"]
    return samples == p["dilation_h"] == p["dilation_w"] == 1


def _memory_s8_opt(p: Params, path: str) -> int:
    """Return one column of 16 bits on the DSP path, four blocks of channels on Helium."""
    window = p["filter_h"] * p["filter_w"]
    return {"mve": 4 * _BLOCK * window, "dsp": 2 * taps(p)}.get(path, 0)


def _memory_wrapper_s8(params: Params, path: str) -> int:
    """Return the scratch bytes; on Helium, one input channel is computed as a convolution."""
    if path == "mve" and params["input_c"] == 1 and params["ch_mult"] > 1:
        whole = {**params, "filter_c": 1}
        return convolve_wrapper_s8(whole, path) + taps(params) * params["ch_mult"]
    if not _is_opt(params):
        return 0
    small = (
        params["filter_h"] == params["filter_w"] == 3 and max(params["pad_h"], params["pad_w"]) <= 1
    )
    return 0 if small and path != "mve" else _memory_s8_opt(params, path)


def _memory_s4_opt(p: Params, path: str) -> int:
    """Return the scratch bytes of the 8-bit function; plain cores need those of the DSP path."""
    return _memory_s8_opt(p, "mve" if path == "mve" else "dsp")


def _memory_wrapper_s4(p: Params, path: str) -> int:
    """Return the scratch bytes of the function that the wrapper calls."""
    return _memory_s4_opt(p, path) if _is_opt(p) else 0


def _memory_fast_s16(p: Params, path: str) -> int:
    """Return one column; on Helium four, and 8 bytes for reads beyond them."""
    return {"mve": 8 * taps(p) + 8, "dsp": 2 * taps(p)}.get(path, 0)


def _memory_wrapper_s16(p: Params, path: str) -> int:
    """Return the scratch bytes of the function that the wrapper calls."""
    undilated = p["ch_mult"] == p["dilation_h"] == p["dilation_w"] == 1
    fast = undilated and p["filter_h"] * p["filter_w"] < _MANY_TAPS
    return _memory_fast_s16(p, path) if fast else 0


# ---- declarations ----

_STRUCTS = {
    "dw_conv_params": Struct(
        "cmsis_nn_dw_conv_params", {**OFFSETS, "ch_mult": "ch_mult", **DILATED}
    ),
    "quant_params": PER_CHANNEL,
    "input_dims": IMAGE_DIMS,
    "filter_dims": dims(1, "filter_h", "filter_w", _CHANNELS),
    "bias_dims": dims(1, 1, 1, _CHANNELS),
    "output_dims": dims("batches", "output_h", "output_w", _CHANNELS),
}


def _draw(rng: Random, function: Function) -> Drawn:
    params, kernel = draw_windows(rng), function.fixed["kernel"]
    params["ch_mult"] = rng.choice((1, 1, 1, 2, 3))
    if kernel in (OPT, SMALL):
        params.update(ch_mult=1, batches=1, dilation_h=1, dilation_w=1)
    if kernel == SMALL:
        params.update(filter_h=3, filter_w=3, pad_w=rng.randint(0, 1))
        reach = params["input_w"] + params["pad_w"] - 2
        params["output_w"] = max(1, 1 + rng.randint(0, max(0, reach)) // params["stride_w"])
    elif kernel == WRAPPER and rng.randrange(3) == 0:
        params.update(batches=1, dilation_h=1, dilation_w=1)
    params["input_c"] = rng.choice((*SIZES, rng.randint(1, MOST_CHANNELS // params["ch_mult"])))
    return params


def _depthwise(
    name: str, type: str, kernel: int, buffer: Buffer, *sides: tuple[int, int]
) -> Function:
    """sides: of the image and channels of each case."""
    bias = "int64" if type == "s16" else "int32"
    of_channels = rows(_CHANNELS, bias)
    filter = make_filter(type, (1, "filter_h", "filter_w", _CHANNELS))

    def product(params: Params, weights: np.ndarray) -> Conv:
        planes = unpack_weights(filter, params, weights)[0].transpose(2, 0, 1)[..., None]
        stride, dilation = ((params[f"{n}_h"], params[f"{n}_w"]) for n in ("stride", "dilation"))
        return Conv(planes, None, stride, get_pads(params), dilation, params["input_c"])

    return Function(
        name=name,
        op="depthwise_conv_wrapper",
        type=type,
        params=(*IMAGE, "ch_mult", *SIDES, *WINDOW, *ENDS),
        inputs=(image(type),),
        weights=filter,
        bias=stack(bias, *of_channels),
        stack=of_channels,
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", _CHANNELS)),
        fixed={"kernel": kernel},
        buffer=buffer,
        macs=("batches", "output_h", "output_w", _CHANNELS, "filter_h", "filter_w"),
        note=FREE + NOTES[type] + " Output channel input_c * ch_mult + k.",
        order=make_weighted_order("dw_conv_params", _STRUCTS, filter),
        draw=draw_weighted(_draw),
        cases=tuple({**case(dim, 3, type), "input_c": c, "ch_mult": 1} for dim, c in sides),
        product=product,
        meaning=make_window_meaning,
    )


FUNCTIONS = (
    _depthwise(
        "arm_depthwise_conv_wrapper_s8",
        "s8",
        WRAPPER,
        _memory_wrapper_s8,
        *((48, 8), (16, 64), (14, 256)),
    ),
    _depthwise("arm_depthwise_conv_s8", "s8", ANY, nothing),
    _depthwise("arm_depthwise_conv_s8_opt", "s8", OPT, _memory_s8_opt),
    _depthwise("arm_depthwise_conv_3x3_s8", "s8", SMALL, nothing),
    _depthwise("arm_depthwise_conv_wrapper_s16", "s16", WRAPPER, _memory_wrapper_s16, (16, 64)),
    _depthwise("arm_depthwise_conv_s16", "s16", ANY, nothing),
    _depthwise("arm_depthwise_conv_fast_s16", "s16", OPT, _memory_fast_s16),
    _depthwise("arm_depthwise_conv_wrapper_s4", "s4", WRAPPER, _memory_wrapper_s4, (16, 64)),
    _depthwise("arm_depthwise_conv_s4", "s4", ANY, nothing),
    _depthwise("arm_depthwise_conv_s4_opt", "s4", OPT, _memory_s4_opt),
)
