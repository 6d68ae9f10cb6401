"""Fully connected layers, and products of matrices."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ..arguments import moves, sides
from .building import Value
from .call import SUFFIXES, Call, Converter, Options, same_type
from .reading import FileTensor
from .scaling import multiplier, multipliers
from .shaping import expect
from .windows import bias, filter_scales, misread, weighted


def fully_connected(call: Call) -> None:
    """FULLY_CONNECTED: rows of the input times a matrix [out, in].

    With more than two axes, and a multiple of 4 as columns of int8, the framework computes it as a
    convolution of 1 x 1.
    """
    call.counts(2, 3)
    options, x, output = call.options("FullyConnectedOptions"), call.value(), call.output()
    if call.tensor(1).data is None:
        _computed(call, options, x, output)
        return
    weights, data, suffix = weighted(call, same_type(x, output))
    rows, columns = _sides(options, weights, x, output)
    zero = _zero_point(weights, suffix)
    params = {
        **{"batches": x.size // columns, "input_c": columns, "output_c": rows},
        **{"input_offset": -x.zero, "filter_offset": -zero, "output_offset": output.zero},
        **options.activation(output),
    }
    values = bias(call, 2, SUFFIXES[x.dtype], rows, "INT32")
    if values is None:
        values = np.zeros(rows, np.int32 if x.dtype == "int8" else np.int64)
    as_points = suffix == "s8" and len(output.shape) > 2 and columns % 4 == 0
    scales = filter_scales(weights, 0, zeros=True)
    if len(weights.scales) > 1:
        if suffix != "s8":
            raise ModelError(
                f"its weights have a scale for each channel; with {x.dtype} they must have one "
                "for all"
            )
        pairs = multipliers(x.scale * float(scale) / output.scale for scale in scales)
    else:
        scale = float(scales[0])
        if call.given(2):
            _check_bias(call.tensor(2), x.scale * scale, output)
        product = float(np.float32(x.scale) * np.float32(scale))  # in float32, unlike convolutions
        pairs = np.repeat(multipliers([product / output.scale]), rows, axis=1)
        if as_points:
            call.warn(_STOPS)
        if as_points and zero:
            call.warn(f"the zero point of its weights, {zero}, is not looked at")
    channels = np.stack([values, *pairs])
    if len(weights.scales) > 1:
        as_rows: _Called = ("arm_fully_connected_per_channel_s8", params, data, channels)
    else:
        pair = dict(zip(("multiplier", "shift"), map(int, pairs[:, 0])))
        as_rows = (f"arm_fully_connected_{suffix}", {**params, **pair}, data, values)
    function, own, *arrays = as_rows
    if as_points:
        call.otherwise("dense_rows", *as_rows)
        function, own, arrays = "arm_convolve_1x1_s8_fast", _points(params), [data, channels]
    if suffix == "s16" and values.dtype == np.int32:
        function = _NARROW
        why = f'{misread(call.tensor(2))}, or choose kernels="reference"'
        call.refused("dense_16x8_bias32", why)
    elif suffix == "s16" and not call.given(2):
        call.otherwise("dense_16x8_narrow", _NARROW, own, data, values.astype(np.int32))
    call.put(function, own, [x], output, arrays[0], arrays[1])


def _sides(options: Options, weights: FileTensor, x: Value, output: Value) -> tuple[int, int]:
    """Rows and columns of the matrix, which must fit what it reads and makes."""
    form = options.choice("WeightsFormat", "FullyConnectedOptionsWeightsFormat")
    if form != "DEFAULT":
        raise ModelError(f"its weights are stored as {form}; only DEFAULT is supported")
    if len(weights.shape) != 2 or min(weights.shape) < 1:
        raise ModelError(f"its weights, {weights}, must be [out, in], not {list(weights.shape)}")
    rows, columns = weights.shape
    if x.size % columns or output.size != x.size // columns * rows:
        raise ModelError(
            f"its weights {list(weights.shape)} do not fit its input {list(x.shape)} and its "
            f"output {list(output.shape)}"
        )
    return rows, columns


def _zero_point(weights: FileTensor, suffix: str) -> int:
    """What stands for 0 in weights; of 8 bits and with one scale it may be any number."""
    zero = int(weights.zeros[0]) if len(weights.zeros) == 1 else int(weights.zeros.any())
    if zero and (suffix != "s8" or len(weights.zeros) != 1 or not -128 <= zero <= 127):
        raise ModelError(f"its weights, {weights}, have zero points other than 0")
    return zero


def _computed(call: Call, options: Options, x: Value, output: Value) -> None:
    """A layer whose weights are computed: a product of two matrices, one of them transposed."""
    weights, y = call.tensor(1), call.value(1)
    rows, columns = _sides(options, weights, x, output)
    if same_type(x, y, output) != "s8":
        raise ModelError(f"its weights are computed, which {x.dtype} is not supported with")
    if call.given(2) and call.constant(2, "INT32")[1].any():
        raise ModelError("its weights are computed; then it must have no bias but zeros")
    count = x.size // columns
    if len(output.shape) > 2 and columns % 4 == 0 and y.zero:
        why = f"the zero point of its weights, {y.zero}, is not looked at; kernels='reference' has"
        call.refused("dense_points_zero", f"{why} it")
    product = float(np.float32(x.scale) * np.float32(y.scale))
    pair = dict(zip(("multiplier", "shift"), multiplier(product / output.scale)))
    params = {
        **{**sides("lhs", (count, columns)), **sides("rhs", (rows, columns)), **pair},
        **{"lhs_offset": -x.zero, "rhs_offset": -y.zero, "output_offset": output.zero},
        **{"adj_x": 0, "adj_y": 1, **options.activation(output)},
    }
    call.put("arm_batch_matmul_s8", params, [x, y], output)


#: Of 16 bits, with a bias and sums of 32.
_NARROW = "tflm_fully_connected_s16_s32"

#: Function, scalar arguments, weights and bias of a call.
_Called = tuple[str, dict[str, int], np.ndarray, np.ndarray]


#: Of weights with one scale that are computed as a convolution.
_STOPS = (
    "the default build of TensorFlow Lite Micro stops here unless four scratch buffers were asked "
    "for before, as it checks that a buffer's number is at least 4; a build with NDEBUG computes it"
)


def _points(params: dict[str, int]) -> dict[str, int]:
    """A layer on rows as a convolution of an image of so many pixels."""
    ones = dict.fromkeys(("input", "output", "filter", "stride", "dilation"), 1)
    windows = {f"{name}_{axis}": n for axis in "hw" for name, n in {**ones, "pad": 0}.items()}
    height = {"input_h": params["batches"], "output_h": params["batches"]}
    kept = {name: n for name, n in params.items() if name != "filter_offset"}
    return {**kept, **windows, **height, "batches": 1, "filter_c": params["input_c"]}


def _check_bias(tensor: FileTensor, product: float, output: Value) -> None:
    """TensorFlow Lite Micro refuses a bias that is in other steps than the products."""
    if len(tensor.scales) == 1 and abs(product - float(tensor.scales[0])) / output.scale > 0.02:
        raise ModelError(
            f"its bias, {tensor}, has the scale {tensor.scales[0]:g}, but its products have the "
            f"scale {product:g}"
        )


def batch_matmul(call: Call) -> None:
    """BATCH_MATMUL of two tensors, either of which may be a constant, and transposed."""
    call.counts(2, 2)
    options, output = call.options("BatchMatMulOptions"), call.output()
    flags = {"adj_x": options.flag("AdjX"), "adj_y": options.flag("AdjY")}
    for at in (0, 1):
        shape = call.tensor(at).shape
        if not 2 <= len(shape) <= 4 or min(shape) < 1:
            raise ModelError(f"its input {list(shape)} must have 2 to 4 axes")
    x, y = _matrices(call, 0, flags["adj_x"]), _matrices(call, 1, not flags["adj_y"])
    left, right = ((1,) * (4 - len(v.shape)) + v.shape for v in (x, y))
    outer = tuple(map(max, zip(left[:2], right[:2])))
    whole = (*outer, left[2], right[2])
    fits = all(1 in pair or pair[0] == pair[1] for pair in zip(left[:2], right[:2]))
    if left[3] != right[3] or not fits:
        shapes = " and ".join(str(list(call.tensor(at).shape)) for at in (0, 1))
        raise ModelError(f"{shapes} cannot be multiplied")
    expect(output, whole[4 - max(len(x.shape), len(y.shape)) :])
    suffix, limits = same_type(x, y, output), np.iinfo(output.dtype)
    product = float(np.float32(x.scale) * np.float32(y.scale))
    factor, shift = multiplier(product / output.scale)
    params = {
        **sides("lhs", left),
        **sides("rhs", right),
        **{name: int(flag) for name, flag in flags.items()},
        **{"lhs_offset": -x.zero, "rhs_offset": -y.zero, "output_offset": output.zero},
        **{"act_min": int(limits.min), "act_max": int(limits.max)},
        **{"multiplier": factor, "shift": shift},
    }
    call.put(f"arm_batch_matmul_{suffix}", params, [x, y], output)


def _matrices(call: Call, index: int, swap: bool) -> Value:
    """An operand; swap: with rows and columns swapped."""
    tensor = call.tensor(index)
    if not swap:
        return call.brought(index)
    *outer, rows, columns = tensor.shape
    if tensor.data is not None:
        value = call.described(index)
        like, data = replace(value, shape=(*outer, columns, rows)), tensor.data.swapaxes(-1, -2)
        function = f"tflm_constant_{SUFFIXES[value.dtype]}"
        return call.part("swapped", like, function, {"length": value.size}, [], data.reshape(-1))
    value = call.value(index)
    params = moves((math.prod(outer), rows, columns), (0, 2, 1))
    like = replace(value, shape=(*outer, columns, rows))
    return call.part("swapped", like, f"tflm_transpose_{SUFFIXES[value.dtype]}", params, [value])


DENSE: dict[str, Converter] = {"FULLY_CONNECTED": fully_connected, "BATCH_MATMUL": batch_matmul}
