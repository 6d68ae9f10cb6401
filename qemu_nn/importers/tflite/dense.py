"""Fully connected layers and matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from ..arguments import moves, sides
from .building import TfliteValue
from .call import SUFFIXES, Converter, Options, TfliteCall, check_same_type
from .parser import TfliteTensor
from .scaling import multiplier, multipliers
from .shaping import bring, check_shape
from .tflm_answers import refuse
from .windows import explain_bias32, filter_scales, narrow_build, read_bias, read_weights


def fully_connected(call: TfliteCall) -> None:
    """Convert FULLY_CONNECTED: rows of the input times a matrix [out, in].

    If an int8 output has more than two axes and `in` is a multiple of 4, the framework calls a
    1 x 1 convolution.
    """
    call.check_counts(2, 3)
    options, x, output = call.read_options("FullyConnectedOptions"), call.value(), call.output()
    if any(call.has_input(at) and call.tensor(at).data is None for at in (1, 2)):
        _put_computed(call, options, x, output)
        return
    weights, data, suffix = read_weights(call, check_same_type(x, output))
    rows, depth = _check_shapes(options, weights, x, output)
    params = _params(options, x, output, weights, _zero_point(weights, suffix))
    values = read_bias(call, 2, SUFFIXES[x.dtype], rows, "INT32")
    if values is None:
        values = np.zeros(rows, np.int32 if x.dtype == "int8" else np.int64)
    scales = filter_scales(weights, 0, zeros=True)
    if len(weights.scales) > 1:
        if suffix == "s4":
            raise ModelError(
                "its 4-bit weights have one scale per channel; they must have one scale in all"
            )
        pairs = multipliers(x.scale * float(scale) / output.scale for scale in scales)
        channels = np.stack([values, *pairs])
        as_rows: _Called = ("arm_fully_connected_per_channel_s8", params, data, channels)
    else:
        pair = _scale_multiplier(call, x.scale, float(scales[0]), output)
        as_rows = (f"arm_fully_connected_{suffix}", {**params, **pair}, data, values)
        columns = np.array([[number] for number in pair.values()], np.int32)
        channels = np.stack([values, *np.repeat(columns, rows, axis=1)])
    if suffix == "s16":
        _put_16_bit(call, options, as_rows, channels, (x, output))
    elif suffix == "s8" and len(output.shape) > 2 and depth % 4 == 0:
        _put_pointwise(call, as_rows, channels, (x, output))
    else:
        function, own, *arrays = as_rows
        call.put(function, own, [x], output, arrays[0], arrays[1])


def _params(
    options: Options, x: TfliteValue, output: TfliteValue, weights: TfliteTensor, zero: int
) -> dict[str, int]:
    """Return sizes, offsets and limits; `zero` is the zero point of the weights."""
    rows, columns = weights.shape
    return {
        **{"batches": x.size // columns, "input_c": columns, "output_c": rows},
        **{"input_offset": -x.zero, "filter_offset": -zero, "output_offset": output.zero},
        **options.activation(output),
    }


def _scale_multiplier(
    call: TfliteCall, scale: float, own: float, output: TfliteValue
) -> dict[str, int]:
    """Return multiplier and shift for weights with one scale.

    The product of the scales is float32; that of a convolution is float64.
    """
    if call.has_input(2):
        _check_bias(call.tensor(2), scale * own, output)
    product = float(np.float32(scale) * np.float32(own))
    return dict(zip(("multiplier", "shift"), multiplier(product / output.scale)))


def _put_pointwise(call: TfliteCall, as_rows: _Called, channels: np.ndarray, ends: _Ends) -> None:
    """Add an int8 layer with more than two axes as a 1 x 1 convolution of CMSIS-NN."""
    params, data = as_rows[1:3]
    zero = -params["filter_offset"]
    if len(call.tensor(1).scales) == 1:
        call.warn(_STOPS)
        if zero:
            call.warn(f"the zero point of its weights, {zero}, is ignored")
    call.record_build("dense_rows", *as_rows)
    points = {
        name: n
        for name, n in _pointwise_params(params).items()
        if name not in ("multiplier", "shift")
    }
    call.put("arm_convolve_1x1_s8_fast", points, ends[:1], ends[1], data, channels)


def _put_16_bit(
    call: TfliteCall, options: Options, as_rows: _Called, channels: np.ndarray, ends: _Ends
) -> None:
    """Add a 16-bit layer; with one scale per channel it becomes a convolution of one pixel.

    Accumulators have 32 bits if the bias has 32 bits, and in some builds if there is no bias.
    """
    (x, output), (function, params, data, values) = ends, as_rows
    narrow, short, own = _NARROW, values.astype(np.int32), params
    short_own = own
    if len(call.tensor(1).scales) > 1:
        function = narrow = "tflm_convolve_s16"
        values = short = channels.astype(np.int64)
        own, short_own = ({**_pointwise_params(params), "bias_is_int32": flag} for flag in (0, 1))
        call.reject("dense_16x8_channels", _ONE_SCALE)
    if not call.has_input(2):
        call.record_build(narrow_build(call, options), narrow, short_own, data, short)
    elif call.tensor(2).type == "INT32":
        call.reject("dense_16x8_bias32", _explain_bias32(call))
        function, own, values = narrow, short_own, short
    call.put(function, own, [x], output, data, values)


def _explain_bias32(call: TfliteCall) -> str:
    return f'{explain_bias32(call.tensor(2))}, or choose kernels="reference"'


def _check_shapes(
    options: Options, weights: TfliteTensor, x: TfliteValue, output: TfliteValue
) -> tuple[int, int]:
    """Return rows and columns of the weights; check that they match input and output."""
    form = options.choice("WeightsFormat", "FullyConnectedOptionsWeightsFormat")
    if form != "DEFAULT":
        raise ModelError(f"its weights are stored as {form}; they must be stored as DEFAULT")
    if len(weights.shape) != 2 or min(weights.shape) < 1:
        raise ModelError(
            f"its weights, {weights}, are {list(weights.shape)}; they must be [out, in]"
        )
    rows, columns = weights.shape
    if x.size % columns or output.size != x.size // columns * rows:
        raise ModelError(
            f"its weights are {list(weights.shape)}, its input {list(x.shape)} and its output "
            f"{list(output.shape)}; they must be [out, in], [..., in] and [..., out]"
        )
    return rows, columns


def _zero_point(weights: TfliteTensor, suffix: str) -> int:
    """Return the zero point of the weights; with int8 weights of one scale it may differ from 0."""
    zero = int(weights.zeros[0]) if len(weights.zeros) == 1 else int(weights.zeros.any())
    if zero and (suffix != "s8" or len(weights.zeros) != 1 or not -128 <= zero <= 127):
        raise ModelError(f"its weights, {weights}, have zero points; they must be 0")
    return zero


def _put_computed(call: TfliteCall, options: Options, x: TfliteValue, output: TfliteValue) -> None:
    """Add a layer with computed weights or bias.

    An int8 layer without bias is a matrix product with the transposed weights.
    """
    weights, y = call.tensor(1), call.value(1)
    rows, columns = _check_shapes(options, weights, x, output)
    suffix = check_same_type(x, output)
    if y.dtype != "int8":
        raise ModelError(f"its weights, {weights}, are {y.dtype}; they must be int8")
    if suffix == "s16" and y.zero:
        raise ModelError(f"its weights, {weights}, have the zero point {y.zero}; it must be 0")
    added = _bring_bias(call, suffix, replace(output, shape=(rows,)))
    params = {
        **_params(options, x, output, weights, y.zero),
        **_scale_multiplier(call, x.scale, y.scale, output),
    }
    if suffix == "s8" and len(output.shape) > 2 and columns % 4 == 0:
        if y.zero:
            call.reject(
                "dense_points_zero",
                f"the zero point of its weights, {y.zero}, is ignored; choose kernels='reference'",
            )
        call.warn(_STOPS)
    if added is None:
        offsets = {"lhs_offset": -x.zero, "rhs_offset": -y.zero}
        whole = {**sides("lhs", (x.size // columns, columns)), **sides("rhs", (rows, columns))}
        kept = ("output_offset", "act_min", "act_max", "multiplier", "shift")
        own = {**whole, **offsets, "adj_x": 0, "adj_y": 1, **{name: params[name] for name in kept}}
        call.put("arm_batch_matmul_s8", own, [x, y], output)
        return
    if added.dtype == "int32" and suffix == "s16":
        call.reject("dense_16x8_bias32", _explain_bias32(call))
        suffix = "s16_s32"
    elif suffix == "s16" and not call.has_input(2):
        call.reject(narrow_build(call, options), _NO_SHORT_SUMS)
    call.put(f"tflm_fully_connected_tensor_{suffix}", params, [x, y, added], output)


def _bring_bias(call: TfliteCall, suffix: str, like: TfliteValue) -> Optional[TfliteValue]:
    """Return the bias as a tensor; None if an int8 layer has no bias or zeros. like: its shape."""
    wide = replace(like, dtype="int64" if suffix == "s16" else "int32", scale=1.0, zero=0)
    if not call.has_input(2):
        return (
            bring(call, "bias", wide, np.zeros(wide.size, wide.dtype)) if suffix == "s16" else None
        )
    types = ("INT32", "INT64") if suffix == "s16" else ("INT32",)
    tensor = call.tensor(2)
    if tensor.type not in types or math.prod(tensor.shape) != wide.size:
        raise ModelError(
            f"its bias, {tensor}, is {tensor.type} {list(tensor.shape)}; it must be "
            f"{' or '.join(types)} [{wide.size}]"
        )
    if suffix == "s8" and tensor.data is not None and not tensor.data.any():
        return None
    return call.value(2, *types)


#: The function of 16-bit layers with 32-bit accumulators.
_NARROW = "tflm_fully_connected_s16_s32"

#: Error for 16-bit layers with one weight scale per channel.
_ONE_SCALE = (
    "its weights have one scale per channel; with 16-bit activations TensorFlow Lite Micro with "
    'CMSIS-NN requires one scale in all: requantize them, or choose kernels="reference"'
)

#: Error for 16-bit layers with computed weights in builds with 32-bit accumulators.
_NO_SHORT_SUMS = (
    "its weights are computed and it has no bias; this build's 32-bit accumulators are not "
    "supported: give it a bias"
)

#: Function, scalar arguments, weights and bias of a call; input and output of a call.
_Called = tuple[str, dict[str, int], np.ndarray, np.ndarray]
_Ends = tuple[TfliteValue, TfliteValue]


#: Warning for weights with one scale in a layer that is computed as a convolution.
_STOPS = (
    "the default build of TensorFlow Lite Micro stops here unless earlier operators requested four "
    "scratch buffers, because it asserts a buffer index of at least 4; a build with NDEBUG "
    "computes the layer"
)


def _pointwise_params(params: dict[str, int]) -> dict[str, int]:
    """Return the arguments of a convolution over an image with one pixel per row."""
    ones = dict.fromkeys(("input", "output", "filter", "stride", "dilation"), 1)
    windows = {f"{name}_{axis}": n for axis in "hw" for name, n in {**ones, "pad": 0}.items()}
    height = {"input_h": params["batches"], "output_h": params["batches"]}
    kept = {name: n for name, n in params.items() if name != "filter_offset"}
    return {**kept, **windows, **height, "batches": 1, "filter_c": params["input_c"]}


def _check_bias(tensor: TfliteTensor, product: float, output: TfliteValue) -> None:
    """Raise ModelError if the bias scale differs from the product of the scales.

    TensorFlow Lite Micro rejects a difference above 2 % of the output's scale.
    """
    scale = float(tensor.scales[0]) if len(tensor.scales) else 0.0
    if abs(product - scale) / output.scale > 0.02:
        said = (
            f"its bias, {tensor}, has the scale {scale:g}; it must have {product:g}, the product "
            "of the scales of input and weights"
        )
        raise ModelError(refuse(said, "scale_diff / output_scale <= 0.02 was not true."))


def broadcast_batch_axes(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """Return the broadcast batch axes of a matrix product: all axes before rows and columns."""
    for shape in (first, second):
        if len(shape) < 2 or min(shape) < 1:
            raise ModelError(f"its input is {list(shape)}; it must have rows and columns")
    try:
        return tuple(np.broadcast_shapes(tuple(first[:-2]), tuple(second[:-2])))
    except ValueError:
        raise ModelError(
            f"its inputs are {list(first)} and {list(second)}; their batch axes must broadcast"
        ) from None


def merge_batch_axes(
    call: TfliteCall, x: TfliteValue, y: TfliteValue, outer: tuple[int, ...]
) -> tuple[TfliteValue, TfliteValue]:
    """Return operands with at most four axes; merge the batch axes if there are more."""
    if len(outer) <= 2:
        return x, y
    wide = [replace(value, shape=(*outer, *value.shape[-2:])) for value in (x, y)]
    x, y = (call.spread(value, own) for value, own in zip((x, y), wide))
    for difference in ("matmul_axes", "matmul_axes_2026"):
        more = 'choose kernels="reference" with tflm="2026-10"'
        call.reject(difference, f"it has {len(outer) + 2} axes; the kernel takes up to 4: {more}")
    count = math.prod(outer)
    return replace(x, shape=(count, *x.shape[-2:])), replace(y, shape=(count, *y.shape[-2:]))


def batch_matmul(call: TfliteCall) -> None:
    """Convert BATCH_MATMUL of two tensors; each may be a constant, and transposed."""
    call.check_counts(2, 2)
    options, output = call.read_options("BatchMatMulOptions"), call.output()
    flags = {"adj_x": options.flag("AdjX"), "adj_y": options.flag("AdjY")}
    outer = broadcast_batch_axes(call.tensor(0).shape, call.tensor(1).shape)
    x, y = _read_matrix(call, 0, flags["adj_x"]), _read_matrix(call, 1, not flags["adj_y"])
    if x.shape[-1] != y.shape[-1]:
        shapes = " and ".join(str(list(call.tensor(at).shape)) for at in (0, 1))
        raise ModelError(
            f"its inputs {shapes} have {x.shape[-1]} columns and {y.shape[-1]} rows; both numbers "
            "must be equal"
        )
    check_shape(output, (*outer, x.shape[-2], y.shape[-2]))
    suffix, limits = check_same_type(x, y, output), np.iinfo(output.dtype)
    product = float(np.float32(x.scale) * np.float32(y.scale))
    factor, shift = multiplier(product / output.scale)
    x, y = merge_batch_axes(call, x, y, outer)
    params = {
        **sides("lhs", x.shape),
        **sides("rhs", y.shape),
        **{name: int(flag) for name, flag in flags.items()},
        **{"lhs_offset": -x.zero, "rhs_offset": -y.zero, "output_offset": output.zero},
        **{"act_min": int(limits.min), "act_max": int(limits.max)},
        **{"multiplier": factor, "shift": shift},
    }
    call.put(f"arm_batch_matmul_{suffix}", params, [x, y], output)


def _read_matrix(call: TfliteCall, index: int, swap: bool) -> TfliteValue:
    """Return an operand, transposed if `swap` is true."""
    tensor = call.tensor(index)
    if not swap:
        return call.value(index)
    *outer, rows, columns = tensor.shape
    if tensor.data is not None:
        value = call.describe(index)
        like, data = replace(value, shape=(*outer, columns, rows)), tensor.data.swapaxes(-1, -2)
        function = f"tflm_constant_{SUFFIXES[value.dtype]}"
        return call.add_part(
            "swapped", like, function, {"length": value.size}, [], data.reshape(-1)
        )
    value = call.value(index)
    params = moves((math.prod(outer), rows, columns), (0, 2, 1))
    like = replace(value, shape=(*outer, columns, rows))
    return call.add_part(
        "swapped", like, f"tflm_transpose_{SUFFIXES[value.dtype]}", params, [value]
    )


DENSE: dict[str, Converter] = {"FULLY_CONNECTED": fully_connected, "BATCH_MATMUL": batch_matmul}
