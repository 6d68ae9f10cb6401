"""Sums, differences, products, quotients, maxima and minima of two tensors that broadcast."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...errors import ModelError
from ...functions.s8_elementwise import LEFT_SHIFTS
from ...functions.scaling import add_scaling, div_factor, sub_scaling
from ..arguments import sides
from .broadcast import check_broadcast, read_operands
from .building import TfliteValue
from .call import Converter, TfliteCall, adopt_format, check_same_type
from .scaling import multiplier


def combine(call: TfliteCall, kind: str) -> None:
    """Convert ADD and SUB."""
    first, second, output = read_operands(call)
    options = call.read_options(f"{kind.capitalize()}Options")
    suffix = check_same_type(first, second, output)
    names = {("add", "s8"): "arm_elementwise_add_s8", ("add", "s16"): "arm_elementwise_add_s16"}
    scales = first.scale, second.scale, output.scale, LEFT_SHIFTS[suffix]
    params = {
        **{"input_1_offset": -first.zero, "input_2_offset": -second.zero},
        **{"out_offset": output.zero, "block_size": output.size},
        **options.activation(output),
    }
    function = names.get((kind, suffix), f"tflm_{kind}_{suffix}")
    own = params | (add_scaling(*scales) if kind == "add" else sub_scaling(*scales))
    if kind == "sub":
        for difference in ("sub_ratios_2022", "sub_ratios_2026"):
            call.record_build(difference, function, params | sub_scaling(*scales, np.float64))
    call.put(function, own, [first, second], output)


def multiply(call: TfliteCall) -> None:
    """Convert MUL."""
    first, second, output = read_operands(call)
    real = first.scale * second.scale / output.scale
    factor, shift = multiplier(real)
    params = {
        **{"input_1_offset": -first.zero, "input_2_offset": -second.zero},
        **{"out_offset": output.zero, "out_mult": factor, "out_shift": shift},
        **{"block_size": output.size},
        **call.read_options("MulOptions").activation(output),
    }
    function = f"arm_elementwise_mul_{check_same_type(first, second, output)}"
    if output.dtype == "int8" and call.tensor(0).shape != call.tensor(1).shape:
        call.record_build("esp_mul_broadcast", function, params)
    call.put(function, params, [first, second], output)


def divide(call: TfliteCall) -> None:
    """Convert DIV of int8."""
    first, second, output = read_operands(call)
    check_same_type(first, second, output)
    function = call.function({"s8": "tflm_div_s8"}, output)
    scales = first.scale, second.scale, output.scale
    factor, shift = multiplier(div_factor(*scales))
    _check_divisor(call, shift)
    params = {
        **{"length": output.size, "multiplier": factor, "shift": shift},
        **{"input_1_zero_point": first.zero, "input_2_zero_point": second.zero},
        **{"output_zero_point": output.zero},
        **call.read_options("DivOptions").activation(output),
    }
    factor, shift = multiplier(div_factor(*scales, np.float64))
    call.record_build("div_ratio_2026", function, params | {"multiplier": factor, "shift": shift})
    call.put(function, params, [first, second], output)


def _check_divisor(call: TfliteCall, shift: int) -> None:
    """Raise ModelError for a constant divisor at which the device aborts for every numerator.

    See csrc/s/elementwise/divide.h: the largest numerators have 23 redundant sign bits.
    """
    tensor = call.tensor(1)
    steps = np.array([1, 255])
    if tensor.data is not None:
        steps = np.abs(tensor.data.astype(int) - call.describe(1).zero)
    if not steps.all():
        raise ModelError("its divisor contains zeros; the device stops at these: remove them")
    most = int(steps.max() if tensor.data is not None else steps.min()).bit_length() - 1
    if shift - most - 23 < -31:
        raise ModelError(
            f"its scales shift quotients by {tensor} right by more than 31 bits for every "
            "numerator; the device stops at these: give its output a smaller scale"
        )


def choose(call: TfliteCall, kind: str) -> None:
    """Convert MAXIMUM and MINIMUM."""
    call.check_counts(2, 2)
    output = call.output()
    check_broadcast(call, 2, output)
    first, second = (_read_operand(call, index, output) for index in (0, 1))
    first, second = (adopt_format(call, value, output) for value in (first, second))
    function = call.function({"s8": f"arm_{kind}_s8", "s16": f"tflm_{kind}_s16"}, output)
    if output.dtype == "int16":
        call.put(function, {"length": output.size}, [first, second], output)
        return
    shape = output.shape
    if len(shape) > 4:
        call.reject(
            "choice_axes",
            f"its kernel with CMSIS-NN takes up to 4 axes and stops at {len(shape)}; choose "
            'kernels="reference"',
        )
        shape = (output.size,)
    params = {**sides("input1", shape), **sides("input2", shape)}
    call.put(function, params, [first, second], output)


def _read_operand(call: TfliteCall, index: int, output: TfliteValue) -> TfliteValue:
    """Return an operand in the output's shape, with the elements that the device reads.

    If the operand is [n, h, 1, 1] and the second operand has w > 1, CMSIS-NN advances by two
    elements per row (csrc/s/elementwise/minmax.h) and reads past the operand's end. The bytes after
    a constant are known, because the device reads it from the file.
    """
    tensor = call.tensor(index)
    if len(output.shape) > 4:
        return call.operand(index, output)
    (n, h, *rest), (*_, w, _) = (_as_four_axes(call.tensor(i).shape) for i in (index, 1 - index))
    if output.dtype != "int8" or h == 1 or rest != [1, 1] or w == 1:
        return call.operand(index, output)
    places = np.add.outer(np.arange(n) * h, 2 * np.arange(h))
    memory = call.builder.model.read_memory(tensor, int(places.max()) + 1)
    if memory is None:
        call.reject(
            "rows_astray",
            f"CMSIS-NN reads the rows 0, 2, 4, ... of {tensor}, {list(tensor.shape)}, and then "
            'unknown memory after it; choose kernels="reference", or give both operands the same '
            "width in the model",
        )
        return call.operand(index, output)
    call.warn(f"CMSIS-NN reads every second row of {tensor}, then the bytes after it in the file")
    params = {"length": places.size}
    own = call.constant(index, "INT8")[1].reshape(-1)
    call.record_build("rows_in_place", "tflm_constant_s8", params, own)
    read = memory.view(np.int8)[places].reshape(-1)
    rows = call.add_part("rows", call.describe(index), "tflm_constant_s8", params, [], read)
    return call.spread(rows, output)


def _as_four_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (4 - len(shape)) + shape


ARITHMETIC: dict[str, Converter] = {
    "ADD": partial(combine, kind="add"),
    "SUB": partial(combine, kind="sub"),
    "MUL": multiply,
    "DIV": divide,
    "MAXIMUM": partial(choose, kind="maximum"),
    "MINIMUM": partial(choose, kind="minimum"),
}
