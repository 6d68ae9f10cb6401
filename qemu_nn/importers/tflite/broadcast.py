"""Inputs of element-wise operators: one tensor, or several tensors that broadcast."""

from __future__ import annotations

import math

import numpy as np

from ...errors import ModelError
from .building import TfliteValue
from .call import TfliteCall


def read_unary(
    call: TfliteCall, read: tuple[str, ...] = (), made: tuple[str, ...] = ()
) -> tuple[TfliteValue, TfliteValue]:
    """Return the only input, and an output of as many elements.

    read, made: allowed types of input and output besides INT8, UINT8 and INT16.
    """
    call.check_counts(1, 1)
    x, output = call.value(0, *read), call.output(0, *made)
    if x.size != output.size:
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(output.shape)}; both must have as "
            "many elements"
        )
    return x, output


def check_broadcast(call: TfliteCall, count: int, output: TfliteValue) -> None:
    """Raise ModelError if the first `count` inputs do not broadcast to the output."""
    shapes = [call.tensor(i).shape for i in range(count)]
    try:
        whole = tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        whole = (0,)
    if whole != output.shape and not math.prod(whole) == output.size == 1:
        spelled = " and ".join(str(list(shape)) for shape in shapes)
        raise ModelError(
            f"its inputs {spelled} do not broadcast to its output {list(output.shape)}"
        )


def count_rows(x: TfliteValue) -> dict[str, int]:
    """Return the number and the length of the rows along the last axis, as arguments."""
    if not x.shape:
        raise ModelError(f"its input {x.name[:60]!r} is a scalar; it must have at least one axis")
    return {"num_rows": x.size // x.shape[-1], "row_size": x.shape[-1]}


def read_operands(call: TfliteCall, *more: str) -> tuple[TfliteValue, TfliteValue, TfliteValue]:
    """Return both inputs in the shape of the output, and the output.

    more: allowed types of all three besides INT8, UINT8 and INT16.
    """
    call.check_counts(2, 2)
    output = call.output(0, *more)
    check_broadcast(call, 2, output)
    return call.operand(0, output, *more), call.operand(1, output, *more), output
