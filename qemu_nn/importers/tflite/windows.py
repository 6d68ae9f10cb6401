"""Convolutions and pooling of images [batches, height, width, channels]."""

from __future__ import annotations

from functools import partial
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions.s8_transpose import find_short_scratch
from .building import TfliteValue
from .call import Converter, Options, TfliteCall, check_same_type
from .parser import TfliteTensor
from .scaling import activation_range, multipliers
from .tflm_answers import refuse
from .values import unpack_int4

#: Type suffix of the input -> type of the bias.
BIAS_TYPES = {"s8": "INT32", "s16": "INT64"}


#: Maximum channels of a kernel.
_CHANNEL_LIMIT = 65535


def image_shape(value: TfliteValue) -> tuple[int, int, int, int]:
    """Return batches, height, width and channels."""
    if len(value.shape) != 4:
        raise ModelError(f"{value.name[:60]!r} is {list(value.shape)}; images must have 4 axes")
    batches, height, width, channels = value.shape
    return batches, height, width, channels


def _window_params(
    options: Options, x: TfliteValue, output: TfliteValue, sides: tuple[int, int], dilated: bool
) -> dict[str, int]:
    """Return sizes, strides, padding and dilation; check the output's size against these."""
    padding, params = options.choice("Padding", "Padding"), {}
    for axis, letter, side in ((1, "h", sides[0]), (2, "w", sides[1])):
        size, out = x.shape[axis], output.shape[axis]
        stride = options.integer(f"Stride{letter.upper()}", 1)
        dilation = options.integer(f"Dilation{letter.upper()}Factor", 1) if dilated else 1
        covered = (side - 1) * dilation + 1
        if padding == "VALID" and covered > size:
            raise ModelError(
                f"its window covers {covered} of an image of {size}; with VALID padding the image "
                "must be as large"
            )
        expected = -(-size // stride) if padding == "SAME" else (size - covered) // stride + 1
        if out != expected:
            raise ModelError(
                f"its output has the {'height' if letter == 'h' else 'width'} {out}; it must have "
                f"{expected}: windows of {covered} with stride {stride} over {size} ({padding})"
            )
        missing = max((out - 1) * stride + covered - size, 0)
        params.update({f"input_{letter}": size, f"filter_{letter}": side, f"output_{letter}": out})
        params.update({f"stride_{letter}": stride, f"pad_{letter}": missing // 2})
        if dilated:
            params[f"dilation_{letter}"] = dilation
    return params


def filter_scales(weights: TfliteTensor, axis: int, zeros: bool = False) -> np.ndarray:
    """Return one weight scale for each index of an axis; `zeros` allows zero points."""
    count, scales = weights.shape[axis], weights.scales
    if count > _CHANNEL_LIMIT:
        raise ModelError(
            f"its weights, {weights}, have {count} channels; up to {_CHANNEL_LIMIT} are supported"
        )
    if (weights.zeros.any() and not zeros) or len(weights.zeros) not in (0, len(scales)):
        raise ModelError(f"its weights, {weights}, have zero points; they must be 0")
    if len(scales) not in (1, count):
        raise ModelError(
            f"its weights, {weights}, have {len(scales)} scales; for {count} channels they must "
            f"have 1 or {count}"
        )
    if len(scales) > 1 and weights.axis != axis:
        raise ModelError(
            f"its weights, {weights}, have scales along axis {weights.axis}; scales must be along "
            f"axis {axis}, the channels"
        )
    if not (np.isfinite(scales).all() and (scales >= 0).all()):
        raise ModelError(f"the scales of its weights, {weights}, must be finite and not negative")
    return np.broadcast_to(scales, count)


def channel_rows(
    call: TfliteCall,
    x: TfliteValue,
    output: TfliteValue,
    weights: TfliteTensor,
    axis: int,
    at: int,
    *types: str,
) -> np.ndarray:
    """Return bias, multiplier and shift of each output channel, as rows.

    at: index of the bias. types: allowed types of the bias besides BIAS_TYPES.
    """
    scales = filter_scales(weights, axis, zeros=True)
    if weights.zeros.any():
        call.warn(f"the zero points of its weights, {weights}, are ignored")
    real = [x.scale * float(scale) / output.scale for scale in scales]
    rows, values = multipliers(real), read_bias(call, at, check_same_type(x), len(scales), *types)
    none = np.zeros(len(scales), np.int32 if x.dtype == "int8" else np.int64)
    first = none if values is None else values.astype(none.dtype)
    return np.stack([first, *rows.astype(first.dtype)])


def explain_bias32(tensor: TfliteTensor) -> str:
    """Return the error for an INT32 bias that the framework reads as INT64."""
    return (
        f"its bias, {tensor}, is INT32; TensorFlow Lite Micro reads pairs of its elements, and "
        "memory after them, as INT64: make it INT64"
    )


def read_bias(
    call: TfliteCall, at: int, suffix: str, count: int, *types: str
) -> Optional[np.ndarray]:
    """Return the bias in the file's type; None if there is none."""
    if not call.has_input(at):
        return None
    tensor = call.tensor(at)
    if suffix not in BIAS_TYPES:
        raise ModelError(f"it does not support {call.value(0).dtype}")
    if suffix == "s16" and tensor.type == "INT32" and "INT32" not in types:
        raise ModelError(explain_bias32(tensor))
    tensor, values = call.constant(at, BIAS_TYPES[suffix], *types)
    if values.size != count:
        raise ModelError(
            f"its bias, {tensor}, has {values.size} elements; for {count} channels it must have "
            f"{count}"
        )
    return values.reshape(-1)


def _offset_params(x: TfliteValue, output: TfliteValue) -> dict[str, int]:
    return {"input_offset": -x.zero, "output_offset": output.zero}


def read_weights(call: TfliteCall, suffix: str) -> tuple[TfliteTensor, np.ndarray, str]:
    """Return the weights, and the suffix of their function: s4 for 4-bit weights."""
    tensor, data = call.constant(1, "INT8", "INT4")
    if tensor.type == "INT8":
        return tensor, data, suffix
    if suffix != "s8":
        raise ModelError(f"its weights, {tensor}, are INT4; with {suffix} they must be INT8")
    return tensor, data, "s4"


def _record_unpacked(
    call: TfliteCall, function: str, params: dict[str, int], data: np.ndarray, rows: np.ndarray
) -> None:
    """Record the call of the reference kernels: these unpack 4-bit weights to bytes."""
    whole = unpack_int4(data, call.tensor(1).shape)
    call.record_build("weights_unpacked", function, params, whole, rows)


#: Error for grouped 16-bit convolutions.
_ONE_GROUP = (
    "it has 16-bit groups; CMSIS-NN computes them as one group and reads past the weights: choose "
    'kernels="reference"'
)


#: Operator -> the builds in which a 16-bit layer without bias has 32-bit accumulators, by the type
#: of the missing bias that the options name; "" for all other types.
_NARROW = {
    "CONV_2D": {
        "INT32": "convolve_16x8_int32",
        "INT64": "convolve_16x8_narrow",
        "": "convolve_16x8_narrow_unsaid",
    },
    "FULLY_CONNECTED": {
        "INT32": "dense_16x8_int32",
        "INT64": "dense_16x8_narrow",
        "": "dense_16x8_narrow_unsaid",
    },
}


def narrow_build(call: TfliteCall, options: Options) -> str:
    """Return the builds in which this 16-bit layer without bias has 32-bit accumulators."""
    builds, kind = _NARROW[call.operator.name], options.choice("QuantizedBiasType", "TensorType")
    return builds.get(kind, builds[""])


def convolve(call: TfliteCall) -> None:
    """Convert CONV_2D with any number of groups.

    With CMSIS-NN, a 16-bit convolution without bias has 32-bit accumulators, as with a 32-bit bias,
    because the framework registers this kernel by default.
    """
    call.check_counts(2, 3)
    options, x, output = call.read_options("Conv2DOptions"), call.value(), call.output()
    weights, data, suffix = read_weights(call, check_same_type(x, output))
    batches, _, _, depth = image_shape(x)
    if len(weights.shape) != 4 or min(weights.shape) < 1:
        raise ModelError(
            f"its weights, {weights}, are {list(weights.shape)}; they must have 4 axes of at "
            "least 1"
        )
    channels, height, width, own = weights.shape
    if depth % own or channels % (depth // own):
        raise ModelError(
            f"its weights are {list(weights.shape)} for {depth} input channels; the last axis must "
            f"divide {depth}, and the number of groups must divide {channels} output channels"
        )
    _check_output(output, batches, channels)
    short = ("INT32",) if suffix == "s16" else ()
    rows = channel_rows(call, x, output, weights, 0, 2, *short)
    params = {
        **{"batches": batches, "input_c": depth, "filter_c": own, "output_c": channels},
        **_window_params(options, x, output, (height, width), dilated=True),
        **_offset_params(x, output),
        **options.activation(output),
    }
    if suffix == "s16":
        params["bias_is_int32"] = int(not call.has_input(2) or call.tensor(2).type == "INT32")
        if own != depth:
            call.reject("convolve_16x8_groups", _ONE_GROUP)
        wide = params
        if not call.has_input(2):
            wide = {**params, "bias_is_int32": 0}
            call.record_build(narrow_build(call, options), "tflm_convolve_s16", params, data, rows)
        if own != depth:
            call.put("tflm_convolve_s16", wide, [x], output, data, rows)
            return
        call.record_build("convolve_16x8_wide", "tflm_convolve_s16", wide, data, rows)
    if suffix == "s4":
        _record_unpacked(call, "arm_convolve_wrapper_s8", params, data, rows)
    if suffix == "s8":
        _reject_esp(call)
    call.put(f"arm_convolve_wrapper_{suffix}", params, [x], output, data, rows)


def _reject_esp(call: TfliteCall) -> None:
    """Record why esp-tflite-micro cannot run an int8 convolution."""
    if not call.has_input(2):
        call.reject(
            "esp_no_bias",
            "it has no bias, which esp-tflite-micro reads through a null pointer; give it a bias "
            "of zeros",
        )


def _check_output(output: TfliteValue, batches: int, channels: int) -> None:
    have = image_shape(output)
    if (have[0], have[3]) != (batches, channels):
        raise ModelError(
            f"its output is {list(output.shape)}; it must have {batches} images of {channels} "
            "channels"
        )


def depthwise(call: TfliteCall) -> None:
    """Convert DEPTHWISE_CONV_2D."""
    call.check_counts(2, 3)
    if call.operator.inputs[2:] == (-1,):
        said = "its third input is marked as missing; give it two inputs"
        raise ModelError(refuse(said, "stops by signal 11"))
    options, x, output = call.read_options("DepthwiseConv2DOptions"), call.value(), call.output()
    weights, data, suffix = read_weights(call, check_same_type(x, output))
    batches, _, _, depth = image_shape(x)
    if len(weights.shape) != 4 or min(weights.shape) < 1 or weights.shape[0] != 1:
        raise ModelError(
            f"its weights, {weights}, are {list(weights.shape)}; they must be [1, height, width, "
            "channels]"
        )
    _, height, width, channels = weights.shape
    times = options.integer("DepthMultiplier", 1)
    if channels != depth * times:
        raise ModelError(
            f"it has {channels} filters; it must have {times} for each of {depth} channels"
        )
    _check_output(output, batches, channels)
    rows = channel_rows(call, x, output, weights, 3, 2)
    params = {
        **{"batches": batches, "input_c": depth, "ch_mult": times},
        **_window_params(options, x, output, (height, width), dilated=True),
        **_offset_params(x, output),
        **options.activation(output),
    }
    if suffix == "s4":
        _record_unpacked(call, "arm_depthwise_conv_wrapper_s8", params, data, rows)
    if suffix == "s8":
        _reject_esp(call)
    call.put(f"arm_depthwise_conv_wrapper_{suffix}", params, [x], output, data, rows)


def pool_params(options: Options, x: TfliteValue, output: TfliteValue) -> dict[str, int]:
    """Return the arguments of a pooling that describe its windows."""
    batches, _, _, channels = image_shape(x)
    _check_output(output, batches, channels)
    sides = options.integer("FilterHeight", 1), options.integer("FilterWidth", 1)
    window = _window_params(options, x, output, sides, dilated=False)
    return {"batches": batches, "channels": channels, **window}


def _check_pool_format(x: TfliteValue, output: TfliteValue) -> None:
    """Raise ModelError if the formats differ by more than the framework allows."""
    far = abs(np.float32(x.scale) - np.float32(output.scale)) > 1e-6
    if x.dtype != output.dtype or x.zero != output.zero or far:
        said = (
            f"its input is {x.tensor.spelled} and its output {output.tensor.spelled}; both must "
            "have one type and zero point, and scales that differ by at most 1e-6"
        )
        raise ModelError(refuse(said, "scale_diff <= 1.0e-6 was not true."))


def pool(call: TfliteCall, kind: str) -> None:
    """Convert AVERAGE_POOL_2D and MAX_POOL_2D."""
    call.check_counts(1, 1)
    options, x, output = call.read_options("Pool2DOptions"), call.value(), call.output()
    _check_pool_format(x, output)
    params = {**pool_params(options, x, output), **options.activation(output)}
    if params["batches"] > 1:
        call.reject(
            "pool_first",
            f"this build computes only the first of {params['batches']} images and leaves the rest "
            'of the output uninitialized: choose kernels="reference" or a later month',
        )
    call.put(f"{kind}_{check_same_type(x, output)}", params, [x], output)


def transpose_conv(call: TfliteCall) -> None:
    """Convert TRANSPOSE_CONV; its first input, the output's shape, is ignored as on the device.

    The framework's kernel with CMSIS-NN ignores the fused activation, for 8 and 16 bits.
    """
    call.check_counts(3, 4)
    options, x, output = call.read_options("TransposeConvOptions"), call.value(2), call.output()
    weights, data = call.constant(1, "INT8")
    suffix, (batches, tall, wide, depth) = check_same_type(x, output), image_shape(x)
    if len(weights.shape) != 4 or min(weights.shape) < 1 or weights.shape[3] != depth:
        raise ModelError(
            f"its weights, {weights}, are {list(weights.shape)}; they must be [channels, height, "
            f"width, {depth}]"
        )
    channels, height, width, _ = weights.shape
    _check_output(output, batches, channels)
    if suffix == "s16" and not call.has_input(3):
        call.reject(
            "transpose_conv_16x8_null",
            "it has no bias; with 16-bit activations this kernel then reads through a null "
            'pointer: give it an INT64 bias, for example zeros, or choose kernels="reference"',
        )
    short = ("INT16",) if suffix == "s16" else ()
    rows = channel_rows(call, x, output, weights, 0, 3, *short)
    # The input is the image that a convolution of the output with this window would compute.
    window = _window_params(options, output, x, (height, width), dilated=False)
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
        **_offset_params(x, output),
        **{"act_min": low, "act_max": high},
    }
    activation = options.choice("FusedActivationFunction", "ActivationFunctionType")
    if activation != "NONE":
        call.warn(f"the fused activation {activation} is ignored")
    ends = options.activation(output)
    own = f"tflm_transpose_conv_{suffix}"
    call.record_build("transpose_conv_activation", own, {**params, **ends}, data, rows)
    if suffix == "s16":
        call.put(own, params, [x], output, data, rows)
    else:
        fault = find_short_scratch(params)
        if fault:
            call.warn(fault)
        call.record_build("transpose_conv_rows", own, params, data, rows)
        call.put("arm_transpose_conv_wrapper_s8", {**params, **offsets}, [x], output, data, rows)


WINDOWS: dict[str, Converter] = {
    "CONV_2D": convolve,
    "DEPTHWISE_CONV_2D": depthwise,
    "AVERAGE_POOL_2D": partial(pool, kind="arm_avgpool"),
    "TRANSPOSE_CONV": transpose_conv,
    "MAX_POOL_2D": partial(pool, kind="arm_max_pool"),
}
