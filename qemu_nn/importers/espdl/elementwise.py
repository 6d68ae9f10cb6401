"""Operators on each element: sums, products, requantization, tables, MaxPool."""

from __future__ import annotations

from functools import partial
from typing import Optional

from ...errors import ModelError
from ...functions.esp_dl import fold_axes
from ..arguments import SUFFIXES
from .call import Converter, EspCall
from .layers import broadcast_shapes, find_shift
from .model import EspConstant, EspValue


def add(call: EspCall, kind: str) -> None:
    """Convert Add and Sub. The device does not look at the exponents."""
    x, y, output = _pair(call)
    call.put(f"esp_dl_{kind}_{SUFFIXES[x.dtype]}", {"block_size": output.size}, [x, y], output)


def multiply(call: EspCall) -> None:
    """Convert Mul."""
    row_size = fold_axes(*(call.value(at).shape for at in (0, 1)))
    x, y, output = _pair(call)
    params = {"block_size": output.size, "row_size": row_size}
    params["right_shift"] = find_shift(output, x.exponent, y.exponent)
    call.put(f"esp_dl_mul_{SUFFIXES[x.dtype]}", params, [x, y], output)


def _pair(call: EspCall) -> tuple[EspValue, EspValue, EspValue]:
    """Return both operands in the shape of the output, and the output."""
    call.expect(2)
    x, y = call.operand(0), call.operand(1)
    shape = broadcast_shapes(x.shape, y.shape)
    output = call.result(shape, 0, x.dtype)
    return call.broadcast("first", x, shape), call.broadcast("second", y, shape), output


def requantize(call: EspCall) -> None:
    """Convert RequantizeLinear; its scale and zero point are in the exponents, too."""
    call.expect(1, 3)
    x = call.value(0, "int8", "int16")
    output = call.result(x.shape, 0, "int8", "int16")
    types = dict.fromkeys((SUFFIXES[x.dtype], SUFFIXES[output.dtype]))
    params = {"block_size": x.size, "right_shift": find_shift(output, x.exponent)}
    call.put(f"esp_dl_requantize_{'_'.join(types)}", params, [x], output)


def max_pool(call: EspCall) -> None:
    """Convert MaxPool of images or rows.

    The device does not look at exponents, dilations and ceil_mode.
    """
    call.expect(1)
    x = call.operand(0)
    params, counts = find_windows(call, x)
    low, high = (-128, 127) if x.dtype == "int8" else (-32768, 32767)
    output = call.result((x.shape[0], *counts, x.shape[-1]), 0, x.dtype)
    params.update(act_min=low, act_max=high)
    call.put(f"arm_max_pool_{SUFFIXES[x.dtype]}", params, [x], output)


def find_windows(call: EspCall, x: EspValue) -> tuple[dict[str, int], list[int]]:
    """Return the arguments of a pool of images or rows, and the sides of its output."""
    axes = len(x.shape) - 2
    if axes not in (1, 2):
        raise ModelError(f"its input is {x}; it must have 3 or 4 axes")
    taps = call.integers("kernel_shape", axes, (), 1)
    strides = call.integers("strides", axes, [1] * axes, 1)
    pads = call.integers("pads", 2 * axes, [0] * 2 * axes, 0)
    counts = [
        (side + before + after - tap) // stride + 1
        for side, tap, stride, before, after in zip(
            x.shape[1:], taps, strides, pads[:axes], pads[axes:]
        )
    ]
    params = {"batches": x.shape[0], "channels": x.shape[-1]}
    missing = 2 - axes
    for name, numbers, filled in (
        ("input", x.shape[1:-1], 1),
        ("filter", taps, 1),
        ("output", counts, 1),
        ("stride", strides, 1),
        ("pad", pads[:axes], 0),
    ):
        params.update(zip((f"{name}_h", f"{name}_w"), [*[filled] * missing, *numbers]))
    return params, counts


def find_table(call: EspCall) -> Optional[EspConstant]:
    """Return the table of a node; None if it computes its function itself."""
    name = call.text("lut", "")
    if not name:
        return None
    found = call.builder.model.constants.get(name)
    if found is None:
        raise ModelError(f"its table {name[:60]!r} is missing")
    return found


ELEMENTWISE: dict[str, Converter] = {
    "Add": partial(add, kind="add"),
    "Sub": partial(add, kind="sub"),
    "Mul": multiply,
    "MaxPool": max_pool,
    "RequantizeLinear": requantize,
}
