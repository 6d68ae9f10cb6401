"""Splits, slices, reversal, and nearest-neighbor and bilinear resizing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import ModelError
from .call import SUFFIXES, Converter, TfliteCall, adopt_format, check_same_type
from .shaping import (
    EVERY,
    bring,
    check_shape,
    check_type,
    normalize_axis,
    read_pair,
    take_low_halves,
)
from .tflm_answers import refuse
from .values import TfliteValue
from .windows import image_shape

#: Types that TensorFlow Lite Micro splits and unpacks.
_SPLIT = ("INT8", "INT16", "INT32", "FLOAT32")

#: Begin, stride and count of one axis.
Span = tuple[int, int, int]


def _put_slice(
    call: TfliteCall, x: TfliteValue, spans: Sequence[Span], output: TfliteValue, at: int = 0
) -> None:
    """Add the call that copies these spans of a tensor."""
    x = adopt_format(call, x, output)
    if len(spans) > 5:
        raise ModelError(f"its input has {len(spans)} axes; up to 5 are supported")
    call.put(
        f"tflm_slice_{check_same_type(x, output)}", slice_params(x.shape, spans), [x], output, at=at
    )


def slice_params(shape: Sequence[int], spans: Sequence[Span]) -> dict[str, int]:
    """Return the arguments of a call that copies these spans of a tensor."""
    params: dict[str, int] = {}
    whole = [(1, (0, 1, 1))] * (5 - len(spans)) + list(zip(shape, spans))
    for i, (side, (begin, stride, count)) in enumerate(whole):
        last = begin + (count - 1) * stride
        if count < 1 or not (0 <= begin < side and 0 <= last < side):
            raise ModelError(
                f"it reads elements {begin} to {last} of an axis of {side}; it must read at least "
                f"one, within 0 to {side - 1}"
            )
        params.update({f"input_{i}": side, f"begin_{i}": begin})
        params.update({f"stride_{i}": stride, f"output_{i}": count})
    return params


def _put_parts(call: TfliteCall, x: TfliteValue, axis: int, sizes: Sequence[int]) -> None:
    """Add the call of one output for each size along an axis."""
    if sum(sizes) != x.shape[axis] or min(sizes) < 1:
        raise ModelError(
            f"its sizes are {list(sizes)[:9]}; they must be positive, with the sum {x.shape[axis]}"
        )
    begin = 0
    for at, size in enumerate(sizes):
        output = call.output(at, *EVERY)
        check_shape(output, (*x.shape[:axis], size, *x.shape[axis + 1 :]))
        spans = [(0, 1, side) for side in x.shape]
        spans[axis] = (begin, 1, size)
        _put_slice(call, x, spans, output, at)
        begin += size


def split(call: TfliteCall) -> None:
    """Convert SPLIT: parts of one size along the axis in the first input."""
    count = call.read_options("SplitOptions").integer("NumSplits", 1, 1000)
    call.check_counts(2, 2, count)
    x = call.value(1, *check_type(call, 1, _SPLIT))
    axis = normalize_axis(call.integer(0), len(x.shape))
    size, rest = divmod(x.shape[axis], count)
    if rest:
        raise ModelError(
            f"its axis has {x.shape[axis]} elements; {count} parts of one size need a multiple"
        )
    _put_parts(call, x, axis, [size] * count)


def split_v(call: TfliteCall) -> None:
    """Convert SPLIT_V: parts of given sizes along an axis; one size may be -1 for the rest."""
    count = call.read_options("SplitVOptions").integer("NumSplits", 1, 1000)
    call.check_counts(3, 3, count)
    x, sizes = call.value(0, *check_type(call, 0, _SPLIT)), call.integers(1, 1000)
    axis = normalize_axis(call.integer(2), len(x.shape))
    if len(sizes) != count:
        raise ModelError(f"it has {len(sizes)} sizes; for {count} parts it must have {count}")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    _put_parts(call, x, axis, sizes)


def unpack(call: TfliteCall) -> None:
    """Convert UNPACK: one output for each index of an axis; the outputs lack this axis."""
    options, x = call.read_options("UnpackOptions"), call.value(0, *check_type(call, 0, _SPLIT))
    options.require()
    rank = len(x.shape)
    axis = normalize_axis(options.integer("Axis", -rank, rank - 1), rank)
    call.check_counts(1, 1, x.shape[axis])
    for at in range(x.shape[axis]):
        output = call.output(at, *EVERY)
        check_shape(output, (*x.shape[:axis], *x.shape[axis + 1 :]))
        spans = [(0, 1, side) for side in x.shape]
        spans[axis] = (at, 1, 1)
        _put_slice(call, x, spans, output, at)


def slice_(call: TfliteCall) -> None:
    """Convert SLICE: a begin and a size for each axis; the size -1 is the rest."""
    call.check_counts(3, 3)
    x, output = read_pair(call, 3, ("INT8", "INT16", "INT32", "FLOAT32", "BOOL"))
    if call.tensor(1).data is None or call.tensor(2).data is None:
        _put_computed_slice(call, x, output)
        return
    begins, sizes = call.integers(1), call.integers(2)
    if len(begins) != len(x.shape) or len(sizes) != len(x.shape):
        raise ModelError(
            f"it has {len(begins)} begins and {len(sizes)} sizes; it must have {len(x.shape)} of "
            "each, one per axis"
        )
    counts = [n - b if s == -1 else s for n, b, s in zip(x.shape, begins, sizes)]
    check_shape(output, counts)
    _put_slice(call, x, [(b, 1, n) for b, n in zip(begins, counts)], output)


def _put_computed_slice(call: TfliteCall, x: TfliteValue, output: TfliteValue) -> None:
    """Add a slice with computed begins or sizes; computed sizes must equal the output's shape.

    If the device would access memory outside of the tensors, the call fails, as in GATHER.
    """
    rank = len(x.shape)
    own = call.tensor(1).type
    for index, name in ((1, "begins"), (2, "sizes")):
        tensor = call.tensor(index)
        if tensor.type != own or own not in ("INT32", "INT64") or tensor.shape != (rank,):
            raise ModelError(
                f"its {name}, {tensor}, are {tensor.type} {list(tensor.shape)}; if begins or sizes "
                f"are computed, both must be INT32 or both INT64, {[rank]}"
            )
    inside = len(output.shape) == rank and all(a <= b for a, b in zip(output.shape, x.shape))
    if not 1 <= rank <= 5 or not inside:
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(output.shape)}; both must have the "
            "same number of axes, 1 to 5, and the output must be no larger"
        )
    params = {"rank": rank}
    for name, shape in (("side", x.shape), ("update", output.shape)):
        whole = (*[1] * (6 - rank), *shape)
        params.update({f"{name}_{i}": side for i, side in enumerate(whole)})
    call.put(f"tflm_part_{SUFFIXES[x.dtype]}", params, [x, _check_begins(call, x, output)], output)


def _check_begins(call: TfliteCall, x: TfliteValue, output: TfliteValue) -> TfliteValue:
    """Return the begins; -1 marks a size that does not match the output.

    A size matches if it equals the output's, or if it is -1 and the rest has the output's size.
    """
    begins, known = take_low_halves(call, 1), call.tensor(2).data
    if known is not None and known.tolist() == list(output.shape):
        return begins
    sizes = take_low_halves(call, 2)
    like, number = replace(begins, shape=(len(x.shape),)), {"length": len(x.shape)}
    truth = replace(like, dtype="bool")
    rest = np.subtract(x.shape, output.shape)

    def numbers(name: str, values: Any) -> TfliteValue:
        return bring(call, name, like, np.array(values, np.int32))

    def both(part: str, function: str, first: TfliteValue, second: TfliteValue) -> TfliteValue:
        return call.add_part(part, truth, function, number, [first, second])

    size = both("size", "tflm_equal_s32", sizes, numbers("sides", output.shape))
    whole = both("whole", "tflm_equal_s32", sizes, numbers("rests", [-1] * len(x.shape)))
    last = both("last", "tflm_equal_s32", begins, numbers("ends", rest))
    fits = both(
        "fits", "tflm_logical_or_b8", size, both("rest", "tflm_logical_and_b8", whole, last)
    )
    ends = [fits, begins, numbers("outside", [-1] * len(x.shape))]
    return call.add_part("begins", like, "tflm_select_s32", number, ends)


def strided_slice(call: TfliteCall) -> None:
    """Convert STRIDED_SLICE; masks select ends of the axis, and axes that the output lacks."""
    call.check_counts(4, 4)
    options = call.read_options("StridedSliceOptions")
    x, output = read_pair(call, 4, ("INT8", "INT16", "INT32", "FLOAT32", "BOOL"))
    if len(x.shape) > 4:
        raise ModelError(f"it has {len(x.shape)} axes; TensorFlow Lite Micro slices up to 4")
    masks = {
        name: options.integer(f"{name}Mask")
        for name in ("Begin", "End", "ShrinkAxis", "Ellipsis", "NewAxis")
    }
    if options.flag("Offset"):
        raise ModelError("its ends are relative; they must be absolute")
    for at, name in ((1, "begin"), (2, "end"), (3, "strides")):
        if call.tensor(at).data is None:
            raise ModelError(
                f"its {name}, {call.tensor(at)}, is computed; it must be a constant, as on the "
                "device"
            )
    lists = [call.read_as_int32(at).tolist() for at in (1, 2, 3)]
    if any(len(numbers) != len(x.shape) for numbers in lists):
        raise ModelError(
            f"it has {len(lists[0])} begins, {len(lists[1])} ends and {len(lists[2])} strides; it "
            f"must have {len(x.shape)} of each, one per axis"
        )
    spans, kept = [], []
    for axis, (side, begin, end, stride) in enumerate(zip(x.shape, *lists)):
        gone = masks["ShrinkAxis"] >> axis & 1
        if stride == 0:
            said = (
                f"its stride along axis {axis} is 0 where its strides, of {call.tensor(3).type}, "
                "are read as INT32; make them INT32 numbers other than 0"
            )
            raise ModelError(refuse(said, "stride value has to be non-zero"))
        if gone and stride < 0:
            raise ModelError(
                f"its stride along axis {axis} is {stride}; it must not be negative for an axis in "
                "the shrink mask"
            )
        first = None if masks["Begin"] >> axis & 1 else begin
        last = None if masks["End"] >> axis & 1 else end
        start, stop, _ = slice(first, last, stride).indices(side)
        count = 1 if gone else len(range(start, stop, stride))
        if count < 1:
            raise ModelError(
                f"it selects no element of axis {axis} from {begin} to {end} by {stride}; it must "
                "select at least one"
            )
        spans.append((start, stride, count))
        kept += [] if gone else [count]
    odd = [name for name in ("Ellipsis", "NewAxis") if masks[name]]
    if odd:
        said = f"its {odd[0]}Mask is {masks[odd[0]]}; it must be 0"
        if output.shape != tuple(kept):
            raise ModelError(refuse(said, "output_shape->data[shape_size] != dim_shape"))
        call.warn(f"its {odd[0]}Mask is ignored")
    check_shape(output, kept)
    _put_slice(call, x, spans, output)


def reverse(call: TfliteCall) -> None:
    """Convert REVERSE_V2 of adjacent axes."""
    x, output = read_pair(call, 2, EVERY)
    call.check_counts(2, 2)
    axes, rank = call.integers(1), len(x.shape)
    axes = sorted(normalize_axis(axis, rank) for axis in axes)
    if not axes or axes != list(range(axes[0], axes[0] + len(axes))):
        raise ModelError(f"it reverses the axes {axes}; they must be adjacent")
    check_shape(output, x.shape)
    ends = (0, axes[0], axes[-1] + 1, rank)
    outer, middle, inner = (math.prod(x.shape[a:b]) for a, b in zip(ends, ends[1:]))
    spans = [(0, 1, outer), (middle - 1, -1, middle), (0, 1, inner)]
    _put_slice(call, replace(x, shape=(outer, middle, inner)), spans, output)


def resize(call: TfliteCall, kind: str) -> None:
    """Convert RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""
    call.check_counts(2, 2)
    options = call.read_options(_RESIZING[kind])
    x, output = read_pair(call, 2, ("INT8", "INT16", "FLOAT32"))
    size = call.integers(1)
    batches, height, width, channels = image_shape(x)
    if len(size) != 2:
        raise ModelError(f"its size is {size}; it must be height and width")
    check_shape(output, (batches, *size, channels))
    params = {
        **{"batches": batches, "input_h": height, "input_w": width, "channels": channels},
        **{"output_h": size[0], "output_w": size[1]},
        "align_corners": int(options.flag("AlignCorners")),
        "half_pixel_centers": int(options.flag("HalfPixelCenters")),
    }
    function = f"tflm_resize_{kind}_{check_same_type(x, output)}"
    if kind == "nearest" and params["half_pixel_centers"]:
        call.record_build("resize_nearest_centers", function, {**params, "half_pixel_centers": 0})
    call.put(function, params, [x], output)


#: Kind of resizing -> the operator's options.
_RESIZING = {"nearest": "ResizeNearestNeighborOptions", "bilinear": "ResizeBilinearOptions"}

SLICING: dict[str, Converter] = {
    "SPLIT": split,
    "SPLIT_V": split_v,
    "UNPACK": unpack,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "REVERSE_V2": reverse,
    "RESIZE_NEAREST_NEIGHBOR": partial(resize, kind="nearest"),
    "RESIZE_BILINEAR": partial(resize, kind="bilinear"),
}
