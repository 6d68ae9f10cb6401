"""Convolutions of the s8 and s16 API: images NHWC, a multiplier and a shift for each channel."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import numpy as np

from ..operators import Conv
from . import s8_buffers as buffers
from .base import Function, Params
from .c_signature import Order, Struct, dims
from .float_semantics import get_pads, make_window_meaning
from .random_params import SIZES, WIDTHS, Drawn, draw_one_in
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
    EVEN,
    FREE,
    IMAGE,
    IMAGE_DIMS,
    NOTES,
    POINT,
    POINT_FAST,
    REFERENCE,
    ROW,
    SIDES,
    WINDOW,
    WRAPPER,
    Buffer,
    case,
    draw_windows,
    image,
    nothing,
)
from .shapes import Array, stack

_STRUCTS = {
    "conv_params": Struct("cmsis_nn_conv_params", {**OFFSETS, **DILATED}),
    "quant_params": PER_CHANNEL,
    "input_dims": IMAGE_DIMS,
    "filter_dims": dims("output_c", "filter_h", "filter_w", "filter_c"),
    "bias_dims": dims(1, 1, 1, "output_c"),
    "output_dims": dims("batches", "output_h", "output_w", "output_c"),
}

#: The bias in C's terms, and more structs: Arm's own use of upscale_dims is inside of transposed
#: convolutions; a bias of 16-bit functions has either of two types.
_USUAL: tuple[str, Mapping[str, Struct]] = ("bias", {})
_UPSCALED = ("bias upscale_dims", {"upscale_dims": Struct("cmsis_nn_dims", {})})
_EITHER = (
    "bias_data",
    {"bias_data": Struct("cmsis_nn_bias_data", {"data": "bias", "is_int32_bias": "bias_is_int32"})},
)


def _draw(rng: Random, function: Function) -> Drawn:
    kernel = function.fixed["kernel"]
    if kernel == WRAPPER and rng.randrange(2):
        kernel = rng.choice((POINT, POINT_FAST, ROW))
    params = draw_windows(rng)
    grouped = kernel == REFERENCE or (function.type == "s8" and kernel in (WRAPPER, ANY))
    params.update(_draw_channels(rng, grouped))
    if kernel in (POINT, POINT_FAST):
        params.update(_draw_point(rng, params, kernel == POINT_FAST))
    if kernel == ROW:
        params.update(_draw_row(rng, params))
    if kernel == EVEN and rng.randrange(10):
        params["filter_w"] += params["filter_h"] * params["filter_w"] * params["input_c"] % 2
    return params


def _draw_channels(rng: Random, in_groups: bool) -> Drawn:
    """Dense, or in groups where there may be some."""
    groups = rng.choice((1, 1, 1, 2, 3)) if in_groups else 1
    depth, width = (rng.choice(WIDTHS if groups == 1 else SIZES[:7]) for _ in range(2))
    return {"input_c": groups * depth, "filter_c": depth, "output_c": groups * width}


def _draw_point(rng: Random, p: Params, fast: bool) -> Drawn:
    """Single pixels."""
    drawn = {}
    for axis in "hw":
        size, stride = p[f"input_{axis}"], 1 if fast else p[f"stride_{axis}"]
        pixels = (size - 1) // stride + 1
        ones = {"filter": 1, "dilation": 1, "pad": 0, "stride": stride}
        ones["output"] = pixels if fast else rng.randint(1, pixels) + draw_one_in(rng, 8)
        drawn.update({f"{name}_{axis}": n for name, n in ones.items()})
    return drawn


def _draw_row(rng: Random, p: Params) -> Drawn:
    """Return one row, padded as TFLite does, or as it comes."""
    drawn = dict.fromkeys(("input_h", "filter_h", "output_h", "dilation_w"), 1)
    drawn.update(pad_h=0, stride_w=rng.randint(1, 5), input_w=rng.randint(1, 25))
    step = next(n for n in (1, 2, 4) if drawn["stride_w"] * n % 4 == 0)
    drawn["input_c"] = drawn["filter_c"] = step * rng.randint(1, 9)
    stride, size, filter = drawn["stride_w"], drawn["input_w"], p["filter_w"]
    pixels = -(-size // stride)
    if rng.randrange(3) == 0:
        pixels = max(1, (size - filter) // stride + 1)
    total = (pixels - 1) * stride + filter - size
    drawn.update(output_w=pixels, pad_w=max(0, total // 2))
    return drawn


def _convolve(
    name: str,
    type: str,
    kernel: int,
    buffer: Buffer,
    *sides: tuple[int, int, int, int],
    bias: tuple[str, Mapping[str, Struct]] = _USUAL,
) -> Function:
    """sides: of the image, channels in and out and side of the filter of each case."""
    wide = type == "s16"
    flag = ("bias_is_int32",) if wide else ()
    channels = rows("output_c", "int64" if wide else "int32", *flag)
    more = " bias_is_int32: bias and sums have 32 bits." if wide else ""
    filter = make_filter(type, ("output_c", "filter_h", "filter_w", "filter_c"))

    def product(params: Params, weights: np.ndarray) -> Conv:
        groups = params["input_c"] // params["filter_c"]
        stride, dilation = ((params[f"{n}_h"], params[f"{n}_w"]) for n in ("stride", "dilation"))
        values = unpack_weights(filter, params, weights)
        return Conv(values, None, stride, get_pads(params), dilation, groups)

    return Function(
        name=name,
        op="convolve_reference" if kernel == REFERENCE else "convolve_wrapper",
        type=type,
        params=(*IMAGE, "filter_c", *SIDES, "output_c", *WINDOW, *ENDS, *flag),
        inputs=(image(type),),
        weights=filter,
        bias=stack("int64" if wide else "int32", *channels),
        stack=channels,
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", "output_c")),
        fixed={"kernel": kernel, **({} if wide else {"bias_is_int32": 1})},
        buffer=buffer,
        macs=("batches", "output_h", "output_w", "output_c", "filter_h", "filter_w", "filter_c"),
        note=FREE + NOTES[type] + more,
        order=None
        if kernel == REFERENCE
        else make_weighted_order(
            "conv_params",
            {**_STRUCTS, **bias[1]},
            filter,
            bias[0],
            before=_orders_before(filter, bias),
        ),
        draw=draw_weighted(_draw),
        cases=tuple(_keeps(type, *own) for own in sides),
        product=product,
        meaning=make_window_meaning,
    )


def _orders_before(filter: Array, bias: tuple[str, Mapping[str, Struct]]) -> Mapping[str, Order]:
    """Return the orders before arguments were added: upscale_dims, or a bias of either type."""
    usual = make_weighted_order("conv_params", _STRUCTS, filter)
    if bias is _UPSCALED:
        return {"f2cb41ca": usual}
    return {"8492d82a": replace(usual, implied={"bias_is_int32": "0"})} if bias is _EITHER else {}


def _keeps(type: str, dim: int, depth: int, out: int, kernel: int) -> Params:
    """Return a case that keeps the image's size."""
    channels = {"input_c": depth, "filter_c": depth, "output_c": out}
    return {
        **case(dim, kernel, type),
        **channels,
        **({"bias_is_int32": 0} if type == "s16" else {}),
    }


FUNCTIONS = (
    _convolve(
        "arm_convolve_wrapper_s8",
        "s8",
        WRAPPER,
        buffers.convolve_wrapper_s8,
        *((32, 3, 16, 3), (32, 16, 16, 3), (8, 64, 64, 3), (14, 512, 512, 1), (16, 64, 64, 1)),
    ),
    _convolve("arm_convolve_s8", "s8", ANY, buffers.convolve_s8, bias=_UPSCALED),
    _convolve("arm_convolve_1x1_s8", "s8", POINT, nothing),
    _convolve("arm_convolve_1x1_s8_fast", "s8", POINT_FAST, nothing),
    _convolve("arm_convolve_1_x_n_s8", "s8", ROW, buffers.convolve_1xn_s8),
    _convolve(
        "arm_convolve_wrapper_s16",
        "s16",
        WRAPPER,
        buffers.convolve_s16,
        (16, 16, 16, 3),
        bias=_EITHER,
    ),
    _convolve("arm_convolve_s16", "s16", ANY, buffers.convolve_s16, bias=_EITHER),
    _convolve("tflm_convolve_s16", "s16", REFERENCE, nothing, (16, 16, 16, 3)),
    _convolve(
        "arm_convolve_wrapper_s4", "s4", WRAPPER, buffers.convolve_wrapper_s4, (16, 16, 16, 3)
    ),
    _convolve("arm_convolve_s4", "s4", ANY, buffers.convolve_s4),
    _convolve("arm_convolve_even_s4", "s4", EVEN, buffers.convolve_even_s4),
    _convolve("arm_convolve_1x1_s4", "s4", POINT, nothing),
    _convolve("arm_convolve_1x1_s4_fast", "s4", POINT_FAST, nothing),
    _convolve("arm_convolve_1_x_n_s4", "s4", ROW, buffers.convolve_1xn_s4),
)
