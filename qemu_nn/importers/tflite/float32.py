"""Operators on floats and unscaled integers, between the quantized operators of a network."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Optional

from ...errors import ModelError
from ...functions import FUNCTIONS
from ...functions.tflm_float import ACTIVATED, ACTIVATIONS, COMPARE, UNARY, bits
from .broadcast import count_rows, read_operands
from .building import BARE, TfliteValue
from .call import SUFFIXES, Converter, Options, TfliteCall, check_same_type
from .dense import broadcast_batch_axes, merge_batch_axes
from .reducing import group_axes, read_axes
from .scaling import multiplier
from .shaping import check_shape
from .windows import image_shape, pool_params

#: The file's types without scale and zero point.
_WIDE = ("FLOAT32", "INT32", "INT64", "UINT32")

#: Types of CAST besides INT8, UINT8 and INT16.
_CAST = BARE

#: Functions that a device computes with its C library; here results are rounded to nearest.
_OF_A_LIBRARY = frozenset({"exp", "log", "sin", "cos", "elu", "logistic", "tanh"})

_LIBRARY = (
    "the device's C library computes {} of float32, and its last bit may differ; here the result "
    "is rounded to nearest"
)

_CONVERSION = "it converts {} to {}; TensorFlow Lite Micro does not support that"


def _is_real(call: TfliteCall) -> bool:
    """True if the first input or the first output has a type of _WIDE."""
    model, ends = call.builder.model, (*call.operator.inputs[:1], *call.operator.outputs[:1])
    return any(model.tensor(index).type in _WIDE for index in ends if index >= 0)


def add_float_converters(converters: Mapping[str, Converter]) -> dict[str, Converter]:
    """Return converters that select between this module and `converters` by the tensors' types."""
    return {
        name: partial(_select_converter, converters.get(name), real) for name, real in REAL.items()
    }


def _select_converter(quantized: Optional[Converter], real: Converter, call: TfliteCall) -> None:
    chosen = real if quantized is None or _is_real(call) else quantized
    chosen(call)


def _read_unary(call: TfliteCall, *types: str) -> tuple[TfliteValue, TfliteValue]:
    """Return input and output; both must have as many elements."""
    call.check_counts(1, 1)
    x, output = call.value(0, *types), call.output(0, *types)
    if x.size != output.size:
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(output.shape)}; both must have as "
            "many elements"
        )
    return x, output


def _find_function(call: TfliteCall, name: str, *values: TfliteValue) -> str:
    """Return the function of a name for the type that all values have."""
    function = f"tflm_{name}_{check_same_type(*values)}"
    if function not in FUNCTIONS:
        raise ModelError(f"it does not support {values[0].dtype}")
    return function


def _activation(options: Options) -> int:
    return ACTIVATIONS.index(options.fused())


# ---- conversions ----


def cast(call: TfliteCall) -> None:
    """Convert CAST."""
    x, output = _read_unary(call, *_CAST)
    function = f"tflm_cast_{SUFFIXES[x.dtype]}_{SUFFIXES[output.dtype]}"
    if function not in FUNCTIONS:
        raise ModelError(
            f"it casts {x.dtype} to {output.dtype}; TensorFlow Lite Micro does not support that"
        )
    if output.dtype == "bool":
        call.reject(
            "cast_bool",
            'it casts to bool; that requires October 2026 or later: choose tflm="2026-10"',
        )
    call.put(function, {"length": x.size}, [x], output)


def quantize(call: TfliteCall) -> None:
    """Convert QUANTIZE of floats, and of integers from or to 32 bits."""
    x, output = _read_unary(call, "FLOAT32", "INT32")
    types = f"{SUFFIXES[x.dtype]}_{SUFFIXES[output.dtype]}"
    real = x.dtype == "float32"
    function = f"tflm_{'quantize' if real else 'requantize'}_{types}"
    if function not in FUNCTIONS:
        raise ModelError(_CONVERSION.format(x.dtype, output.dtype))
    if real:
        params = {"zero_point": output.zero, "scale_bits": bits(output.scale)}
    else:
        _has_scale(call, call.operator.inputs[0])
        _has_scale(call, call.operator.outputs[0])
        factor, shift = multiplier(x.scale / output.scale)
        params = {"input_zero_point": x.zero, "output_zero_point": output.zero}
        params.update(multiplier=factor, shift=shift)
    call.put(function, {"length": x.size, **params}, [x], output)


def _has_scale(call: TfliteCall, index: int) -> None:
    tensor = call.builder.model.tensor(index)
    if len(tensor.scales) != 1:
        raise ModelError(
            f"{tensor} is {tensor.type} with {len(tensor.scales)} scales; it must have one"
        )


def dequantize(call: TfliteCall) -> None:
    """Convert DEQUANTIZE within the network."""
    x, output = _read_unary(call, *_WIDE)
    function = f"tflm_dequantize_{SUFFIXES[x.dtype]}_{SUFFIXES[output.dtype]}"
    if function not in FUNCTIONS:
        raise ModelError(_CONVERSION.format(x.dtype, output.dtype))
    params = {"length": x.size, "zero_point": x.zero, "scale_bits": bits(x.scale)}
    call.put(function, params, [x], output)


# ---- element by element ----


def unary(call: TfliteCall, what: str) -> None:
    """Convert a function of one operand."""
    x, output = _read_unary(call, *_WIDE)
    params = {"length": x.size}
    if what == "leaky_relu":
        params["alpha_bits"] = bits(call.read_options("LeakyReluOptions").number("Alpha"))
    function = _find_function(call, what, x, output)
    if what in _OF_A_LIBRARY:
        call.warn(_LIBRARY.format(what))
    call.put(function, params, [x], output)


def binary(call: TfliteCall, what: str) -> None:
    """Convert a function of two operands, with its fused activation if it has one."""
    first, second, output = read_operands(call, *_WIDE)
    function = _find_function(call, what, first, second, output)
    params = {"length": output.size}
    if what in ACTIVATED:
        params["activation"] = _activation(call.read_options(f"{what.capitalize()}Options"))
    if what == "add" and output.dtype == "int32" and params["activation"]:
        call.warn("the fused activation is ignored, as for every int32 ADD")
        params["activation"] = 0
    if what == "prelu" and len(output.shape) > 4:
        raise ModelError(f"it has {len(output.shape)} axes; TensorFlow Lite Micro takes up to 4")
    if what == "floor_div" or (what == "div" and output.dtype == "int32"):
        _refuse_zeros(call)
    call.put(function, params, [first, second], output)


def _refuse_zeros(call: TfliteCall) -> None:
    """Raise ModelError if a constant divisor contains zeros; warn if the divisor is computed."""
    divisor = call.tensor(1).data
    if divisor is None:
        call.warn("where the divisor is 0, the result of TensorFlow Lite Micro is undefined")
    elif not divisor.all():
        raise ModelError("its divisor contains zeros; TensorFlow Lite Micro rejects them")


def compare(call: TfliteCall, what: str) -> None:
    """Convert a comparison of two operands."""
    first, second, output = read_operands(call, *_WIDE, "BOOL")
    if output.dtype != "bool":
        raise ModelError(f"its output is {output.dtype}; it must be bool")
    call.put(
        _find_function(call, what, first, second), {"length": output.size}, [first, second], output
    )


# ---- rows, images, matrices ----


def softmax(call: TfliteCall, log: bool) -> None:
    """Convert SOFTMAX and LOG_SOFTMAX over the last axis."""
    x, output = _read_unary(call, *_WIDE)
    params = count_rows(x)
    if not log:
        params["beta_bits"] = bits(call.read_options("SoftmaxOptions").number("Beta"))
    name = "log_softmax" if log else "softmax"
    function = _find_function(call, name, x, output)
    call.warn(_LIBRARY.format(name))
    call.put(function, params, [x], output)


def pool(call: TfliteCall, kind: str) -> None:
    """Convert AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D."""
    call.check_counts(1, 1)
    x, output, options = (
        call.value(0, *_WIDE),
        call.output(0, *_WIDE),
        call.read_options("Pool2DOptions"),
    )
    params = {**pool_params(options, x, output), "activation": _activation(options)}
    call.put(_find_function(call, f"{kind}_pool", x, output), params, [x], output)


def resize(call: TfliteCall) -> None:
    """Convert RESIZE_BILINEAR."""
    call.check_counts(2, 2)
    options = call.read_options("ResizeBilinearOptions")
    x, output, size = call.value(0, *_WIDE), call.output(0, *_WIDE), call.integers(1)
    batches, height, width, channels = image_shape(x)
    if len(size) != 2:
        raise ModelError(f"its size is {size}; it must be height and width")
    check_shape(output, (batches, *size, channels))
    flags = options.flag("AlignCorners"), options.flag("HalfPixelCenters")
    if all(flags):
        raise ModelError("it has align_corners and half_pixel_centers; it must have one at most")
    params = {
        **{"batches": batches, "input_h": height, "input_w": width, "channels": channels},
        **{"output_h": size[0], "output_w": size[1]},
        **dict(zip(("align_corners", "half_pixel_centers"), map(int, flags))),
    }
    call.put(_find_function(call, "resize_bilinear", x, output), params, [x], output)


def normalize(call: TfliteCall) -> None:
    """Convert L2_NORMALIZATION over the last axis."""
    x, output = _read_unary(call, *_WIDE)
    kind = call.read_options("L2NormOptions").choice(
        "FusedActivationFunction", "ActivationFunctionType"
    )
    if kind != "NONE":
        raise ModelError("it has a fused activation; TensorFlow Lite Micro requires NONE")
    call.put(_find_function(call, "l2_normalization", x, output), count_rows(x), [x], output)


def reduce(call: TfliteCall, kind: str) -> None:
    """Convert MEAN, SUM, REDUCE_MAX and REDUCE_MIN over any axes."""
    call.check_counts(2, 2)
    x, output = call.value(0, *_WIDE), call.output(0, *_WIDE)
    function = _find_function(call, kind, x, output)
    x, groups = group_axes(call, x, output, read_axes(call, len(x.shape)))
    call.put(function, groups, [x], output)


def matmul(call: TfliteCall) -> None:
    """Convert BATCH_MATMUL."""
    call.check_counts(2, 2)
    options, output = call.read_options("BatchMatMulOptions"), call.output(0, *_WIDE)
    flags = {"adj_x": options.flag("AdjX"), "adj_y": options.flag("AdjY")}
    x, y = call.value(0, *_WIDE), call.value(1, *_WIDE)
    function = _find_function(call, "batch_matmul", x, y, output)
    outer = broadcast_batch_axes(x.shape, y.shape)
    rows, depth = x.shape[:-3:-1] if flags["adj_x"] else x.shape[-2:]
    deep, columns = y.shape[:-3:-1] if flags["adj_y"] else y.shape[-2:]
    if depth != deep:
        raise ModelError(
            f"its inputs {list(x.shape)} and {list(y.shape)} have {depth} columns and {deep} rows; "
            "both numbers must be equal"
        )
    check_shape(output, (*outer, rows, columns))
    params = {"rows": rows, "depth": depth, "columns": columns}
    params.update({name: int(flag) for name, flag in flags.items()})
    x, y = merge_batch_axes(call, x, y, outer)
    for name, value in (("lhs", x), ("rhs", y)):
        params.update(zip((f"{name}_n", f"{name}_h"), (1, 1, *value.shape[:-2])[-2:]))
    call.put(function, params, [x, y], output)


_BINARY = {
    **{name.upper(): name for name in (*ACTIVATED, "maximum", "minimum")},
    **{name.upper(): name for name in ("squared_difference", "floor_div", "floor_mod", "prelu")},
}

#: Operator -> its converter for floats and unscaled integers.
REAL: dict[str, Converter] = {
    "CAST": cast,
    "QUANTIZE": quantize,
    "DEQUANTIZE": dequantize,
    **{name.upper(): partial(unary, what=name) for name in UNARY},
    **{name: partial(binary, what=what) for name, what in _BINARY.items()},
    **{name.upper(): partial(compare, what=name) for name in COMPARE},
    "SOFTMAX": partial(softmax, log=False),
    "LOG_SOFTMAX": partial(softmax, log=True),
    "AVERAGE_POOL_2D": partial(pool, kind="average"),
    "MAX_POOL_2D": partial(pool, kind="max"),
    "L2_POOL_2D": partial(pool, kind="l2"),
    "RESIZE_BILINEAR": resize,
    "MEAN": partial(reduce, kind="mean"),
    "SUM": partial(reduce, kind="sum"),
    "REDUCE_MAX": partial(reduce, kind="reduce_max"),
    "REDUCE_MIN": partial(reduce, kind="reduce_min"),
    "L2_NORMALIZATION": normalize,
    "BATCH_MATMUL": matmul,
}
