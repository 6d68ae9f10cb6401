"""Operators of the cortex_m backend with windows, and matrix products."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...errors import ModelError
from ..arguments import sides
from .call import Converter, PteCall

_RANGE = {"act_min": -128, "act_max": 127}


def window(call: PteCall, stride: int, padding: int, dilation: int) -> dict[str, int]:
    """Return strides, pads and dilations."""
    return {
        **call.pair(stride, "stride", 1),
        **call.pair(padding, "pad", 0),
        **call.pair(dilation, "dilation", 1),
    }


def channels(call: PteCall, count: int, at: tuple[int, int, int]) -> np.ndarray:
    """Return bias, multipliers and shifts of the output channels, as rows."""
    bias, multiplier, shift = at
    none = call.argument(bias) is None
    first = np.zeros(count, np.int32) if none else call.row(bias, count)
    return np.stack([first, call.row(multiplier, count), call.row(shift, count)])


def ends(x: tuple[int, int, int, int], out: tuple[int, int, int, int]) -> dict[str, int]:
    """Return images, and the sides of input and output."""
    return {
        **{"batches": x[0], "input_h": x[1], "input_w": x[2]},
        **{"output_h": out[1], "output_w": out[2]},
    }


def convolve(call: PteCall, last: bool = False) -> None:
    """Convert quantized_conv2d; last: true if channels are the last logical axis."""
    call.expect(15)
    x, out, weights = call.image(0, last), call.image(13, last), call.constant(1, "int8")
    if weights.ndim != 4 or x[3] % weights.shape[3] or weights.shape[0] != out[3]:
        raise ModelError(
            f"its weights are {list(weights.shape)} and its input has {x[3]} channels; they "
            "must agree"
        )
    count, height, width, depth = weights.shape
    params = {
        **ends(x, out),
        **{"input_c": x[3], "output_c": count, "filter_c": depth},
        **{"filter_h": height, "filter_w": width},
        **window(call, 3, 4, 5),
        **{"input_offset": call.integer(6), "output_offset": call.integer(7)},
        **{"act_min": call.integer(10), "act_max": call.integer(11)},
    }
    rows = channels(call, count, (2, 8, 9))
    call.put("arm_convolve_wrapper_s8", params, [call.value(0)], call.tensor(13), weights, rows)


def depthwise(call: PteCall, last: bool = False) -> None:
    """Convert quantized_depthwise_conv2d."""
    call.expect(16)
    x, out, weights = call.image(0, last), call.image(14, last), call.constant(1, "int8")
    if x[0] != 1:
        raise ModelError(
            f"it takes {x[0]} images; the device's kernel takes 1, and the program stops"
        )
    multiplier = call.integer(6, 1, 65535)
    if weights.ndim != 4 or weights.shape[0] != 1 or weights.shape[3] != x[3] * multiplier:
        raise ModelError(
            f"its weights are {list(weights.shape)} and its input has {x[3]} channels; they "
            "must agree"
        )
    _, height, width, count = weights.shape
    params = {
        **ends(x, out),
        **{"input_c": x[3], "ch_mult": multiplier, "filter_h": height, "filter_w": width},
        **window(call, 3, 4, 5),
        **{"input_offset": call.integer(7), "output_offset": call.integer(8)},
        **{"act_min": call.integer(11), "act_max": call.integer(12)},
    }
    rows = channels(call, count, (2, 9, 10))
    function = "arm_depthwise_conv_wrapper_s8"
    call.put(function, params, [call.value(0)], call.tensor(14), weights, rows)


def _convert_pool(call: PteCall, last: bool, output: int) -> dict[str, int]:
    x, out = call.image(0, last), call.image(output, last)
    return {
        **ends(x, out),
        "channels": x[3],
        **call.pair(1, "filter", 1),
        **call.pair(2, "stride", 1),
        **call.pair(3, "pad", 0),
    }


def average_pool(call: PteCall, last: bool = False) -> None:
    """Convert quantized_avg_pool2d, whose kernel reads no zero point, multiplier or shift."""
    call.expect(11)
    params = {**_convert_pool(call, last, 9), **_RANGE}
    call.put("arm_avgpool_s8", params, [call.value(0)], call.tensor(9))


def max_pool(call: PteCall, last: bool = False) -> None:
    """Convert quantized_max_pool2d."""
    call.expect(12)
    if call.integers(4, 2) != [1, 1] or call.flag(5):
        raise ModelError(
            "its windows are dilated or reach beyond the image; the kernel supports neither"
        )
    params = {
        **_convert_pool(call, last, 10),
        "act_min": call.integer(8),
        "act_max": call.integer(9),
    }
    call.put("arm_max_pool_s8", params, [call.value(0)], call.tensor(10))


def batch_matmul(call: PteCall) -> None:
    """Convert quantized_batch_matmul, whose second operand is transposed."""
    call.expect(10)
    left, right = (call.tensor(at, "int8") for at in (0, 2))
    if len(left.sizes) != 3 or len(right.sizes) != 3:
        raise ModelError(
            f"it multiplies {list(left.sizes)} by {list(right.sizes)}, not 3 axes each"
        )
    params = {
        **sides("lhs", left.sizes),
        **sides("rhs", right.sizes),
        **{"adj_x": 0, "adj_y": 0, **_RANGE},
        **{"lhs_offset": call.integer(1), "rhs_offset": call.integer(3)},
        **{"output_offset": call.integer(4), "multiplier": call.integer(5)},
        "shift": call.integer(6),
    }
    inputs = [call.value(0), call.value(2)]
    call.put("arm_batch_matmul_s8", params, inputs, call.tensor(8, "int8"))


WINDOWS: dict[str, Converter] = {
    "quantized_conv2d": convolve,
    "quantized_depthwise_conv2d": depthwise,
    "quantized_avg_pool2d": average_pool,
    "quantized_max_pool2d": max_pool,
    "quantized_batch_matmul": batch_matmul,
    "quantized_conv2d_nhwc": partial(convolve, last=True),
    "quantized_depthwise_conv2d_nhwc": partial(depthwise, last=True),
    "quantized_avg_pool2d_nhwc": partial(average_pool, last=True),
    "quantized_max_pool2d_nhwc": partial(max_pool, last=True),
}
