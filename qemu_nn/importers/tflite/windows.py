"""Convolutions and pooling: windows over images [1, height, width, channels]."""

from __future__ import annotations

import math
from functools import partial
from typing import Optional

import numpy as np

from ...errors import ModelError
from .building import Value
from .call import Call, Converter, Options, same_format, same_type
from .parser import FileTensor
from .scaling import activation_range, multipliers

#: The type of a bias, by that of the input.
BIAS_TYPES = {"s8": "INT32", "s16": "INT64"}


#: Most channels that a kernel takes.
_CHANNEL_LIMIT = 65535


def image(value: Value) -> tuple[int, int, int, int]:
    """Batches, height, width and channels."""
    if len(value.shape) != 4:
        raise ModelError(
            f"its images must have 4 axes, but {value.name[:60]!r} is {list(value.shape)}"
        )
    batches, height, width, channels = value.shape
    return batches, height, width, channels


def _window(
    options: Options, x: Value, output: Value, sides: tuple[int, int], dilated: bool
) -> dict[str, int]:
    """Sizes, strides, padding and dilation; the output must have the size that they give."""
    padding, params = options.choice("Padding", "Padding"), {}
    for axis, letter, side in ((1, "h", sides[0]), (2, "w", sides[1])):
        size, out = x.shape[axis], output.shape[axis]
        stride = options.integer(f"Stride{letter.upper()}", 1)
        dilation = options.integer(f"Dilation{letter.upper()}Factor", 1) if dilated else 1
        covered = (side - 1) * dilation + 1
        if padding == "VALID" and covered > size:
            raise ModelError(f"its window of {covered} is larger than the image of {size}")
        expected = -(-size // stride) if padding == "SAME" else (size - covered) // stride + 1
        if out != expected:
            raise ModelError(
                f"its output has the {'height' if letter == 'h' else 'width'} {out}; windows of "
                f"{covered} in steps of {stride} over {size} give {expected} ({padding})"
            )
        missing = max((out - 1) * stride + covered - size, 0)
        params.update({f"input_{letter}": size, f"filter_{letter}": side, f"output_{letter}": out})
        params.update({f"stride_{letter}": stride, f"pad_{letter}": missing // 2})
        if dilated:
            params[f"dilation_{letter}"] = dilation
    return params


def filter_scales(weights: FileTensor, axis: int, zeros: bool = False) -> np.ndarray:
    """Scales of weights along an axis, one for each element; zeros: may zero points be there?"""
    count, scales = weights.shape[axis], weights.scales
    if count > _CHANNEL_LIMIT:
        raise ModelError(
            f"its weights, {weights}, have {count} channels; up to {_CHANNEL_LIMIT} are supported"
        )
    if (weights.zeros.any() and not zeros) or len(weights.zeros) not in (0, len(scales)):
        raise ModelError(f"its weights, {weights}, have zero points other than 0")
    if len(scales) not in (1, count):
        raise ModelError(f"its weights, {weights}, have {len(scales)} scales for {count} channels")
    if len(scales) > 1 and weights.axis != axis:
        raise ModelError(
            f"its weights, {weights}, have scales along axis {weights.axis}; channels are on {axis}"
        )
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise ModelError(f"its weights, {weights}, have a scale that is not positive and finite")
    return np.broadcast_to(scales, count)


def channel_rows(
    call: Call, x: Value, output: Value, weights: FileTensor, axis: int, at: int, *types: str
) -> np.ndarray:
    """Bias, multiplier and shift of each output channel, as rows.

    at: the input with the bias; types: those that it may have besides the usual one.
    """
    scales = filter_scales(weights, axis)
    real = [x.scale * float(scale) / output.scale for scale in scales]
    rows, values = multipliers(real), bias(call, at, same_type(x), len(scales), *types)
    none = np.zeros(len(scales), np.int32 if x.dtype == "int8" else np.int64)
    first = none if values is None else values.astype(none.dtype)
    return np.stack([first, *rows.astype(first.dtype)])


def misread(tensor: FileTensor) -> str:
    """What the framework does with a bias of 32 bits where it expects 64."""
    return (
        f"its bias, {tensor}, is INT32, but TensorFlow Lite Micro reads it as INT64, two numbers "
        "as one and then what lies behind them; make it INT64"
    )


def bias(call: Call, at: int, suffix: str, count: int, *types: str) -> Optional[np.ndarray]:
    """The bias, if there is one, in the type that the file holds it in."""
    if not call.given(at):
        return None
    tensor = call.tensor(at)
    if suffix == "s16" and tensor.type == "INT32" and "INT32" not in types:
        raise ModelError(misread(tensor))
    tensor, values = call.constant(at, BIAS_TYPES[suffix], *types)
    if values.size != count:
        raise ModelError(f"its bias, {tensor}, has {values.size} numbers for {count} channels")
    return values.reshape(-1)


def _offsets(x: Value, output: Value) -> dict[str, int]:
    return {"input_offset": -x.zero, "output_offset": output.zero}


def weighted(call: Call, suffix: str) -> tuple[FileTensor, np.ndarray, str]:
    """The weights, and the suffix of the function that takes them: s4 where they have 4 bits."""
    tensor, data = call.constant(1, "INT8", "INT4")
    if tensor.type == "INT8":
        return tensor, data, suffix
    if suffix != "s8":
        raise ModelError(f"its weights, {tensor}, have 4 bits; with {suffix} they must have 8")
    return tensor, data, "s4"


def _unpacked(
    call: Call, function: str, params: dict[str, int], data: np.ndarray, rows: np.ndarray
) -> None:
    """Say that the reference kernels make bytes of weights of 4 bits."""
    pairs = data.reshape(-1).view(np.uint8)
    halves = np.stack([pairs << 4, pairs & 0xF0], axis=1).view(np.int8) >> 4
    whole = halves.reshape(-1)[: math.prod(call.tensor(1).shape)]
    call.otherwise("weights_unpacked", function, params, whole.reshape(call.tensor(1).shape), rows)


#: What CMSIS-NN does with groups of 16 bits.
_ONE_GROUP = (
    "CMSIS-NN computes groups of 16 bits as one, which reads beside the weights; "
    'kernels="reference" computes them'
)


def convolve(call: Call) -> None:
    """CONV_2D, also grouped.

    Of 16 bits and without a bias it sums up as with one of 32 bits: as the framework registers it
    by default.
    """
    call.counts(2, 3)
    options, x, output = call.options("Conv2DOptions"), call.value(), call.output()
    weights, data, suffix = weighted(call, same_type(x, output))
    batches, _, _, depth = image(x)
    if len(weights.shape) != 4 or min(weights.shape) < 1:
        raise ModelError(f"its weights, {weights}, cannot have the shape {list(weights.shape)}")
    channels, height, width, own = weights.shape
    if depth % own or channels % (depth // own):
        raise ModelError(f"its weights {list(weights.shape)} do not fit {depth} input channels")
    _expect(output, batches, channels)
    short = ("INT32",) if suffix == "s16" else ()
    rows = channel_rows(call, x, output, weights, 0, 2, *short)
    params = {
        **{"batches": batches, "input_c": depth, "filter_c": own, "output_c": channels},
        **_window(options, x, output, (height, width), dilated=True),
        **_offsets(x, output),
        **options.activation(output),
    }
    if suffix == "s16":
        params["bias_is_int32"] = int(not call.given(2) or call.tensor(2).type == "INT32")
        wide = params if call.given(2) else {**params, "bias_is_int32": 0}
        if own != depth:
            call.refused("convolve_16x8_groups", _ONE_GROUP)
            call.put("tflm_convolve_s16", wide, [x], output, data, rows)
            return
        call.otherwise("convolve_16x8_wide", "tflm_convolve_s16", wide, data, rows)
    if suffix == "s4":
        _unpacked(call, "arm_convolve_wrapper_s8", params, data, rows)
    call.put(f"arm_convolve_wrapper_{suffix}", params, [x], output, data, rows)


def _expect(output: Value, batches: int, channels: int) -> None:
    have = image(output)
    if (have[0], have[3]) != (batches, channels):
        raise ModelError(
            f"its output {list(output.shape)} must have {batches} images of {channels} channels"
        )


def depthwise(call: Call) -> None:
    """DEPTHWISE_CONV_2D."""
    call.counts(2, 3)
    options, x, output = call.options("DepthwiseConv2DOptions"), call.value(), call.output()
    weights, data, suffix = weighted(call, same_type(x, output))
    batches, _, _, depth = image(x)
    if len(weights.shape) != 4 or min(weights.shape) < 1 or weights.shape[0] != 1:
        raise ModelError(f"its weights, {weights}, cannot have the shape {list(weights.shape)}")
    _, height, width, channels = weights.shape
    times = options.integer("DepthMultiplier")
    if channels != depth * times:
        raise ModelError(f"its {channels} filters must be {times} for each of {depth} channels")
    _expect(output, batches, channels)
    rows = channel_rows(call, x, output, weights, 3, 2)
    params = {
        **{"batches": batches, "input_c": depth, "ch_mult": times},
        **_window(options, x, output, (height, width), dilated=True),
        **_offsets(x, output),
        **options.activation(output),
    }
    if suffix == "s4":
        _unpacked(call, "arm_depthwise_conv_wrapper_s8", params, data, rows)
    call.put(f"arm_depthwise_conv_wrapper_{suffix}", params, [x], output, data, rows)


def pooled(options: Options, x: Value, output: Value) -> dict[str, int]:
    """The windows of a pooling."""
    batches, _, _, channels = image(x)
    _expect(output, batches, channels)
    sides = options.integer("FilterHeight", 1), options.integer("FilterWidth", 1)
    window = _window(options, x, output, sides, dilated=False)
    return {"batches": batches, "channels": channels, **window}


def pool(call: Call, kind: str) -> None:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    call.counts(1, 1)
    options, x, output = call.options("Pool2DOptions"), call.value(), call.output()
    same_format(x, output)
    params = {**pooled(options, x, output), **options.activation(output)}
    if params["batches"] > 1:
        call.refused(
            "pool_first",
            f"of {params['batches']} images only the first is computed; of the others the output "
            'is what the memory held; kernels="reference" or a later month computes all',
        )
    call.put(f"{kind}_{same_type(x, output)}", params, [x], output)


def transpose_conv(call: Call) -> None:
    """TRANSPOSE_CONV, whose first input is the shape that it makes.

    The framework's kernel for CMSIS-NN prepares it without the fused activation, of 16 bits too.
    """
    call.counts(3, 4)
    options, x, output = call.options("TransposeConvOptions"), call.value(2), call.output()
    weights, data = call.constant(1, "INT8")
    suffix, (batches, tall, wide, depth) = same_type(x, output), image(x)
    if len(weights.shape) != 4 or min(weights.shape) < 1 or weights.shape[3] != depth:
        raise ModelError(f"its weights, {weights}, do not fit {depth} input channels")
    if tuple(call.integers(0)) != output.shape:
        raise ModelError(f"its shape {call.integers(0)} differs from that of its output")
    channels, height, width, _ = weights.shape
    _expect(output, batches, channels)
    if suffix == "s16" and not call.given(3):
        raise ModelError(
            "it has no bias, and with 16 bits TensorFlow Lite Micro then reads through a null "
            "pointer; give it one of INT64, which may be zeros"
        )
    short = ("INT16",) if suffix == "s16" else ()
    rows = channel_rows(call, x, output, weights, 0, 3, *short)
    # The image that a convolution with this window would make of the output is the input.
    window = _window(options, output, x, (height, width), dilated=False)
    sizes = {name: window[name] for name in window if not name.startswith(("input", "output"))}
    offsets: dict[str, int] = {}
    for letter, side, (size, out) in (
        ("h", height, (tall, output.shape[1])),
        ("w", width, (wide, output.shape[2])),
    ):
        total = max((size - 1) * window[f"stride_{letter}"] + side - out, 0)
        offsets[f"pad_offset_{letter}"] = total - total // 2
        sizes.update({f"input_{letter}": size, f"output_{letter}": out, f"dilation_{letter}": 1})
    low, high = activation_range("NONE", output.scale, output.zero, output.dtype)
    params = {
        **{"batches": batches, "input_c": depth, "output_c": channels},
        **sizes,
        **_offsets(x, output),
        **{"act_min": low, "act_max": high},
    }
    activation = options.choice("FusedActivationFunction", "ActivationFunctionType")
    if activation != "NONE":
        call.warn(f"the fused activation {activation} is ignored")
    ends = options.activation(output)
    own = f"tflm_transpose_conv_{suffix}"
    call.otherwise("transpose_conv_activation", own, {**params, **ends}, data, rows)
    if suffix == "s16":
        call.put(own, params, [x], output, data, rows)
    else:
        call.otherwise("transpose_conv_rows", own, params, data, rows)
        call.put("arm_transpose_conv_wrapper_s8", {**params, **offsets}, [x], output, data, rows)


WINDOWS: dict[str, Converter] = {
    "CONV_2D": convolve,
    "DEPTHWISE_CONV_2D": depthwise,
    "AVERAGE_POOL_2D": partial(pool, kind="arm_avgpool"),
    "TRANSPOSE_CONV": transpose_conv,
    "MAX_POOL_2D": partial(pool, kind="arm_max_pool"),
}
