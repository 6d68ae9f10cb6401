"""Padding, transposition, and exchange of pixels with channels and batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import ModelError
from ..arguments import moves
from .call import SUFFIXES, Converter, TfliteCall, adopt_format, check_same_format
from .shaping import check_shape, check_type, read_pair
from .slicing import slice_params
from .tflm_answers import refuse
from .values import TfliteValue
from .windows import image_shape

_AXES = "nhwc"

#: Type suffix -> padding function; CMSIS-NN pads int8 only.
_PAD = {"s8": "arm_pad_s8", **{type: f"tflm_pad_{type}" for type in ("s16", "s32", "f32")}}

#: Elements to add before an axis, the size of the axis, elements to add after it.
_Border = tuple[int, int, int]


def pad(call: TfliteCall) -> None:
    """Convert PAD and PADV2: a border of the zero point, or of a given number."""
    call.check_counts(2, 3)
    types = check_type(call, 0, ("INT8", "INT16", "INT32", "FLOAT32"))
    x, output = call.value(0, *types), call.output(0, *types)
    x = adopt_format(call, x, output)
    tensor, numbers = call.tensor(1), call.read_as_int32(1, 2)
    rank = len(x.shape)
    if numbers.shape != (rank, 2) or rank > 5 or numbers.min(initial=0) < 0:
        raise ModelError(
            f"its paddings, {tensor}, are {list(numbers.shape)} for {rank} axes; they must be two "
            "non-negative integers for each of up to 5 axes"
        )
    borders = [(int(a), n, int(b)) for n, (a, b) in zip(x.shape, numbers)]
    if tensor.type == "INT64" and output.shape != tuple(map(sum, borders)):
        said = f"its paddings, {tensor}, are INT64 and read as INT32; make them INT32"
        raise ModelError(refuse(said, "output_dim != expected_dim"))
    check_shape(output, list(map(sum, borders)))
    if rank == 5 and x.dtype == "int8" and borders[0] != (0, 1, 0):
        call.reject(
            "pad_five_axes",
            "it pads five axes of INT8; the kernel with CMSIS-NN ignores the first axis and leaves "
            "parts of its output uninitialized: choose kernels='reference'",
        )
    _pad(call, x, output, borders, _read_fill(call, output))


def _read_fill(call: TfliteCall, output: TfliteValue) -> int:
    """Return the border's element, as bits if it is a float; check the format of int8."""
    value = np.array(output.zero if output.dtype == "int8" else 0, output.dtype)
    if call.has_input(2):
        own = call.builder.model.tensor(call.operator.inputs[0]).type
        _, numbers = call.constant(2, own)
        if output.dtype == "int8":
            fill = call.builder.constant(call.tensor(2), own)
            check_same_format(
                fill, output, "output->params.zero_point != constant_values->params.zero_point"
            )
        if numbers.size != 1:
            raise ModelError(f"its padding value has {numbers.size} elements; it must have one")
        value = numbers.reshape(())
    return int(value.view(np.int32) if output.dtype == "float32" else value)


def _pad(
    call: TfliteCall, x: TfliteValue, output: TfliteValue, borders: Sequence[_Border], value: int
) -> None:
    """Add padding calls; of five axes, pad the innermost first."""
    if len(borders) == 5:
        *outer, (front, inner, back) = borders
        whole = (
            (front + inner + back) if any(before or behind for before, _, behind in outer) else 0
        )
        if whole and (front or back):
            shape = (*x.shape[:-1], whole)
            own = [(0, math.prod(x.shape[:-1]), 0), (front, inner, back)]
            like = replace(output, shape=shape)
            x = call.add_part(
                "padded", like, call.function(_PAD, x), _border_params(own, value), [x]
            )
            inner = whole
            front = back = 0
        if whole:
            *rest, (before, side, behind) = outer
            borders = [*rest, (before * inner, side * inner, behind * inner)]
        else:
            borders = [(0, math.prod(x.shape[:-1]), 0), (front, inner, back)]
    call.put(call.function(_PAD, x), _border_params(borders, value), [x], output)


def _border_params(borders: Sequence[_Border], value: int) -> dict[str, int]:
    whole = [(0, 1, 0)] * (4 - len(borders)) + list(borders)
    params = {"pad_value": value}
    for axis, numbers in zip(_AXES, whole):
        params.update(zip((f"pre_{axis}", f"input_{axis}", f"post_{axis}"), numbers))
    return params


def transpose(call: TfliteCall) -> None:
    """Convert TRANSPOSE."""
    x, output = read_pair(call, 2, ("INT8", "INT16", "FLOAT32"))
    rank = len(x.shape)
    order = _read_order(call, rank)
    if rank > 5:
        raise ModelError(f"it has {rank} axes; TensorFlow Lite Micro transposes up to 5")
    check_shape(output, [x.shape[axis] for axis in order])
    if x.dtype == "int8" and rank > 4:
        call.reject(
            "transpose_five_axes",
            f"it transposes {rank} axes of INT8; the kernel with CMSIS-NN fails silently and "
            "leaves its output uninitialized: choose kernels='reference'",
        )
    if x.dtype != "int8" or rank > 4:
        _put_transpose(call, x, output, x.shape, order)
        return
    made, missing = [x.shape[axis] for axis in order], [1] * (4 - rank)
    params = {
        "num_dims": rank,
        **{f"input_{axis}": n for axis, n in zip(_AXES, [*x.shape, *missing])},
        **{f"output_{axis}": n for axis, n in zip(_AXES, [*made, *missing])},
        **{f"perm_{i}": axis for i, axis in enumerate([*order, *range(rank, 4)])},
    }
    call.record_build("transpose_any", "tflm_transpose_s8", moves(x.shape, order))
    call.put("arm_transpose_s8", params, [x], output)


def _read_order(call: TfliteCall, rank: int) -> list[int]:
    """Return the axes as the device reads them: an INT64 order as pairs of INT32."""
    tensor, order = call.tensor(1), call.read_as_int32(1).tolist()
    if sorted(order) != list(range(rank)):
        read = ", which the device reads as pairs of INT32" if tensor.type == "INT64" else ""
        raise ModelError(
            f"its order, {tensor}, is of {tensor.type}{read}; {order[:9]} is no permutation of "
            f"{rank} axes: make it one, of INT32"
        )
    return [int(axis) for axis in order]


def _put_transpose(
    call: TfliteCall,
    x: TfliteValue,
    output: TfliteValue,
    whole: Sequence[int],
    order: Sequence[int],
) -> None:
    """Add the call that permutes the axes of an input, viewed in the shape `whole`."""
    call.put(f"tflm_transpose_{SUFFIXES[x.dtype]}", moves(whole, order), [x], output)


def blocks(call: TfliteCall, deep: bool) -> None:
    """Convert DEPTH_TO_SPACE, or SPACE_TO_DEPTH if `deep` is true."""
    x, output = read_pair(call, 1, ("INT8", "FLOAT32"))
    options = call.read_options("SpaceToDepthOptions" if deep else "DepthToSpaceOptions")
    side = options.integer("BlockSize", 1, 65535)
    batches, height, width, channels = image_shape(x)
    rests = (height % side, width % side) if deep else (channels % side**2,)
    if any(rests):
        required = f"height and width of {side}" if deep else f"channels of {side**2}"
        raise ModelError(f"its input is {list(x.shape)}; it must have a multiple as {required}")
    if deep:
        height, width = height // side, width // side
        check_shape(output, (batches, height, width, channels * side**2))
        whole = (batches, height, side, width, side, channels)
    else:
        channels //= side**2
        check_shape(output, (batches, height * side, width * side, channels))
        whole = (batches, height, width, side, side, channels)
    _put_transpose(call, x, output, whole, [0, 1, 3, 2, 4, 5])


def _read_blocks(
    call: TfliteCall, x: TfliteValue
) -> tuple[tuple[int, int, int, int], tuple[int, int], list[_Border]]:
    """Return an image's shape, the sides of its blocks, and its borders to add or to crop."""
    rank = len(x.shape)
    if rank not in (3, 4):
        raise ModelError(f"its input is {list(x.shape)}; it must have 3 or 4 axes")
    sides = call.integers(1)
    tensor, ends = call.constant(2, "INT32")
    if len(sides) != rank - 2 or min(sides) < 1 or ends.shape != (rank - 2, 2) or ends.min() < 0:
        raise ModelError(
            f"its blocks are {sides} and its borders, {tensor}, {list(ends.shape)}; an input "
            f"{list(x.shape)} needs {rank - 2} positive sides and as many pairs of at least 0"
        )
    shape = x.shape if rank == 4 else (*x.shape[:2], 1, x.shape[2])
    borders = [*ends.tolist(), [0, 0]][:2]
    around = [(before, n, behind) for n, (before, behind) in zip(shape[1:3], borders)]
    height, width = (*sides, 1)[:2]
    return (shape[0], shape[1], shape[2], shape[3]), (height, width), around


def _drop_columns(shape: Sequence[int], x: TfliteValue) -> list[int]:
    """Return an image's shape, without the axis of columns if the input `x` has 3 axes."""
    return [n for i, n in enumerate(shape) if i != 2 or len(x.shape) == 4]


def space_to_batch(call: TfliteCall) -> None:
    """Convert SPACE_TO_BATCH_ND: pad, then move each pixel of a block to a separate image."""
    call.check_counts(3, 3)
    x, output = read_pair(call, 3, ("INT8", "FLOAT32"))
    (batches, _, _, channels), (high, wide), around = _read_blocks(call, x)
    height, width = map(sum, around)
    if height % high or width % wide:
        raise ModelError(
            f"its padded images are {height} x {width}; they must be multiples of {high} x {wide}"
        )
    rows, columns = height // high, width // wide
    check_shape(output, _drop_columns((batches * high * wide, rows, columns, channels), x))
    if any(before or behind for before, _, behind in around):
        if x.zero:
            call.warn("pads with 0 instead of its zero point, because no code sets that field")
        borders = [(0, batches, 0), *around, (0, channels, 0)]
        like = replace(output, shape=(batches, height, width, channels))
        x = call.add_part("padded", like, call.function(_PAD, x), _border_params(borders, 0), [x])
    whole = (batches, rows, high, columns, wide, channels)
    _put_transpose(call, x, output, whole, [2, 4, 0, 1, 3, 5])


def batch_to_space(call: TfliteCall) -> None:
    """Convert BATCH_TO_SPACE_ND: move a pixel of each image to a block, then crop."""
    call.check_counts(3, 3)
    x, output = read_pair(call, 3, ("INT8", "FLOAT32"))
    (images, rows, columns, channels), (high, wide), around = _read_blocks(call, x)
    batches, rest = divmod(images, high * wide)
    if rest:
        raise ModelError(f"it has {images} images; they must be a multiple of {high} x {wide}")
    (top, _, bottom), (left, _, right) = around
    sides = (rows * high - top - bottom, columns * wide - left - right)
    check_shape(output, _drop_columns((batches, *sides, channels), x))
    whole, order = (high, wide, batches, rows, columns, channels), [2, 3, 0, 4, 1, 5]
    if not (top or bottom or left or right):
        _put_transpose(call, x, output, whole, order)
        return
    like = replace(output, shape=(batches, rows * high, columns * wide, channels))
    function = f"tflm_transpose_{SUFFIXES[x.dtype]}"
    x = call.add_part("blocks", like, function, moves(whole, order), [x])
    spans = [(0, 1, batches), (top, 1, sides[0]), (left, 1, sides[1]), (0, 1, channels)]
    call.put(f"tflm_slice_{SUFFIXES[x.dtype]}", slice_params(x.shape, spans), [x], output)


BORDERS: dict[str, Converter] = {
    **dict.fromkeys(("PAD", "PADV2"), pad),
    "TRANSPOSE": transpose,
    "DEPTH_TO_SPACE": partial(blocks, deep=False),
    "SPACE_TO_DEPTH": partial(blocks, deep=True),
    "SPACE_TO_BATCH_ND": space_to_batch,
    "BATCH_TO_SPACE_ND": batch_to_space,
}
