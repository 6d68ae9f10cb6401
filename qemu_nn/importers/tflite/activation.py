"""Activation functions of one tensor, element by element or row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions import FUNCTIONS
from ...functions.scaling import (
    scale_leaky_relu,
    scale_logistic,
    scale_logistic_s16,
    scale_softmax,
    scale_softmax_s16,
)
from ...functions.softmax_tables import make_exp_lut, make_one_by_one_lut
from .broadcast import check_broadcast, count_rows, read_unary
from .building import TfliteValue
from .call import SUFFIXES, Converter, TfliteCall, adopt_format, check_same_type
from .scaling import activation_range, multiplier

#: Tolerance for the logarithm of the scale of a 16-bit LOGISTIC or TANH output.
_LOG2_TOLERANCE = 1e-3

#: Relative tolerance for the scale of a 16-bit SOFTMAX output; its kernel ignores the scale.
_SCALE_TOLERANCE = float(np.float32(0.001))


def _check_fixed_format(output: TfliteValue, function: str, near: float = 0.0) -> None:
    """Raise ModelError if the output's format differs from the function's fixed format."""
    form = FUNCTIONS[function].makes
    assert form is not None  # all callers name a function with a fixed format
    if abs(output.scale - form[0]) > near * form[0] or output.zero != form[1]:
        raise ModelError(
            f"its output has the scale {output.scale:g} and the zero point {output.zero}; it must "
            f"have {form[0]:g} and {form[1]}"
        )


def softmax(call: TfliteCall) -> None:
    """Convert SOFTMAX over the last axis."""
    x, output = read_unary(call)
    options = call.read_options("SoftmaxOptions")
    options.require()
    beta = options.number("Beta")
    kind = "_".join(dict.fromkeys(SUFFIXES[value.dtype] for value in (x, output)))
    function = f"arm_softmax_{kind}"
    if function not in FUNCTIONS:
        raise ModelError(f"it does not support an input {x.dtype} with an output {output.dtype}")
    _check_fixed_format(output, function, _SCALE_TOLERANCE if output.dtype == "int16" else 0.0)
    if not beta > 0:
        raise ModelError(f"its beta is {beta}; it must be positive")
    rows = count_rows(x)
    if kind == "s16":
        mult, shift = scale_softmax_s16(beta, x.scale)
        tables = make_exp_lut(), make_one_by_one_lut()
        if rows["row_size"] == 1:  # 1.0 is 32767 there; CMSIS-NN stores 32768 in 16 bits
            ones = np.full_like(tables[0], 32767), np.full_like(tables[1], 1 << 14)
            own = {**rows, "mult": mult, "shift": shift}
            call.record_build("softmax_16_alone", function, own, *ones)
        call.put(function, {**rows, "mult": mult, "shift": shift}, [x], output, *tables)
        return
    mult, shift, least = scale_softmax(beta, x.scale)
    params = {**rows, "mult": mult, "shift": shift, "diff_min": least}
    second = (*call.tensor(0).shape, 0)[1]
    if kind == "s8" and second < rows["row_size"]:
        call.record_build("esp_softmax_scratch", function, params)
    call.put(function, params, [x], output)


def _check_lookup_output(output: TfliteValue, kind: str) -> None:
    """Raise ModelError for a format that the framework refuses; it ignores all others."""
    if output.dtype == "int8":
        if kind == "logistic" and output.zero != -128:
            raise ModelError(f"its output has the zero point {output.zero}; it must have -128")
    elif output.zero or abs(math.log2(output.scale) + 15) >= _LOG2_TOLERANCE:
        raise ModelError(
            f"its output has the scale {output.scale:g} and the zero point {output.zero}; it must "
            f"have {2**-15:g} and 0"
        )


def lookup(call: TfliteCall, kind: str) -> None:
    """Convert LOGISTIC and TANH."""
    x, output = read_unary(call)
    suffix = check_same_type(x, output)
    function = f"tflm_{kind}_{suffix}"
    if function not in FUNCTIONS:
        raise ModelError(f"it does not support {x.dtype}")
    _check_lookup_output(output, kind)
    names = ("input_multiplier", "input_left_shift", "input_range_radius")
    if suffix == "s8":
        params = {"input_zero_point": x.zero, **dict(zip(names, scale_logistic(x.scale)))}
    else:
        params = dict(zip(names, scale_logistic_s16(x.scale, kind == "tanh")))
    call.put(function, {"length": x.size, **params}, [x], output)


def requantize(call: TfliteCall) -> None:
    """Convert QUANTIZE between two integer formats."""
    x, output = read_unary(call)
    types = f"{SUFFIXES[x.dtype]}_{SUFFIXES[output.dtype]}"
    call.put(f"tflm_requantize_{types}", _rescale_params(x, output), [x], output)


def _rescale_params(x: TfliteValue, output: TfliteValue) -> dict[str, int]:
    factor, shift = multiplier(x.scale / output.scale)
    zeros = {"input_zero_point": x.zero, "output_zero_point": output.zero}
    return {"length": x.size, **zeros, "multiplier": factor, "shift": shift}


def relu(call: TfliteCall, kind: str) -> None:
    """Convert RELU and RELU6 that are separate operators."""
    x, output = read_unary(call)
    suffix = check_same_type(x, output)
    form = output
    if kind == "RELU6":  # its kernel only clamps, in the input's format
        adopt_format(call, x, output)
        form = x
    low, high = activation_range(kind, form.scale, form.zero, form.dtype)
    params = {**_rescale_params(x, form), "act_min": low, "act_max": high}
    call.put(f"tflm_relu_{suffix}", params, [x], output)


def leaky_relu(call: TfliteCall) -> None:
    """Convert LEAKY_RELU."""
    x, output = read_unary(call)
    alpha = call.read_options("LeakyReluOptions").number("Alpha")
    function = f"tflm_leaky_relu_{check_same_type(x, output)}"
    if alpha < 0:
        why = "before April 2026 TensorFlow Lite Micro supports no negative slopes"
        call.reject("leaky_negative", f"its slope is {alpha:g}; {why}")
    call.record_build(
        "leaky_ratios_2026", function, _leaky_relu_params(x, output, alpha, np.float64)
    )
    call.put(function, _leaky_relu_params(x, output, alpha, np.float32), [x], output)


def _leaky_relu_params(
    x: TfliteValue, output: TfliteValue, alpha: float, real: type[np.floating]
) -> dict[str, int]:
    params = {"length": x.size, "input_zero_point": x.zero, "output_zero_point": output.zero}
    with np.errstate(all="ignore"):
        pairs = scale_leaky_relu(x.scale, output.scale, alpha, real)
    for name, (factor, shift) in zip(("identity", "alpha"), pairs):
        params.update({f"{name}_multiplier": factor, f"{name}_shift": shift})
    return params


def prelu(call: TfliteCall) -> None:
    """Convert PRELU with int8 slopes, a constant or a computed tensor that broadcasts."""
    call.check_counts(2, 2)
    output, slopes = call.output(), call.describe(1)
    check_broadcast(call, 2, output)
    if slopes.dtype != "int8":
        raise ModelError(f"its slopes are {slopes.dtype}; they must be int8")
    function = call.function({each: f"tflm_prelu_{each}" for each in ("s8", "s16")}, output)
    x, held = call.value(0), _constant_slopes(call, output)
    check_same_type(x, output)
    inner = output.size if held is None else held.size
    params = {"outer": output.size // inner, "inner": inner}
    params.update(input_zero_point=x.zero, output_zero_point=output.zero)
    params["alpha_zero_point"] = slopes.zero
    scales = (("identity", x.scale), ("alpha", x.scale * slopes.scale))
    for name, scale in scales:
        factor, shift = multiplier(scale / output.scale)
        params.update({f"{name}_multiplier": factor, f"{name}_shift": shift})
    inputs = [call.spread(x, output)]
    if held is None:
        function = function.replace("prelu", "prelu_tensor")
        inputs.append(call.operand(1, output))
    call.put(function, params, inputs, output, held)


def _constant_slopes(call: TfliteCall, output: TfliteValue) -> Optional[np.ndarray]:
    """Return constant slopes broadcast over the trailing axes that they span, else None."""
    tensor = call.tensor(1)
    if tensor.data is None or call.builder.has(tensor.index):
        return None
    own = tensor.data.reshape(tensor.shape[_leading_ones(tensor.shape) :])
    return np.broadcast_to(own, output.shape[len(output.shape) - own.ndim :]).reshape(-1)


def _leading_ones(shape: Sequence[int]) -> int:
    return next((i for i, side in enumerate(shape) if side != 1), len(shape))


ACTIVATIONS: dict[str, Converter] = {
    "SOFTMAX": softmax,
    "LOGISTIC": partial(lookup, kind="logistic"),
    "TANH": partial(lookup, kind="tanh"),
    "RELU": partial(relu, kind="RELU"),
    "RELU6": partial(relu, kind="RELU6"),
    "LEAKY_RELU": leaky_relu,
    "PRELU": prelu,
    "QUANTIZE": requantize,
}
