"""Element-wise and row-wise operators without a function in CMSIS-NN."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError
from ...functions.scaling import (
    compute_rsqrt_factor,
    log_softmax_scaling,
    quantize_multiplier,
    scale_hard_swish,
    scale_squared_difference,
)
from ...functions.tflm_tables import make_elu_table
from .broadcast import count_rows, read_operands, read_unary
from .building import TfliteValue
from .call import Converter, TfliteCall, check_same_type
from .scaling import multiplier
from .tflm_answers import refuse

#: Maximum inputs of ADD_N: their sum fits into 32 bits.
_ADDED = 15


def _check_suffix(call: TfliteCall, value: TfliteValue, *suffixes: str) -> str:
    """Return a tensor's type suffix; it must be one that TensorFlow Lite Micro supports."""
    return call.function({suffix: suffix for suffix in suffixes}, value)


def _zero_points(x: TfliteValue, output: TfliteValue) -> dict[str, int]:
    return {"input_zero_point": x.zero, "output_zero_point": output.zero}


def hard_swish(call: TfliteCall) -> None:
    """Convert HARD_SWISH."""
    x, output = read_unary(call)
    check_same_type(x, output)
    _check_suffix(call, x, "s8")
    scales = scale_hard_swish(x.scale, output.scale)
    if scales["reluish_shift"] > 30:
        raise ModelError(
            f"the scale of its input is {x.scale:g}; the kernel's shift would exceed 30: "
            "requantize the input with a smaller scale"
        )
    params = {"length": x.size, **_zero_points(x, output), **scales}
    call.put("tflm_hard_swish_s8", params, [x], output)


def elu(call: TfliteCall) -> None:
    """Convert ELU to a lookup table."""
    x, output = read_unary(call)
    check_same_type(x, output)
    _check_suffix(call, x, "s8")
    table, unsure = make_elu_table(x.scale, x.zero, output.scale, output.zero)
    if unsure:
        call.warn(f"{unsure} of the 256 results depend on the last bit of the C library's expf()")
    call.put("tflm_elu_s8", {"length": x.size}, [x], output, table)


def log_softmax(call: TfliteCall) -> None:
    """Convert LOG_SOFTMAX over the last axis."""
    x, output = read_unary(call)
    check_same_type(x, output)
    _check_suffix(call, x, "s8")
    if (output.scale, output.zero) != (1 / 16, 127):
        raise ModelError(
            f"its output has the scale {output.scale:g} and the zero point {output.zero}; it must "
            "have 0.0625 and 127"
        )
    call.put("tflm_log_softmax_s8", {**count_rows(x), **log_softmax_scaling(x.scale)}, [x], output)


def l2_normalization(call: TfliteCall) -> None:
    """Convert L2_NORMALIZATION over the last axis; the kernel's output scale is always 1/128."""
    x, output = read_unary(call)
    check_same_type(x, output)
    _check_suffix(call, x, "s8")
    kind = call.read_options("L2NormOptions").choice(
        "FusedActivationFunction", "ActivationFunctionType"
    )
    if kind != "NONE":
        raise ModelError(f"its fused activation is {kind}; TensorFlow Lite Micro requires NONE")
    if len(x.shape) > 4:
        raise ModelError(f"its input is {list(x.shape)}; it must have up to 4 axes")
    params = {**count_rows(x), "input_zero_point": x.zero}
    call.put("tflm_l2_normalization_s8", params, [x], output)


def absolute(call: TfliteCall) -> None:
    """Convert ABS; the quotient of the scales is float32."""
    x, output = read_unary(call)
    suffix = check_same_type(x, output)
    _check_suffix(call, x, "s8", "s16")
    factor, shift = multiplier(float(np.float32(x.scale) / np.float32(output.scale)))
    params = {"length": x.size, **_zero_points(x, output), "multiplier": factor, "shift": shift}
    call.put(f"tflm_abs_{suffix}", params, [x], output)


def inverse_root(call: TfliteCall) -> None:
    """Convert RSQRT."""
    x, output = read_unary(call)
    suffix = check_same_type(x, output)
    _check_suffix(call, x, "s8", "s16")
    factor, shift = multiplier(compute_rsqrt_factor(x.scale, output.scale))
    if shift < -11:
        raise ModelError(
            "its scales give a factor below 2^-12; the device stops at such a factor: give its "
            "output a smaller scale"
        )
    params = {"length": x.size, **_zero_points(x, output), "multiplier": factor, "shift": shift}
    call.put(f"tflm_rsqrt_{suffix}", params, [x], output)


def squared_difference(call: TfliteCall) -> None:
    """Convert SQUARED_DIFFERENCE."""
    first, second, output = read_operands(call)
    suffix = check_same_type(first, second, output)
    _check_suffix(call, output, "s8", "s16")
    scales = scale_squared_difference(
        first.scale, second.scale, output.scale, {"s8": 7, "s16": 0}[suffix]
    )
    if scales["out_shift"] > 30:
        raise ModelError(
            f"its output's scale is {output.scale:g}; the kernel's shift would exceed 30: give its "
            "output a larger scale"
        )
    limits = np.iinfo(output.dtype)
    params = {
        **{"input_1_offset": -first.zero, "input_2_offset": -second.zero},
        **{"out_offset": output.zero, "block_size": output.size, **scales},
        **{"act_min": int(limits.min), "act_max": int(limits.max)},
    }
    call.put(f"tflm_squared_difference_{suffix}", params, [first, second], output)


def add_n(call: TfliteCall) -> None:
    """Convert ADD_N: concatenate the inputs, then sum over the new axis."""
    count = len(call.operator.inputs)
    call.check_counts(2, _ADDED)
    output = call.output(0, "FLOAT32")
    values = [call.value(index, "FLOAT32") for index in range(count)]
    suffix = check_same_type(*values, output)
    _check_suffix(call, output, "s8", "f32")
    first = values[0]
    for value in values:
        if (value.shape, value.scale, value.zero) != (output.shape, first.scale, first.zero):
            said = (
                f"its inputs are {first.tensor.spelled} {list(first.shape)} and "
                f"{value.tensor.spelled} {list(value.shape)}; all must have one format and the "
                f"output's shape {list(output.shape)}"
            )
            raise ModelError(
                refuse(said, "input_tensor_first->params.scale == input->params.scale")
            )
    whole = first
    for at, value in enumerate(values[1:], 1):
        sizes = {"outer": 1, "inner1": at * output.size, "inner2": output.size}
        stacked = TfliteValue(
            first.name, (at + 1, output.size), first.dtype, first.scale, first.zero
        )
        whole = call.add_part(
            "joined", stacked, f"tflm_concatenation_{suffix}", sizes, [whole, value]
        )
    if suffix == "f32":
        axes = {"kept_0": 1, "reduced_0": count, "kept_1": 1, "reduced_1": 1}
        call.put("tflm_sum_f32", {**axes, "kept_2": output.size}, [whole], output)
        return
    factor, shift = quantize_multiplier(2 * first.scale / (2**20 * output.scale))
    params = {"count": count, "length": output.size, **_zero_points(first, output)}
    call.put("tflm_add_n_s8", {**params, "multiplier": factor, "shift": shift}, [whole], output)


ELEMENTWISE: dict[str, Converter] = {
    "HARD_SWISH": hard_swish,
    "ELU": elu,
    "LOG_SOFTMAX": log_softmax,
    "L2_NORMALIZATION": l2_normalization,
    "ABS": absolute,
    "RSQRT": inverse_root,
    "SQUARED_DIFFERENCE": squared_difference,
    "ADD_N": add_n,
}
