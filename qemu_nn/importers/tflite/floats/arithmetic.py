"""Sums and products: with constants an Affine, of two tensors an Elementwise."""

from __future__ import annotations

from functools import partial

import numpy as np

from ....errors import ModelError
from ....operators import Affine, Clip, Elementwise, Operator, Relu, Shape
from ....operators.curve import X
from ...tensor import Tensor, Value
from .building import FloatCall, FloatConverter
from .shaping import repeat

_ZERO, _ONE = np.array(0.0), np.array(1.0)

#: Operator -> its table of options, if it may have a fused activation.
_OPTIONS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}


def _broadcast(*shapes: Shape) -> Shape:
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        said = ", ".join(str(list(shape)) for shape in shapes)
        raise ModelError(f"its inputs {said} do not broadcast to one shape") from None


def _add_axes(call: FloatCall, x: Tensor, full: Shape) -> Tensor:
    """Return a tensor with as many axes as a shape that it broadcasts to, batched if that is."""
    shape, batched = (1,) * (len(full) - len(x.shape)) + x.shape, full[:1] == (1,)
    if shape == x.shape and batched == x.batched:
        return x
    return call.reshape(x, shape, part="axes", batched=batched)


def _finish(call: FloatCall, operator: Operator, *tensors: Tensor) -> Tensor:
    """Add the last operator, with the fused activation of the options."""
    kind = _OPTIONS.get(call.operator.name)
    if kind is None:
        return call.put(operator, *tensors)
    return call.finish(operator, *tensors, options=call.read_options(kind), part="linear")


def put_affine(call: FloatCall, x: Tensor, scale: np.ndarray, offset: np.ndarray) -> None:
    """Add x * scale + offset; all three broadcast to one shape."""
    full = _broadcast(x.shape, scale.shape, offset.shape)
    x = repeat(call, _add_axes(call, x, full), full)
    arrays = []
    for array in (scale, offset):
        if array.size == 1:
            array = array.reshape(())
        elif array.ndim == len(full) and x.batched:
            array = array[0]
        arrays.append(array)
    _finish(call, Affine(*arrays), x)


def put_elementwise(
    call: FloatCall, kind: str, first: Tensor, second: Tensor, part: str = ""
) -> Tensor:
    """Add a function of two tensors that broadcast to one shape; the last one without a `part`."""
    full = _broadcast(first.shape, second.shape)
    first, second = _add_axes(call, first, full), _add_axes(call, second, full)
    if part:
        return call.put(Elementwise(kind), first, second, part=part)
    return _finish(call, Elementwise(kind), first, second)


def _read_operands(call: FloatCall) -> tuple[Value, Value]:
    """Return two inputs; constants are of finite floats."""
    call.check_counts(2, 2)
    values = [call.value(at) for at in (0, 1)]
    first, second = (
        call.floats(at).astype(np.float64) if isinstance(value, np.ndarray) else value
        for at, value in enumerate(values)
    )
    return first, second


def add(call: FloatCall) -> None:
    """Convert ADD."""
    first, second = _read_operands(call)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        put_elementwise(call, "add", first, second)
    elif isinstance(first, Tensor):
        put_affine(call, first, _ONE, np.asarray(second))
    else:
        put_affine(call, call.tensor(1), _ONE, first)


def subtract(call: FloatCall) -> None:
    """Convert SUB."""
    first, second = _read_operands(call)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        put_elementwise(call, "subtract", first, second)
    elif isinstance(first, Tensor):
        put_affine(call, first, _ONE, -np.asarray(second))
    else:
        put_affine(call, call.tensor(1), -_ONE, first)


def multiply(call: FloatCall) -> None:
    """Convert MUL."""
    first, second = _read_operands(call)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        put_elementwise(call, "multiply", first, second)
    elif isinstance(first, Tensor):
        put_affine(call, first, np.asarray(second), _ZERO)
    else:
        put_affine(call, call.tensor(1), first, _ZERO)


def divide(call: FloatCall) -> None:
    """Convert DIV."""
    first, second = _read_operands(call)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        put_elementwise(call, "divide", first, second)
    elif isinstance(second, Tensor):
        reciprocal = call.put(1.0 / X, second, part="reciprocal")
        put_affine(call, reciprocal, np.asarray(first), _ZERO)
    else:
        with np.errstate(all="ignore"):
            scale = 1 / second
        if not np.isfinite(scale).all():
            raise ModelError("its divisor contains numbers whose reciprocal is not finite")
        put_affine(call, call.tensor(0), scale, _ZERO)


def extreme(call: FloatCall, kind: str) -> None:
    """Convert MAXIMUM and MINIMUM of two tensors, or of a tensor and one number."""
    first, second = _read_operands(call)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        put_elementwise(call, kind, first, second)
        return
    at = 1 if isinstance(first, Tensor) else 0
    limit, x = call.number(at), call.tensor(1 - at)
    unlimited = float(np.finfo(np.float32).max)
    if kind == "minimum":
        call.put(Clip(-unlimited, limit), x)
    else:
        call.put(Relu() if limit == 0 else Clip(limit, unlimited), x)


def squared_difference(call: FloatCall) -> None:
    """Convert SQUARED_DIFFERENCE of two tensors."""
    call.check_counts(2, 2)
    difference = put_elementwise(call, "subtract", call.tensor(0), call.tensor(1), "difference")
    call.put(X * X, difference)


def negate(call: FloatCall) -> None:
    """Convert NEG."""
    call.check_counts(1, 1)
    call.put(Affine(-_ONE, _ZERO), call.tensor())


def compare(call: FloatCall, kind: str, swapped: bool = False, negated: bool = False) -> None:
    """Convert a comparison: 1 where it holds, else 0.

    swapped: of the second operand with the first. negated: the opposite.
    """
    first, second = _read_operands(call)
    part = "opposite" if negated else ""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        tensors = (second, first) if swapped else (first, second)
        made = put_elementwise(call, kind, *tensors, part=part)
    else:
        at = 1 if isinstance(first, Tensor) else 0
        curve = X.combine(kind, call.number(at), swapped=swapped == (at == 1))
        made = call.put(curve, call.tensor(1 - at), part=part)
    if negated:
        call.put(Affine(-_ONE, _ONE), made)


def logical(call: FloatCall, kind: str) -> None:
    """Convert LOGICAL_AND and LOGICAL_OR of two tensors of 0 and 1."""
    call.check_counts(2, 2)
    put_elementwise(call, kind, call.tensor(0), call.tensor(1))


def logical_not(call: FloatCall) -> None:
    """Convert LOGICAL_NOT of 0 and 1."""
    call.check_counts(1, 1)
    call.put(Affine(-_ONE, _ONE), call.tensor())


def select(call: FloatCall) -> None:
    """Convert SELECT and SELECT_V2: the second operand where the first is true, else the third."""
    call.check_counts(3, 3)
    mask = call.tensor(0)
    otherwise = call.put(Affine(-_ONE, _ONE), mask, part="opposite")
    first, second = _pass_where(call, mask, 1, "true"), _pass_where(call, otherwise, 2, "false")
    put_elementwise(call, "add", first, second)


def _pass_where(call: FloatCall, mask: Tensor, at: int, part: str) -> Tensor:
    """Return an operand where a mask is 1, else 0; the mask broadcasts to it or the reverse."""
    value = call.value(at)
    if isinstance(value, Tensor):
        return put_elementwise(call, "pass_where", mask, value, part)
    full = _broadcast(mask.shape, value.shape)
    mask = repeat(call, _add_axes(call, mask, full), full)
    scale = call.floats(at).astype(np.float64)
    if scale.size > 1 and scale.ndim == len(full) and mask.batched:
        scale = scale[0]
    return call.put(Affine(scale if scale.size > 1 else scale.reshape(()), _ZERO), mask, part=part)


def add_n(call: FloatCall) -> None:
    """Convert ADD_N: two at a time, from the first on."""
    count = len(call.operator.inputs)
    call.check_counts(2, 1000)
    total = call.tensor(0)
    for at in range(1, count - 1):
        total = put_elementwise(call, "add", total, call.tensor(at), f"add{at}")
    put_elementwise(call, "add", total, call.tensor(count - 1))


ARITHMETIC: dict[str, FloatConverter] = {
    "ADD": add,
    "SUB": subtract,
    "MUL": multiply,
    "DIV": divide,
    "MAXIMUM": partial(extreme, kind="maximum"),
    "MINIMUM": partial(extreme, kind="minimum"),
    "SQUARED_DIFFERENCE": squared_difference,
    "NEG": negate,
    "ADD_N": add_n,
    "GREATER": partial(compare, kind="greater"),
    "LESS": partial(compare, kind="greater", swapped=True),
    "GREATER_EQUAL": partial(compare, kind="at_least"),
    "LESS_EQUAL": partial(compare, kind="at_least", swapped=True),
    "EQUAL": partial(compare, kind="equal"),
    "NOT_EQUAL": partial(compare, kind="equal", negated=True),
    "LOGICAL_AND": partial(logical, kind="multiply"),
    "LOGICAL_OR": partial(logical, kind="maximum"),
    "LOGICAL_NOT": logical_not,
    **dict.fromkeys(("SELECT", "SELECT_V2"), select),
}
