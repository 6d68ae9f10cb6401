"""What moves numbers and does not compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import ModelError
from ...functions.scaling import rescale_factors
from .building import Value
from .call import SUFFIXES, Call, Converter, same_format
from .windows import image

_AXES = "nhwc"

#: Of these two CMSIS-NN has a function for int8 alone.
_PAD = {"s8": "arm_pad_s8", "s16": "tflm_pad_s16"}
TRANSPOSE = {"s8": "arm_transpose_s8", "s16": "tflm_transpose_s16"}


def axis_of(number: int, rank: int) -> int:
    """An axis, of which negative ones count from the last."""
    if not -rank <= number < rank:
        raise ModelError(f"its axis {number} is not one of {rank} axes")
    return number % rank


def moved(call: Call, most: int) -> tuple[Value, Value]:
    """Input and output of one format."""
    call.counts(1, most)
    x, output = call.value(), call.output()
    same_format(x, output)
    return x, output


def reshape(call: Call) -> None:
    """RESHAPE, SQUEEZE, EXPAND_DIMS: the same numbers in another shape, which need no call."""
    x, output = moved(call, 2)
    if x.size != output.size:
        raise ModelError(f"its input is {list(x.shape)}, but its output is {list(output.shape)}")
    call.builder.alias(call.operator.outputs[0], output, x)


def expect(output: Value, shape: Sequence[int]) -> None:
    """Refuse an output of another shape than the operator makes."""
    if output.shape != tuple(shape):
        raise ModelError(f"its output is {list(output.shape)}; it must be {list(shape)}")


def sides(prefix: str, shape: Sequence[int]) -> dict[str, int]:
    """A shape of up to four axes as arguments, the missing ones in front."""
    whole = (1,) * (4 - len(shape)) + tuple(shape)
    return {f"{prefix}_{axis}": side for axis, side in zip(_AXES, whole)}


def pad(call: Call) -> None:
    """PAD and PADV2: a border of the number that stands for 0, or of one that is given."""
    x, output = moved(call, 3)
    tensor, borders = call.constant(1, "INT32", "INT64")
    rank = len(x.shape)
    if borders.shape != (rank, 2) or rank > 4 or borders.min(initial=0) < 0:
        raise ModelError(f"its paddings, {tensor}, must be two numbers for each of up to 4 axes")
    before, behind = borders.T.tolist()
    expect(output, [a + n + b for a, n, b in zip(before, x.shape, behind)])
    value = output.zero
    if call.given(2):
        filling = call.builder.constant(call.tensor(2))
        _, numbers = call.constant(2, call.builder.model.tensor(call.operator.inputs[0]).type)
        same_format(filling, output)
        if numbers.size != 1:
            raise ModelError("it needs one number to pad with")
        value = int(numbers.reshape(()))
    ends = {
        f"{end}_{axis}": number
        for end, numbers in (("pre", before), ("post", behind))
        for axis, number in zip(_AXES, [0] * (4 - rank) + numbers)
    }
    params = {**sides("input", x.shape), **ends, "pad_value": value}
    call.put(call.function(_PAD, x), params, [x], output)


def transpose(call: Call) -> None:
    """TRANSPOSE."""
    x, output = moved(call, 2)
    order = call.integers(1)
    if sorted(order) != list(range(len(x.shape))):
        raise ModelError(f"its order {order} is not an order of {len(x.shape)} axes")
    expect(output, [x.shape[axis] for axis in order])
    _move(call, x, output, x.shape, order)


def blocks(call: Call, deep: bool) -> None:
    """DEPTH_TO_SPACE and SPACE_TO_DEPTH (deep): channels to or from a block of pixels."""
    x, output = moved(call, 1)
    options = call.options("SpaceToDepthOptions" if deep else "DepthToSpaceOptions")
    side = options.integer("BlockSize", 1, 65535)
    batches, height, width, channels = image(x)
    rests = (height % side, width % side) if deep else (channels % side**2,)
    if any(rests):
        raise ModelError(f"{list(x.shape)} is not made of blocks of {side} x {side}")
    if deep:
        height, width = height // side, width // side
        expect(output, (batches, height, width, channels * side**2))
        whole = (batches, height, side, width, side, channels)
    else:
        channels //= side**2
        expect(output, (batches, height * side, width * side, channels))
        whole = (batches, height, width, side, side, channels)
    _move(call, x, output, whole, [0, 1, 3, 2, 4, 5])


def _move(call: Call, x: Value, output: Value, whole: Sequence[int], order: Sequence[int]) -> None:
    """The axes of an input, which is `whole`, in another order."""
    shape, order = _merged(whole, order) if len(order) > 4 else (whole, order)
    if len(whole) > 4 and list(order) == sorted(order):
        call.builder.alias(call.operator.outputs[0], output, x)
        return
    if len(shape) > 4:
        raise ModelError(f"it moves {len(shape)} axes; up to 4 are supported")
    made = [shape[axis] for axis in order]
    missing = 4 - len(shape)
    params = {
        "num_dims": len(shape),
        **{f"input_{axis}": n for axis, n in zip(_AXES, [*shape, *[1] * missing])},
        **{f"output_{axis}": n for axis, n in zip(_AXES, [*made, *[1] * missing])},
        **{f"perm_{i}": axis for i, axis in enumerate([*order, *range(len(shape), 4)])},
    }
    call.put(call.function(TRANSPOSE, x), params, [x], output)


def _merged(shape: Sequence[int], order: Sequence[int]) -> tuple[tuple[int, ...], list[int]]:
    """The same move with fewer axes: without those of one element, and neighbours that stay so."""
    order = [axis for axis in order if shape[axis] > 1]
    groups: list[list[int]] = []
    for axis in order:
        between = range(groups[-1][-1] + 1, axis) if groups else ()
        if groups and groups[-1][-1] < axis and all(shape[each] == 1 for each in between):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    by_place = sorted(groups)
    merged = tuple(math.prod(shape[axis] for axis in group) for group in by_place)
    return merged or (1,), [by_place.index(group) for group in groups] or [0]


def concatenate(call: Call) -> None:
    """CONCATENATION along one axis, two tensors at a time."""
    call.counts(1, 1000)
    options, output = call.options("ConcatenationOptions"), call.output()
    if options.choice("FusedActivationFunction", "ActivationFunctionType") != "NONE":
        raise ModelError("it has a fused activation; it only moves numbers")
    parts = [call.brought(index) for index in range(len(call.operator.inputs))]
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
    output = call.output()
    rank = len(output.shape)
    axis = axis_of(call.options("PackOptions").integer("Axis", -rank, rank - 1), rank)
    parts = [call.brought(index) for index in range(len(call.operator.inputs))]
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
    if (part.scale, part.zero) == (output.scale, output.zero) or part.dtype != "uint8":
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
    **dict.fromkeys(("PAD", "PADV2"), pad),
    "TRANSPOSE": transpose,
    "DEPTH_TO_SPACE": partial(blocks, deep=False),
    "SPACE_TO_DEPTH": partial(blocks, deep=True),
    "CONCATENATION": concatenate,
    "PACK": pack,
}
