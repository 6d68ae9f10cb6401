"""What moves numbers and does not compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ...functions.scaling import rescale_factors
from .call import SUFFIXES, Call, Converter, same_format
from .values import Value

#: The types of elements of which all of these operators know, of a file.
EVERY = ("INT8", "UINT8", "INT16", "INT32", "INT64", "FLOAT32", "BOOL")

#: Those that have no kernel for every type.
_RESHAPED = {"EXPAND_DIMS": ("INT8", "INT16", "FLOAT32")}

#: Tensors that CONCATENATION of TensorFlow Lite Micro takes.
_MOST = 10


def axis_of(number: int, rank: int) -> int:
    """An axis, of which negative ones count from the last."""
    if not -rank <= number < rank:
        raise ModelError(f"its axis {number} is not one of {rank} axes")
    return number % rank


def of_types(call: Call, index: int, types: Sequence[str]) -> tuple[str, ...]:
    """The types of which TensorFlow Lite Micro has an operator, if an input is of one of them."""
    tensor = call.tensor(index)
    if tensor.type not in types:
        names = " and ".join(filter(None, (", ".join(types[:-1]), types[-1])))
        raise ModelError(f"TensorFlow Lite Micro has it for {names}, but {tensor} is {tensor.type}")
    return tuple(types)


def moved(call: Call, most: int, types: Sequence[str] = EVERY) -> tuple[Value, Value]:
    """Input and output of one format, and of one of these types."""
    call.counts(1, most)
    types = of_types(call, 0, types)
    x, output = call.brought(0, *types), call.output(0, *types)
    same_format(x, output)
    return x, output


def in_format(call: Call, x: Value, output: Value) -> Value:
    """A tensor as if it had the format of the output, where the framework looks at types alone."""
    if x.dtype != output.dtype or (x.scale, x.zero) == (output.scale, output.zero):
        same_format(x, output)
        return x
    call.warn(f"{x.name[:60]!r} has another scale than its output, which is not looked at")
    return replace(x, scale=output.scale, zero=output.zero)


def low(call: Call, index: int) -> Value:
    """Places, of which those of 64 bits have their low halves taken."""
    places = call.brought(index, "INT32", "INT64")
    if places.dtype == "int32":
        return places
    like = replace(places, dtype="int32")
    return call.part("low", like, "tflm_low_s64", {"length": places.size}, [places])


def bring(call: Call, part: str, like: Value, numbers: np.ndarray) -> Value:
    """A constant of the operator's own; like: its shape and its type, and whose part it is."""
    function = f"tflm_constant_{SUFFIXES[like.dtype]}"
    return call.part(part, like, function, {"length": like.size}, [], numbers.reshape(-1))


def reshape(call: Call) -> None:
    """RESHAPE, SQUEEZE, EXPAND_DIMS: the same numbers in another shape, which need no call."""
    x, output = moved(call, 2, _RESHAPED.get(call.operator.name, EVERY))
    if x.size != output.size:
        raise ModelError(f"its input is {list(x.shape)}, but its output is {list(output.shape)}")
    call.builder.alias(call.operator.outputs[0], output, x)


def expect(output: Value, shape: Sequence[int]) -> None:
    """Refuse an output of another shape than the operator makes."""
    if output.shape != tuple(shape):
        raise ModelError(f"its output is {list(output.shape)}; it must be {list(shape)}")


def concatenate(call: Call) -> None:
    """CONCATENATION along one axis, two tensors at a time."""
    call.counts(1, _MOST)
    types = of_types(call, 0, EVERY)
    options, output = call.options("ConcatenationOptions"), call.output(0, *types)
    if options.choice("FusedActivationFunction", "ActivationFunctionType") != "NONE":
        raise ModelError("it has a fused activation; it only moves numbers")
    parts = [call.brought(index, *types) for index in range(len(call.operator.inputs))]
    rank = len(output.shape)
    axis = axis_of(options.integer("Axis", -rank, rank - 1), rank)
    parts = [_rescaled(call, part, output) for part in parts]
    for part in parts:
        same_format(part, output)
        if (
            part.shape[:axis] + part.shape[axis + 1 :]
            != output.shape[:axis] + output.shape[axis + 1 :]
        ):
            raise ModelError(
                f"its input {list(part.shape)} is not a part of its output {list(output.shape)}"
            )
    expect(
        output, (*output.shape[:axis], sum(p.shape[axis] for p in parts), *output.shape[axis + 1 :])
    )
    _join(call, parts, output, axis)


def pack(call: Call) -> None:
    """PACK: tensors of one shape side by side along a new axis."""
    call.counts(1, 1000)
    types = of_types(call, 0, ("INT8", "INT16", "INT32", "INT64", "FLOAT32"))
    output = call.output(0, *types)
    rank = len(output.shape)
    axis = axis_of(call.options("PackOptions").integer("Axis", -rank, rank - 1), rank)
    parts = [call.brought(index, *types) for index in range(len(call.operator.inputs))]
    expect(output, (*parts[0].shape[:axis], len(parts), *parts[0].shape[axis:]))
    for part in parts:
        same_format(part, output)
        if part.shape != parts[0].shape:
            raise ModelError(
                f"its input {list(part.shape)} is not a part of its output {list(output.shape)}"
            )
    shape = (*output.shape[:axis], 1, *output.shape[axis + 1 :])
    _join(call, [replace(part, shape=shape) for part in parts], output, axis)


def _rescaled(call: Call, part: Value, output: Value) -> Value:
    """A part in the scale of the output; TensorFlow Lite had this for uint8 alone."""
    if (part.scale, part.zero) == (output.scale, output.zero):
        return part
    if part.dtype == "int16" == output.dtype:
        return in_format(call, part, output)
    if part.dtype != "uint8":
        return part
    like = replace(output, shape=part.shape)
    params = {"length": part.size, "output_zero_point": output.zero}
    with np.errstate(all="ignore"):
        factors = rescale_factors(part.scale, part.zero, output.scale)
    if not np.isfinite(factors.view(np.float32)).all():
        raise ModelError(f"its scales {part.scale:g} and {output.scale:g} do not fit each other")
    return call.part("rescaled", like, "tflm_rescale_u8", params, [part], factors)


def _join(call: Call, parts: list[Value], output: Value, axis: int) -> None:
    """Neighbours two by two, until two are left, which make the output."""
    function = f"tflm_concatenation_{SUFFIXES[output.dtype]}"
    outer = math.prod(output.shape[:axis])
    if len(parts) == 1:
        call.builder.alias(call.operator.outputs[0], output, parts[0])
    while len(parts) > 1:
        made = []
        for first, second in zip(parts[::2], parts[1::2]):
            params = {"outer": outer, "inner1": first.size // outer, "inner2": second.size // outer}
            if len(parts) == 2:
                call.put(function, params, [first, second], output)
                break
            shape = list(output.shape)
            shape[axis] = first.shape[axis] + second.shape[axis]
            like = replace(output, shape=tuple(shape))
            made.append(call.part("part", like, function, params, [first, second]))
        parts = made + parts[len(parts) // 2 * 2 :] if len(parts) > 2 else []


SHAPING: dict[str, Converter] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), reshape),
    "CONCATENATION": concatenate,
    "PACK": pack,
}
