"""Sums, differences, products and the larger of two tensors of one shape, or broadcast to it."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...errors import ModelError
from ...functions.s8_elementwise import LEFT_SHIFTS
from ...functions.scaling import add_scaling
from .building import Value
from .call import Call, Converter, same_format, same_type
from .scaling import multiplier
from .shaping import sides


def combine(call: Call, kind: str) -> None:
    """ADD and SUB."""
    first, second, output = operands(call)
    options = call.options(f"{kind.capitalize()}Options")
    suffix = same_type(first, second, output)
    names = {("add", "s8"): "arm_elementwise_add_s8", ("add", "s16"): "arm_elementwise_add_s16"}
    params = {
        **add_scaling(first.scale, second.scale, output.scale, LEFT_SHIFTS[suffix]),
        **{"input_1_offset": -first.zero, "input_2_offset": -second.zero},
        **{"out_offset": output.zero, "block_size": output.size},
        **options.activation(output),
    }
    function = names.get((kind, suffix), f"tflm_{kind}_{suffix}")
    call.put(function, params, [first, second], output)


def multiply(call: Call) -> None:
    """MUL."""
    first, second, output = operands(call)
    real = first.scale * second.scale / output.scale
    factor, shift = multiplier(real)
    params = {
        **{"input_1_offset": -first.zero, "input_2_offset": -second.zero},
        **{"out_offset": output.zero, "out_mult": factor, "out_shift": shift},
        **{"block_size": output.size},
        **call.options("MulOptions").activation(output),
    }
    function = f"arm_elementwise_mul_{same_type(first, second, output)}"
    call.put(function, params, [first, second], output)


def choose(call: Call, kind: str) -> None:
    """MAXIMUM and MINIMUM."""
    first, second, output = operands(call)
    for value in (first, second):
        same_format(value, output)
    if len(output.shape) > 4:
        raise ModelError(f"its output {list(output.shape)} has more than 4 axes")
    function = call.function({"s8": f"arm_{kind}_s8"}, output)
    params = {**sides("input1", output.shape), **sides("input2", output.shape)}
    call.put(function, params, [first, second], output)


def operands(call: Call, *more: str) -> tuple[Value, Value, Value]:
    """Both inputs in the shape of the output, and that; more: types beside the usual."""
    call.counts(2, 2)
    output = call.output(0, *more)
    try:
        shape = np.broadcast_shapes(*(call.tensor(i).shape for i in (0, 1)))
    except ValueError:
        shape = ()
    if tuple(shape) != output.shape:
        shapes = " and ".join(str(list(call.tensor(i).shape)) for i in (0, 1))
        raise ModelError(f"{shapes} do not broadcast to {list(output.shape)}")
    return call.operand(0, output, *more), call.operand(1, output, *more), output


ARITHMETIC: dict[str, Converter] = {
    "ADD": partial(combine, kind="add"),
    "SUB": partial(combine, kind="sub"),
    "MUL": multiply,
    "MAXIMUM": partial(choose, kind="maximum"),
    "MINIMUM": partial(choose, kind="minimum"),
}
