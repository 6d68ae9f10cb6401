"""Reshapes, concatenations and packs, and checks that all data-movement operators share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from ...errors import ModelError
from .call import SUFFIXES, Converter, TfliteCall, adopt_format, check_same_format, check_same_type
from .tflm_answers import refuse
from .values import TfliteValue

#: The file's element types that most data-movement operators support.
EVERY = ("INT8", "UINT8", "INT16", "INT32", "INT64", "FLOAT32", "BOOL")

#: The framework's error text for a CONCATENATION of different scales.
_SCALES_DIFFER = (
    "static_cast<double>(input->params.scale) != static_cast<double>(output_tensor->params.scale)"
)

#: The framework's error texts for axes that SQUEEZE cannot remove, and for axes that it leaves.
_SQUEEZED = (
    "current >= 0 && current < input_num_dims && input_dims->data[current] == 1 was not true.",
    "out_idx < output_dims->size && output_dims->data[out_idx] >= input_dims->data[in_idx] was "
    "not true.",
)

#: Element types of CONCATENATION.
_JOINED = ("INT8", "INT16", "INT32", "INT64", "FLOAT32", "BOOL")

#: Reshaping operators that support fewer types.
_RESHAPED = {"EXPAND_DIMS": ("INT8", "INT16", "FLOAT32")}

#: Maximum number of inputs of CONCATENATION in TensorFlow Lite Micro.
_MOST = 10


def normalize_axis(number: int, rank: int) -> int:
    """Return an axis as an index from 0; negative numbers count from the last axis."""
    if not -rank <= number < rank:
        raise ModelError(f"its axis is {number}; it must be {-rank} to {rank - 1}")
    return number % rank


def check_type(call: TfliteCall, index: int, types: Sequence[str]) -> tuple[str, ...]:
    """Return the types that TensorFlow Lite Micro supports; the input must have one of these."""
    tensor = call.tensor(index)
    if tensor.type not in types:
        names = " and ".join(filter(None, (", ".join(types[:-1]), types[-1])))
        raise ModelError(f"{tensor} is {tensor.type}; TensorFlow Lite Micro supports {names}")
    return tuple(types)


def read_pair(
    call: TfliteCall, most: int, types: Sequence[str] = EVERY
) -> tuple[TfliteValue, TfliteValue]:
    """Return input and output; both must have one of these types. The input's format is ignored."""
    call.check_counts(1, most)
    types = check_type(call, 0, types)
    x, output = call.value(0, *types), call.output(0, *types)
    return adopt_format(call, x, output), output


def take_low_halves(call: TfliteCall, index: int) -> TfliteValue:
    """Return an input of indices as int32: the low halves of int64."""
    places = call.value(index, "INT32", "INT64")
    if places.dtype == "int32":
        return places
    like = replace(places, dtype="int32")
    return call.add_part("low", like, "tflm_low_s64", {"length": places.size}, [places])


def bring(call: TfliteCall, part: str, like: TfliteValue, numbers: np.ndarray) -> TfliteValue:
    """Add a constant of the operator; `like` gives its shape, type and stem of the name."""
    function = f"tflm_constant_{SUFFIXES[like.dtype]}"
    return call.add_part(part, like, function, {"length": like.size}, [], numbers.reshape(-1))


def reshape(call: TfliteCall) -> None:
    """Convert RESHAPE, SQUEEZE and EXPAND_DIMS to an alias, without a call.

    If the file gives input and output different formats, the output is a copy.
    """
    x, output = read_pair(call, 2, _RESHAPED.get(call.operator.name, EVERY))
    if call.operator.name == "SQUEEZE":
        _check_squeezed(call, x, output)
    if call.operator.name == "EXPAND_DIMS":
        axis, rank = call.integer(1), len(x.shape) + 1
        at = normalize_axis(axis, rank)
        check_shape(output, (*x.shape[:at], 1, *x.shape[at:]))
    if x.size != output.size:
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(output.shape)}; both must have as "
            "many elements"
        )
    _pass_on(call, call.value(0, *EVERY), output)


def _check_squeezed(call: TfliteCall, x: TfliteValue, output: TfliteValue) -> None:
    """Raise ModelError for an axis to remove that is not 1, or an output without the other axes.

    Without a list of axes, all of size 1 are removed.
    """
    rank = len(x.shape)
    listed = call.read_options("SqueezeOptions").integers("SqueezeDims")
    for axis in listed:
        if not -rank <= axis < rank or x.shape[axis] != 1:
            said = f"it removes axis {axis} of {list(x.shape)}; it must remove axes of size 1"
            raise ModelError(refuse(said, _SQUEEZED[0]))
    gone = {axis % rank for axis in listed} or {i for i, n in enumerate(x.shape) if n == 1}
    left = [n for i, n in enumerate(x.shape) if i not in gone]
    if any(a < b for a, b in zip_longest(output.shape[: len(left)], left, fillvalue=0)):
        said = f"its output is {list(output.shape)}; it must be {left}"
        raise ModelError(refuse(said, _SQUEEZED[1]))


def _pass_on(call: TfliteCall, x: TfliteValue, output: TfliteValue) -> None:
    """Make the output an alias of a tensor; a copy if the file gives both different formats."""
    if (x.scale, x.zero) == (output.scale, output.zero):
        call.builder.alias(call.operator.outputs[0], output, x)
        return
    function = f"tflm_read_variable_{SUFFIXES[output.dtype]}"
    call.put(function, {"length": output.size}, [x], output)


def check_shape(output: TfliteValue, shape: Sequence[int]) -> None:
    """Raise ModelError if the output differs from the shape that the operator computes."""
    if output.shape != tuple(shape):
        raise ModelError(f"its output is {list(output.shape)}; it must be {list(shape)}")


def concatenate(call: TfliteCall) -> None:
    """Convert CONCATENATION along one axis to calls that concatenate two tensors each."""
    call.check_counts(1, _MOST)
    types = check_type(call, 0, _JOINED)
    options, output = call.read_options("ConcatenationOptions"), call.output(0, *types)
    if options.choice("FusedActivationFunction", "ActivationFunctionType") != "NONE":
        raise ModelError("it has a fused activation; it must have none")
    filled = [at for at in range(len(call.operator.inputs)) if math.prod(call.tensor(at).shape)]
    if not filled:
        raise ModelError("all its inputs are empty; at least one must have elements")
    parts = [call.value(index, *types) for index in filled]
    rank = len(output.shape)
    axis = normalize_axis(options.integer("Axis", -rank, rank - 1), rank)
    if output.dtype == "int16":  # all formats of zero point 0 count as one
        check_same_type(*parts, output)
    for part in parts:
        if output.dtype != "int16":
            check_same_format(part, output, _SCALES_DIFFER)
        if len(part.shape) != rank or (
            part.shape[:axis] + part.shape[axis + 1 :]
            != output.shape[:axis] + output.shape[axis + 1 :]
        ):
            options.require()
            raise ModelError(
                f"its input is {list(part.shape)} and its output {list(output.shape)}; all axes "
                f"except {axis} must be equal"
            )
    check_shape(
        output, (*output.shape[:axis], sum(p.shape[axis] for p in parts), *output.shape[axis + 1 :])
    )
    _join(call, parts, output, axis)


def pack(call: TfliteCall) -> None:
    """Convert PACK: stack tensors of one shape along a new axis."""
    call.check_counts(1, 1000)
    types = check_type(call, 0, ("INT8", "INT16", "INT32", "INT64", "FLOAT32"))
    output = call.output(0, *types)
    rank = len(output.shape)
    options = call.read_options("PackOptions")
    options.require()
    axis = normalize_axis(options.integer("Axis", -rank, rank - 1), rank)
    parts = [call.value(index, *types) for index in range(len(call.operator.inputs))]
    check_shape(output, (*parts[0].shape[:axis], len(parts), *parts[0].shape[axis:]))
    for part in parts:
        if part.shape != parts[0].shape:
            raise ModelError(
                f"its inputs are {list(parts[0].shape)} and {list(part.shape)}; all inputs must "
                "have one shape"
            )
    shape = (*output.shape[:axis], 1, *output.shape[axis + 1 :])
    _join(call, [replace(part, shape=shape) for part in parts], output, axis)


def _join(call: TfliteCall, parts: list[TfliteValue], output: TfliteValue, axis: int) -> None:
    """Concatenate adjacent pairs repeatedly; the last pair gives the output."""
    function = f"tflm_concatenation_{SUFFIXES[output.dtype]}"
    outer, first = math.prod(output.shape[:axis]), parts[0]
    parts = [adopt_format(call, part, output) for part in parts]
    if len(parts) == 1:
        _pass_on(call, first, output)
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
            made.append(call.add_part("part", like, function, params, [first, second]))
        parts = made + parts[len(parts) // 2 * 2 :] if len(parts) > 2 else []


SHAPING: dict[str, Converter] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), reshape),
    "CONCATENATION": concatenate,
    "PACK": pack,
}
