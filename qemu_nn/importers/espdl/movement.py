"""Operators that move elements without arithmetic, and the cache of streaming models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ..arguments import SUFFIXES, moves, sides
from .call import Converter, EspCall
from .model import EspValue

#: Types whose elements are moved.
_MOVED = ("int8", "int16", "float32")

#: Arguments of a padding by axis.
_AXES = "nhwc"

#: Most pixels along the side of a block.
_MOST_BLOCK = 256


def reshape(call: EspCall) -> None:
    """Convert Reshape: -1 is what remains, 0 the input's own side."""
    call.expect(2)
    x, wanted = call.value(0, *_MOVED), call.numbers(1)
    keeps_zero = call.integer("allowzero", 0) == 0
    shape = []
    for at, side in enumerate(wanted):
        if side == 0 and keeps_zero and at < len(x.shape):
            side = x.shape[at]
        shape.append(side)
    known = math.prod(side for side in shape if side != -1)
    if shape.count(-1) > 1 or known < 1 or x.size % known or any(side < -1 for side in shape):
        raise ModelError(
            f"its input is {x} and its output {wanted[:9]}; both must have as many elements"
        )
    call.view(x, [x.size // known if side == -1 else side for side in shape])


def flatten(call: EspCall) -> None:
    """Convert Flatten: two axes, the first of those before an axis."""
    call.expect(1)
    x = call.value(0, *_MOVED)
    rank, axis = len(x.shape), call.integer("axis", 1)
    axis = rank if axis == rank else call.axis(axis, rank)
    call.view(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def squeeze(call: EspCall) -> None:
    """Convert Squeeze: remove given axes of length 1; without a list, all of them."""
    call.expect(1, 2)
    x = call.value(0, *_MOVED)
    rank = len(x.shape)
    given = [call.axis(axis, rank) for axis in call.numbers(1)] if call.has(1) else [*range(rank)]
    kept = [side for axis, side in enumerate(x.shape) if side != 1 or axis not in given]
    call.view(x, kept)


def unsqueeze(call: EspCall) -> None:
    """Convert Unsqueeze: axes of length 1 at given places of the result."""
    call.expect(2)
    x, given = call.value(0, *_MOVED), call.numbers(1)
    rank = len(x.shape) + len(given)
    places = {call.axis(axis, rank) for axis in given}
    rest = iter(x.shape)
    call.view(x, [1 if axis in places else next(rest, 1) for axis in range(rank)])


def keep(call: EspCall) -> None:
    """Convert Identity."""
    call.expect(1)
    x = call.value(0, *_MOVED)
    call.view(x, x.shape)


def concatenate(call: EspCall) -> None:
    """Convert Concat. The device copies integers, whatever the exponents are."""
    call.expect(2, 1000)
    values = [call.value(at, *_MOVED) for at in range(len(call.node.inputs))]
    first, rank = values[0], len(values[0].shape)
    axis = call.axis(call.integer("axis", 0), rank)
    for value in values:
        fits = len(value.shape) == rank and value.dtype == first.dtype
        if not fits or any(
            a != b for at, (a, b) in enumerate(zip(first.shape, value.shape)) if at != axis
        ):
            raise ModelError(
                f"its inputs are {first} and {value}; axes other than {axis} must be equal"
            )
    function, outer = f"tflm_concatenation_{SUFFIXES[first.dtype]}", math.prod(first.shape[:axis])
    widths = [value.size // outer for value in values]
    shape = [*first.shape]
    shape[axis] = sum(value.shape[axis] for value in values)
    x, width = first, widths[0]
    for number, (value, more) in enumerate(zip(values[1:-1], widths[1:-1])):
        params = {"outer": outer, "inner1": width, "inner2": more}
        width += more
        like = replace(first, shape=(outer, width))
        x = call.part(f"joined{number}", function, params, [x, value], like)
    params = {"outer": outer, "inner1": width, "inner2": widths[-1]}
    call.put(function, params, [x, values[-1]], call.result(shape, 0, first.dtype))


def transpose(call: EspCall) -> None:
    """Convert Transpose."""
    call.expect(1)
    x = call.value(0, *_MOVED)
    rank = len(x.shape)
    order = [axis % rank for axis in call.integers("perm", rank, (), -rank)]
    if sorted(order) != [*range(rank)]:
        raise ModelError(f"its perm is {order}; it must name each of {rank} axes once")
    _move(call, x, x.shape, order, [x.shape[axis] for axis in order])


def slice_(call: EspCall) -> None:
    """Convert Slice with constant ends and steps from 1 on."""
    call.expect(3, 5)
    x, starts, ends = call.value(0, *_MOVED), call.numbers(1), call.numbers(2)
    rank = len(x.shape)
    axes = call.numbers(3) if call.has(3) else [*range(len(starts))]
    steps = call.numbers(4) if call.has(4) else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) <= rank:
        raise ModelError(f"its starts, ends, axes and steps are {starts}, {ends}, {axes}, {steps}")
    begins, strides, counts = [0] * rank, [1] * rank, [*x.shape]
    for start, end, given, step in zip(starts, ends, axes, steps):
        if step < 1:
            raise ModelError(f"its step is {step}; it must be 1 or more")
        axis = call.axis(given, rank)
        begin, stop, _ = slice(start, end, step).indices(x.shape[axis])
        begins[axis], strides[axis] = begin, step
        counts[axis] = len(range(begin, stop, step))
    _take(call, x, (begins, strides, counts), 0)


def split(call: EspCall) -> None:
    """Convert Split into parts of given lengths."""
    call.expect(1, 2, len(call.node.outputs))
    x = call.value(0, *_MOVED)
    if not call.has(1):
        raise ModelError(
            "it has no lengths of its parts; the device takes num_outputs for a length: "
            "export the model with a list of lengths"
        )
    lengths, rank = call.numbers(1), len(x.shape)
    axis = call.axis(call.integer("axis", 0), rank)
    right = len(lengths) == len(call.node.outputs) and sum(lengths) == x.shape[axis]
    if not right or min(lengths) < 1:
        raise ModelError(f"its parts are {lengths[:9]}; their sum must be {x.shape[axis]}")
    begin = 0
    for number, length in enumerate(lengths):
        begins, counts = [0] * rank, [*x.shape]
        begins[axis], counts[axis] = begin, length
        _take(call, x, (begins, [1] * rank, counts), number)
        begin += length


def _take(
    call: EspCall, x: EspValue, part: tuple[list[int], list[int], list[int]], number: int
) -> None:
    """Add the call that copies a part of a value to an output: begins, steps, counts."""
    params = call.take(x.shape, *part)
    output = call.result(part[2], number, x.dtype)
    call.put(f"tflm_slice_{SUFFIXES[x.dtype]}", params, [x], output)


def gather(call: EspCall) -> None:
    """Convert Gather at constant places along an axis."""
    call.expect(2)
    x, places, chosen = call.value(0, *_MOVED), call.numbers(1), call.constant(1).shape
    rank = len(x.shape)
    axis = call.axis(call.integer("axis", 0), rank)
    side = x.shape[axis]
    if not places or not all(0 <= place < side for place in places):
        raise ModelError(
            f"its indices are {places[:9]} along an axis of {side}; they must be from 0 to "
            f"{side - 1}: the device counts none from the end"
        )
    counts = {
        **{"batches": 1, "outer": math.prod(x.shape[:axis]), "side": side, "depth": 1, "step_0": 1},
        **{f"step_{i}": 0 for i in range(1, 5)},
        **{"inner": math.prod(x.shape[axis + 1 :]), "count": len(places)},
    }
    output = call.result([*x.shape[:axis], *chosen, *x.shape[axis + 1 :]], 0, x.dtype)
    if len(places) == 1:  # as a slice, which exists for all types
        params = call.take(
            (counts["outer"], side, counts["inner"]),
            *((0, places[0], 0), (1, 1, 1), (counts["outer"], 1, counts["inner"])),
        )
        call.put(f"tflm_slice_{SUFFIXES[x.dtype]}", params, [x], output)
        return
    at = call.load("places", np.array(places, np.int32))
    call.put(f"tflm_gather_{SUFFIXES[x.dtype]}", counts, [x, at], output)


def gather_blocks(call: EspCall) -> None:
    """Convert SpaceToDepth: the pixels of each block become channels, of the first channel
    first."""
    x, block = _read_blocks(call)
    n, h, w, c = x.shape
    if h % block or w % block:
        raise ModelError(f"its input is {x}; its sides must be multiples of its blocksize, {block}")
    made = (n, h // block, w // block, c * block * block)
    _move(call, x, (n, h // block, block, w // block, block, c), (0, 1, 3, 5, 2, 4), made)


def spread_blocks(call: EspCall) -> None:
    """Convert DepthToSpace: channels become the pixels of blocks."""
    x, block = _read_blocks(call)
    n, h, w, c = x.shape
    mode, depth = call.text("mode", "") or "DCR", c // (block * block)
    if mode not in ("DCR", "CRD") or c % (block * block):
        raise ModelError(
            f"its mode is {mode!r}, its blocksize {block} and its input {x}; it must be DCR or "
            "CRD, of whole blocks"
        )
    if mode == "DCR" and depth != block:
        raise ModelError(
            f"its mode is DCR, with {depth} channels of output and blocksize {block}: ESP-DL 3.3.9 "
            "takes one for the other, and writes outside of its blocks if they differ; export "
            "with mode CRD"
        )
    made = (n, h * block, w * block, depth)
    if mode == "DCR":
        _move(call, x, (n, h, w, block, block, depth), (0, 1, 3, 2, 4, 5), made)
    else:
        _move(call, x, (n, h, w, depth, block, block), (0, 1, 4, 2, 5, 3), made)


def _read_blocks(call: EspCall) -> tuple[EspValue, int]:
    """Return an image, and the side of its blocks."""
    call.expect(1)
    x, block = call.operand(0, *_MOVED), call.integer("blocksize", 0)
    if len(x.shape) != 4 or not 1 <= block <= _MOST_BLOCK:
        raise ModelError(
            f"its blocksize is {block} and its input {x}; it must be 1 to {_MOST_BLOCK}, of 4 axes"
        )
    return x, block


def _move(
    call: EspCall, x: EspValue, sides: Sequence[int], order: Sequence[int], made: Sequence[int]
) -> None:
    """Add the call that reorders axes, of other sides than those of the file."""
    output = call.result(made, 0, x.dtype)
    call.put(f"tflm_transpose_{SUFFIXES[x.dtype]}", moves(sides, order), [x], output)


def pad(call: EspCall) -> None:
    """Convert Pad by a constant, of up to four axes."""
    call.expect(2, 3)
    x, counts, mode = call.value(0, *_MOVED), call.numbers(1), call.text("mode", "constant")
    rank = len(x.shape)
    if mode != "constant":
        raise ModelError(f"its mode is {mode!r}; only 'constant' is supported")
    if len(counts) != 2 * rank or min(counts, default=-1) < 0:
        raise ModelError(f"its pads are {counts[:9]}; it must have {2 * rank} from 0 on")
    before, after = counts[:rank], counts[rank:]
    output = call.result(
        [side + sum(more) for side, *more in zip(x.shape, before, after)], 0, x.dtype
    )
    missing = [0] * (4 - rank)
    params = {**sides("input", x.shape), "pad_value": _find_filling(call, x)}
    for name, numbers in (("pre", before), ("post", after)):
        params.update({f"{name}_{a}": n for a, n in zip(_AXES, [*missing, *numbers])})
    name = "arm_pad_s8" if x.dtype == "int8" else f"tflm_pad_{SUFFIXES[x.dtype]}"
    call.put(name, params, [x], output)


def _find_filling(call: EspCall, x: EspValue) -> int:
    """Return the integer that a Pad fills with."""
    if not call.has(2):
        return 0
    value = call.constant(2)
    is_zero = value.data.size == 1 and not value.data[0]
    if value.data.size != 1 or value.dtype != x.dtype or (x.dtype == "float32" and not is_zero):
        raise ModelError(f"it fills {x} with {value}; it must be one number of the same type")
    return int(value.data[0])


def insert_zeros(call: EspCall) -> None:
    """Convert InsertZeros: zeros between the pixels of an image, and after the last."""
    call.expect(1)
    x = call.operand(0)
    axes = len(x.shape) - 2
    if axes not in (1, 2):
        raise ModelError(f"its input is {x}; it must have 3 or 4 axes")
    steps = call.integers("stride", axes, (), 1)
    more = call.integers("output_padding", axes, [0] * axes, 0)
    (n, *inner, c), missing = x.shape, [1] * (2 - axes)
    spread = [side + (step - 1) * (side - 1) + end for side, step, end in zip(inner, steps, more)]
    output = call.result((n, *spread, c), 0, x.dtype)
    (h, w), (down, across) = [*missing, *inner], [*missing, *steps]
    tall, wide = [*missing, *spread]
    # Zeros follow each pixel, and then each row; the last pixel and row have too many or too few.
    wider = _pad_after(call, "pixels", replace(x, shape=(n * h * w, 1, 1, c)), across - 1)
    taller = _pad_after(call, "rows", replace(wider, shape=(n * h, 1, 1, w * across * c)), down - 1)
    rows, columns = max(tall, h * down), max(wide, w * across)
    grown = replace(taller, shape=(n, 1, h * down, w * across * c))
    grown = _pad_after(call, "below", grown, rows - h * down)
    grown = replace(grown, shape=(n * rows, 1, w * across, c))
    grown = _pad_after(call, "right", grown, columns - w * across)
    begins, counts = [0] * 4, [n, tall, wide, c]
    params = call.take((n, rows, columns, c), begins, [1] * 4, counts)
    call.put(f"tflm_slice_{SUFFIXES[x.dtype]}", params, [grown], output)


def _pad_after(call: EspCall, part: str, x: EspValue, more: int) -> EspValue:
    """Return a value [n, h, w, c] with zeros after its third axis."""
    if not more:
        return x
    n, h, w, c = x.shape
    params = {**sides("input", x.shape), "pad_value": 0}
    params.update({f"{end}_{axis}": 0 for end in ("pre", "post") for axis in _AXES})
    params["post_w"] = more
    name = "arm_pad_s8" if x.dtype == "int8" else f"tflm_pad_{SUFFIXES[x.dtype]}"
    return call.part(part, name, params, [x], replace(x, shape=(n, h, w + more, c)))


def stream(call: EspCall) -> None:
    """Convert StreamingCache: its last rows of input come before the next ones."""
    call.expect(1)
    x = call.value(0, *_MOVED)
    axis = call.axis(call.integer("frame_axis", 1), len(x.shape))
    rows = call.integer("window_size", 1) - 1
    if rows < 1:
        raise ModelError(f"its window_size is {rows + 1}; it must be 2 or more")
    if math.prod(x.shape[:axis]) != 1:
        raise ModelError(f"its input is {x}; the axes before axis {axis} must be of length 1")
    name, depth = call.node.outputs[0], math.prod(x.shape[axis + 1 :])
    shape, kept = [*x.shape], [*x.shape]
    shape[axis] += rows
    kept[axis] = rows
    suffix = SUFFIXES[x.dtype]
    cache = call.builder.add_state(replace(x, name=f"{name}/cache", shape=tuple(kept)))
    params = {"outer": 1, "inner1": rows * depth, "inner2": x.size}
    output = call.result(shape, 0, x.dtype)
    call.put(f"tflm_concatenation_{suffix}", params, [cache, x], output)
    params = call.take((output.size,), (x.size,), (1,), (cache.size,))
    last = call.part("last", f"tflm_slice_{suffix}", params, [output], cache)
    params = {"length": cache.size}
    call.part("kept", f"tflm_assign_variable_{suffix}", params, [cache, last], cache)


MOVEMENT: dict[str, Converter] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Identity": keep,
    "Concat": concatenate,
    "Transpose": transpose,
    "Slice": slice_,
    "Split": split,
    "Gather": gather,
    "SpaceToDepth": gather_blocks,
    "DepthToSpace": spread_blocks,
    "Pad": pad,
    "InsertZeros": insert_zeros,
    "StreamingCache": stream,
}
