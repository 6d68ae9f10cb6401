"""What operators take that compute element by element: one tensor, or several that broadcast."""

from __future__ import annotations

import math

import numpy as np

from ...errors import ModelError
from .building import Value
from .call import Call


def one(call: Call, read: tuple[str, ...] = (), made: tuple[str, ...] = ()) -> tuple[Value, Value]:
    """The only input, and an output of as many elements; read, made: types beside the usual."""
    call.counts(1, 1)
    x, output = call.value(0, *read), call.output(0, *made)
    if x.size != output.size:
        raise ModelError(f"its input is {list(x.shape)}, but its output is {list(output.shape)}")
    return x, output


def broadcasts(call: Call, count: int, output: Value) -> None:
    """Refuse inputs that do not broadcast to the output."""
    shapes = [call.tensor(i).shape for i in range(count)]
    try:
        whole = tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        whole = (0,)
    if whole != output.shape and not math.prod(whole) == output.size == 1:
        spelled = " and ".join(str(list(shape)) for shape in shapes)
        raise ModelError(f"{spelled} do not broadcast to {list(output.shape)}")


def rows_of(x: Value) -> dict[str, int]:
    """The rows of a tensor along its last axis, as arguments."""
    if not x.shape:
        raise ModelError(
            f"{x.name[:60]!r} is one number without an axis, of which it makes nothing"
        )
    return {"num_rows": x.size // x.shape[-1], "row_size": x.shape[-1]}


def operands(call: Call, *more: str) -> tuple[Value, Value, Value]:
    """Both inputs in the shape of the output, and that; more: types that all three may hold."""
    call.counts(2, 2)
    output = call.output(0, *more)
    broadcasts(call, 2, output)
    return call.operand(0, output, *more), call.operand(1, output, *more), output
