"""Functions of each element: tables, rectifiers, curves in floats."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...errors import ModelError
from ...functions.tflm_float import bits
from ..arguments import SUFFIXES
from .call import Converter, EspCall
from .model import EspValue

#: Curve -> its function, and the defaults of its attributes.
_CURVES: dict[str, tuple[str, dict[str, float]]] = {
    "Sigmoid": ("sigmoid", {}),
    "Tanh": ("tanh", {}),
    "Exp": ("exp", {}),
    "Log": ("log", {}),
    "Sqrt": ("sqrt", {}),
    "Elu": ("elu", {"alpha": 1.0}),
    "LeakyRelu": ("leaky_relu", {"alpha": 0.01}),
    "HardSwish": ("hard_swish", {}),
    "HardSigmoid": ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
    "Swish": ("swish", {}),
}

#: Elements of a table of 8 bits, and places of one of 16 bits.
_PLACES = {"int8": 256, "int16": 65536}


def look_up(call: EspCall) -> None:
    """Convert LUT and Gelu: a table that the exporter made."""
    call.expect(1)
    x = call.operand(0)
    name = call.text("lut", "")
    table = call.builder.model.constants.get(name)
    if table is None:
        raise ModelError(
            f"its table {name[:60]!r} is missing; the device has no function without it: export "
            "the model again"
        )
    places, whole = table.data.size, _PLACES[x.dtype]
    step = whole // (places - 1) if places > 1 else 0
    is_coarse = x.dtype == "int16" and step > 1 and (places - 1) * step == whole
    if table.dtype != x.dtype or not (places == whole or (is_coarse and not step & (step - 1))):
        raise ModelError(
            f"its table {table} must have {whole} elements of {x.dtype}; of 16 bits, 65536 / step "
            "+ 1 for a power of two are enough"
        )
    output = call.result(x.shape, 0, x.dtype)
    if output.exponent != table.exponent:
        raise ModelError(
            f"its table has exponent {table.exponent} and its output {output.exponent}: the device "
            "stops"
        )
    params = {"block_size": x.size}
    if x.dtype == "int16":
        params["places"] = places
    call.put(f"esp_dl_lut_{SUFFIXES[x.dtype]}", params, [x], output, table.data)


def _has_table(call: EspCall) -> bool:
    """True if the device reads a table: of 16 bits, only LUT does."""
    return call.text("quant_type", "") == "S8" and bool(call.text("lut", ""))


def curve(call: EspCall) -> None:
    """Convert a function in floats, or its table."""
    if _has_table(call):
        look_up(call)
        return
    call.expect(1)
    x = call.operand(0)
    name, defaults = _CURVES[call.node.operator]
    output = call.result(x.shape, 0, x.dtype)
    params = {"block_size": x.size}
    params.update(input_exponent=x.exponent, output_exponent=output.exponent)
    for key, value in defaults.items():
        params[f"{key}_bits"] = bits(call.number(key, value))
    call.put(f"esp_dl_{name}_{SUFFIXES[x.dtype]}", params, [x], output)


def rectify(call: EspCall, kind: str) -> None:
    """Convert Relu and Neg, or their tables; Neg ignores exponents."""
    if kind == "relu" and _has_table(call):
        look_up(call)
        return
    call.expect(1)
    x = call.operand(0)
    output = call.result(x.shape, 0, x.dtype)
    function, params = f"esp_dl_{kind}_{SUFFIXES[x.dtype]}", {"block_size": x.size}
    if kind == "neg" or x.exponent == output.exponent:
        call.put(function, params, [x], output)
        return
    x = call.part("rectified", function, params, [x], x)
    params["right_shift"] = output.exponent - x.exponent
    call.put(f"esp_dl_requantize_{SUFFIXES[x.dtype]}", params, [x], output)


def clip(call: EspCall) -> None:
    """Convert Clip between constants, or its table."""
    if _has_table(call):
        look_up(call)
        return
    call.expect(1, 3)
    x = call.operand(0)
    output = call.result(x.shape, 0, x.dtype)
    low, high = (-128, 127) if x.dtype == "int8" else (-32768, 32767)
    params = {"block_size": x.size, "right_shift": output.exponent - x.exponent}
    ends = {"low": _find_end(call, 1, x, low), "high": _find_end(call, 2, x, high)}
    if ends["low"] > ends["high"]:
        raise ModelError(
            f"its limits are {ends['low']} to {ends['high']}; the lower must not exceed the upper"
        )
    call.put(f"esp_dl_clip_{SUFFIXES[x.dtype]}", {**params, **ends}, [x], output)


def _find_end(call: EspCall, index: int, x: EspValue, default: int) -> int:
    if not call.has(index):
        return default
    end = call.constant(index, x.dtype)
    if not end.data.size:
        raise ModelError(f"its limit {end!r} is empty; it must be one number")
    return int(end.data[0])


def prelu(call: EspCall) -> None:
    """Convert PRelu of images, with a slope for each channel, or its table."""
    if _has_table(call):
        look_up(call)
        return
    call.expect(2)
    x, alpha = call.operand(0), call.constant(1)
    channels = x.shape[-1] if x.shape else 0
    if len(x.shape) != 4 or alpha.dtype != x.dtype or len(alpha.shape) != 3 or not alpha.data.size:
        raise ModelError(f"its input is {x} and its slope {alpha}; they must have 4 and 3 axes")
    slopes = alpha.data
    if x.dtype == "int16" and alpha.shape[0] != channels:
        slopes = slopes[:1].repeat(channels)  # as the device does
    if slopes.size != channels:
        raise ModelError(
            f"its slope is {alpha}; it must have {channels} elements, as many as its input has "
            "channels"
        )
    output = call.result(x.shape, 0, x.dtype)
    params = {"outer": x.size // channels, "inner": channels}
    params["input_right_shift"] = output.exponent - x.exponent
    params["alpha_right_shift"] = output.exponent - x.exponent - alpha.exponent
    call.put(f"esp_dl_prelu_{SUFFIXES[x.dtype]}", params, [x], output, slopes)


def convert(call: EspCall) -> None:
    """Convert RequantizeLinear, QuantizeLinear and DequantizeLinear, by the types of both ends.

    The exponents of both ends have the information of its scale and zero point.
    """
    call.expect(1, 3)
    x = call.value(0, "int8", "int16", "float32")
    output = call.result(x.shape, 0, "int8", "int16", "float32")
    params = {"block_size": x.size}
    source, target = SUFFIXES[x.dtype], SUFFIXES[output.dtype]
    if source == target == "f32":
        call.view(replace(x, exponent=output.exponent), x.shape)
    elif "f32" in (source, target):
        name = "quantize" if source == "f32" else "dequantize"
        params["right_shift"] = output.exponent if source == "f32" else -x.exponent
        call.put(f"esp_dl_{name}_{source}_{target}", params, [x], output)
    else:
        params["right_shift"] = output.exponent - x.exponent
        types = source if source == target else f"{source}_{target}"
        call.put(f"esp_dl_requantize_{types}", params, [x], output)


ACTIVATION: dict[str, Converter] = {
    **dict.fromkeys(_CURVES, curve),
    **dict.fromkeys(("LUT", "Gelu"), look_up),
    "Relu": partial(rectify, kind="relu"),
    "Neg": partial(rectify, kind="neg"),
    "Clip": clip,
    "PRelu": prelu,
    **dict.fromkeys(("RequantizeLinear", "QuantizeLinear", "DequantizeLinear"), convert),
}
