"""Sums, products and quotients of two tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest

from ...errors import ModelError
from ...functions.esp_dl import fold_axes
from ..arguments import SUFFIXES
from .call import Converter, EspCall
from .layers import broadcast_shapes, find_shift
from .model import EspValue


def add(call: EspCall, kind: str) -> None:
    """Convert Add and Sub. The device does not look at the exponents."""
    x, y, output = _pair(call)
    call.put(f"esp_dl_{kind}_{SUFFIXES[x.dtype]}", {"block_size": output.size}, [x, y], output)


def multiply(call: EspCall) -> None:
    """Convert Mul."""
    call.expect(2)
    row_size = fold_axes(call.value(0).shape, call.value(1).shape)
    x, y, output = _pair(call)
    params = {"block_size": output.size, "row_size": row_size}
    params["right_shift"] = find_shift(output, x.exponent, y.exponent)
    call.put(f"esp_dl_mul_{SUFFIXES[x.dtype]}", params, [x, y], output)


def divide(call: EspCall) -> None:
    """Convert Div."""
    call.expect(2)
    shapes = [call.value(at).shape for at in (0, 1)]
    x, y, output = _pair(call)
    params = {"block_size": output.size, "row_size": fold_axes(*shapes)}
    params.update(scalar=_find_scalar(*shapes))
    params["right_shift"] = output.exponent - x.exponent + y.exponent
    call.put(f"esp_dl_div_{SUFFIXES[x.dtype]}", params, [x, y], output)


def compare(call: EspCall, kind: str) -> None:
    """Convert a comparison, whose results are booleans. The device does not look at exponents."""
    call.expect(2)
    x, y = call.operand(0), call.operand(1)
    if x.dtype != y.dtype:
        raise ModelError(f"its inputs are {x} and {y}; they must have one type")
    shape = broadcast_shapes(x.shape, y.shape)
    output = call.result(shape, 0, "bool")
    operands = [call.broadcast("first", x, shape), call.broadcast("second", y, shape)]
    function = f"esp_dl_{kind}_{SUFFIXES[x.dtype]}"
    call.put(function, {"block_size": output.size}, operands, output)


def power(call: EspCall, kind: str) -> None:
    """Convert Pow and Mod, which is that of C: the sign is the dividend's, whatever fmod says."""
    x, y, output = _pair(call)
    params = {"block_size": output.size, "output_exponent": output.exponent}
    params.update(input1_exponent=x.exponent, input2_exponent=y.exponent)
    call.put(f"esp_dl_{kind}_{SUFFIXES[x.dtype]}", params, [x, y], output)


def _find_scalar(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the operand, 1 or 2, that has one element for a row of the other; 0: none."""
    for a, b in zip_longest(reversed(first), reversed(second), fillvalue=1):
        if a != b:
            return 1 if a == 1 else 2
        if a > 1:
            return 0
    return 0


def _pair(call: EspCall) -> tuple[EspValue, EspValue, EspValue]:
    """Return both operands in the shape of the output, and the output."""
    call.expect(2)
    x, y = call.operand(0), call.operand(1)
    shape = broadcast_shapes(x.shape, y.shape)
    output = call.result(shape, 0, x.dtype)
    return call.broadcast("first", x, shape), call.broadcast("second", y, shape), output


ELEMENTWISE: dict[str, Converter] = {
    "Add": partial(add, kind="add"),
    "Sub": partial(add, kind="sub"),
    "Mul": multiply,
    "Div": divide,
    "Pow": partial(power, kind="pow"),
    "Mod": partial(power, kind="mod"),
    "Equal": partial(compare, kind="equal"),
    "Greater": partial(compare, kind="greater"),
    "GreaterOrEqual": partial(compare, kind="greater_or_equal"),
    "Less": partial(compare, kind="less"),
    "LessOrEqual": partial(compare, kind="less_or_equal"),
}
