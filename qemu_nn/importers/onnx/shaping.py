"""Operators that move elements (reshaping, joining, cutting, padding) or do nothing."""

from __future__ import annotations

from functools import partial
from typing import Callable

import numpy as np

from ...errors import ModelError
from ...operators import (
    Concat,
    DepthToSpace,
    Gather,
    Identity,
    Operator,
    Pad,
    Shape,
    Slice,
    SpaceToDepth,
    Transpose,
)
from ..tensor import Tensor
from . import indices
from .call import Converter, OnnxCall
from .tensors import FLOAT_TYPES, type_name


def convert_move(call: OnnxCall, shape_of: Callable[[OnnxCall, Shape], Shape]) -> None:
    """Reshape, Flatten, Squeeze, Unsqueeze: the same elements in another shape."""
    x = call.tensor()
    call.reshape(x, shape_of(call, x.shape))


def transpose(call: OnnxCall) -> None:
    """Transpose, of all axes but the batch."""
    x = call.tensor()
    order = indices.order(call, len(x.shape))
    if order == _STEPS_FIRST and (x.batched or x.shape[1] == 1):
        shape = (x.shape[1], x.shape[0], x.shape[2])  # one of both axes is the batch of 1
        call.reshape(x, shape, batched=not x.batched)
        return
    if x.batched:
        if order[0] != 0:
            raise ModelError("it moves the batch axis; samples must be independent")
        order = [axis - 1 for axis in order[1:]]
    call.put(Transpose(tuple(order)), x)


#: The order of axes that exchanges batch and time steps, around recurrent operators.
_STEPS_FIRST = [1, 0, 2]


def concat(call: OnnxCall) -> None:
    """Convert Concat of tensors."""
    tensors = [call.tensor(i) for i in range(len(call.inputs))]
    axis = indices.axis(call, None, len(tensors[0].shape))
    if len({(x.batched, len(x.shape)) for x in tensors}) > 1:
        raise ModelError(
            f"its inputs are {', '.join(str(list(x.shape)) for x in tensors)}; axes other than "
            "the joined one must be equal"
        )
    call.put(Concat(tensors[0].axis(axis)), *tensors)


def slice_(call: OnnxCall) -> None:
    """Slice: one operator for each axis that is cut."""
    x = call.tensor()
    cuts = {a: kept for a, kept in indices.cuts(call, x.shape).items() if kept != range(x.shape[a])}
    if not cuts:
        call.put(Identity(), x)
    for i, (axis, kept) in enumerate(cuts.items(), 1):
        if not kept:
            raise ModelError(
                f"its slice of axis {axis} is empty; it must keep at least one element"
            )
        part = str(i) if i < len(cuts) else ""
        if kept.step < 0:
            x = call.put(Gather(x.axis(axis), tuple(kept)), x, part=part)
        else:
            x = call.put(Slice(x.axis(axis), kept.start, kept[-1] + 1, kept.step), x, part=part)


def split(call: OnnxCall) -> None:
    """Split: one slice for each output."""
    x, outputs = call.tensor(), call.node.outputs
    axis = x.axis(call.integer("axis", 0))
    total, sizes = x.sample[axis], call.integers("split", at=1)
    if sizes is None:
        parts = call.integer("num_outputs", len(outputs))
        if parts != len(outputs) or total < parts:
            raise ModelError(f"{total} elements cannot be split into {parts} parts")
        size = -(-total // parts)
        sizes = [min(size, total - i * size) for i in range(parts)]
    if sum(sizes) != total or min(sizes) < 1 or len(sizes) != len(outputs):
        raise ModelError(f"{total} elements cannot be split into {sizes}")
    start = 0
    for name, size in zip(outputs, sizes):
        if name:
            call.builder.add(name, Slice(axis, start, start + size), (x,), x.batched)
        start += size


def gather(call: OnnxCall) -> None:
    """Convert Gather of constant places of an axis."""
    x, index = call.tensor(), call.array(1)
    axis = indices.axis(call, 0, len(x.shape))
    size = x.shape[axis]
    if index.dtype.kind not in "iu" or not 1 <= index.size <= _MOST_PLACES:
        raise ModelError(f"it gathers {index.size} elements of axis {axis}")
    far = index[(index < -size) | (index >= size)]
    if far.size:
        raise ModelError(f"axis {axis} of {list(x.shape)} has no element {int(far.flat[0])}")
    places = tuple(int(place) % size for place in index.ravel())
    taken = call.put(_take(x.axis(axis), places), x, part="places")
    call.reshape(taken, (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


def _take(axis: int, places: tuple[int, ...]) -> Operator:
    """Return a slice of consecutive places, or a lookup of any."""
    if places == tuple(range(places[0], places[0] + len(places))):
        return Slice(axis, places[0], places[-1] + 1)
    return Gather(axis, places)


#: Most places of a lookup along one axis.
_MOST_PLACES = 65535


def _take_axes(call: OnnxCall, x: Tensor, places: dict[int, list[int]]) -> None:
    """Add lookups along several axes of a sample."""
    moved = [(axis, each) for axis, each in places.items() if each != [*range(x.sample[axis])]]
    if any(len(each) > _MOST_PLACES for _, each in moved):
        raise ModelError(
            f"its axis would have more than {_MOST_PLACES} elements, the most that are supported"
        )
    if not moved:
        call.put(Identity(), x)
    for index, (axis, each) in enumerate(moved, 1):
        part = f"axis{axis}" if index < len(moved) else ""
        x = call.put(Gather(axis, tuple(each)), x, part=part)


def tile(call: OnnxCall) -> None:
    """Convert Tile: axes of a sample, several times."""
    x, counts = call.tensor(), call.integers("repeats", at=1)
    if counts is None or len(counts) != len(x.shape) or min(counts) < 1:
        raise ModelError(f"its repeats {counts} do not fit {list(x.shape)}")
    places = {}
    for axis, count in enumerate(counts):
        if count * x.shape[axis] > _MOST_PLACES:
            raise ModelError(f"it repeats axis {axis} {count} times")
        if count > 1:
            places[x.axis(axis)] = [*range(x.shape[axis])] * count
    _take_axes(call, x, places)


def expand(call: OnnxCall) -> None:
    """Convert Expand: axes of one element, several times."""
    x, target = call.tensor(), call.integers("shape", at=1)
    if target is None:
        raise ModelError("its shape is missing")
    try:
        whole = np.broadcast_shapes(x.shape, tuple(target))
    except ValueError:
        raise ModelError(f"{list(x.shape)} does not broadcast to {target}") from None
    if max(whole) > _MOST_PLACES:
        raise ModelError(f"its shape {target} is too large")
    if len(whole) > len(x.shape):
        added = (1,) * (len(whole) - len(x.shape)) + x.shape
        x = call.reshape(x, added, part="axes", batched=whole[:1] == (1,))
    spread = {axis: n for axis, n in enumerate(whole) if x.shape[axis] != n}
    _take_axes(call, x, {x.axis(axis): [0] * n for axis, n in spread.items()})


def pad(call: OnnxCall) -> None:
    """Pad with a constant or with elements of the tensor, around any axes but the batch."""
    x, pads = call.tensor(), call.integers("pads", at=1)
    mode = call.text("mode", "constant")
    if pads is None:
        raise ModelError("its pads are missing")
    named = call.integers("axes", at=3)
    axes = indices.axes(list(range(len(x.shape))) if named is None else named, len(x.shape))
    if len(pads) != 2 * len(axes):
        raise ModelError(f"its pads {pads} must be two numbers for each of {len(axes)} axes")
    around = [(0, 0)] * len(x.sample)
    for axis, before, after in zip(axes, pads, pads[len(axes) :]):
        if before or after:
            around[x.axis(axis)] = (before, after)
    if mode == "constant":
        call.put(Pad(tuple(around), call.limit("value", 2, 0.0)), x)
        return
    call.has(2)  # a value, which these modes ignore
    if max(map(max, around), default=0) > _MOST_PLACES:
        raise ModelError(
            f"its axis would have more than {_MOST_PLACES} elements, the most that are supported"
        )
    places = {
        axis: [_place(mode, at, x.sample[axis]) for at in range(-before, x.sample[axis] + after)]
        for axis, (before, after) in enumerate(around)
    }
    _take_axes(call, x, places)


def _place(mode: str, at: int, size: int) -> int:
    """Return the element that padding has at a place of an axis."""
    if mode == "edge":
        return min(max(at, 0), size - 1)
    if mode == "wrap":
        return at % size
    if mode != "reflect":
        raise ModelError(f"it pads with mode {mode!r}; have: constant, edge, reflect, wrap")
    period = max(2 * size - 2, 1)
    return min(at % period, period - at % period) if size > 1 else 0


def depth_to_space(call: OnnxCall, back: bool = False) -> None:
    """Convert DepthToSpace, and SpaceToDepth."""
    x, block = call.tensor(), call.integer("blocksize", 0)
    if len(x.shape) != 4 or not x.batched:
        raise ModelError(f"its input must be an image [1, C, H, W], not {list(x.shape)}")
    if back:
        call.put(SpaceToDepth(block, layout="NCHW"), x)
        return
    mode = call.text("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise ModelError(f"its mode is {mode!r}; have: DCR, CRD")
    call.put(DepthToSpace(block, mode == "DCR", "NCHW"), x)


def dropout(call: OnnxCall) -> None:
    """Convert Dropout, which is an identity outside training."""
    call.ignore("ratio", "seed", "is_test")
    call.has(1)  # as is the ratio
    if call.has(2) and call.array(2).any():
        raise ModelError("it drops elements at random (training_mode); export for inference")
    call.put(Identity(), call.tensor())


def cast(call: OnnxCall) -> None:
    """Convert a Cast between floats."""
    call.ignore("saturate", "round_mode")  # of 8-bit floats
    to = call.integer("to", 0)
    if to not in FLOAT_TYPES:
        raise ModelError(f"it converts a tensor to {type_name(to)}; only floats are supported")
    call.put(Identity(), call.tensor())


def shape(call: OnnxCall) -> None:
    """Convert Shape, of a batch of 1: a constant."""
    value = call.value(0)
    rank = len(value.shape)
    start, end, _ = slice(call.integer("start", 0), call.integer("end", rank)).indices(rank)
    call.builder.fold(call.node, np.array(value.shape[start:end], np.int64))


def size(call: OnnxCall) -> None:
    """Convert Size, of a batch of 1: a constant."""
    call.builder.fold(call.node, np.array(np.prod(call.value(0).shape, dtype=np.int64)))


SHAPING: dict[str, Converter] = {
    "Reshape": partial(convert_move, shape_of=indices.get_reshape),
    "Flatten": partial(convert_move, shape_of=indices.get_flatten),
    "Squeeze": partial(convert_move, shape_of=indices.get_squeeze),
    "Unsqueeze": partial(convert_move, shape_of=indices.get_unsqueeze),
    "Transpose": transpose,
    "Concat": concat,
    "Slice": slice_,
    "Split": split,
    "Gather": gather,
    "Tile": tile,
    "Expand": expand,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": partial(depth_to_space, back=True),
    "Pad": pad,
    "Identity": partial(convert_move, shape_of=lambda call, shape: shape),
    "Dropout": dropout,
    "Cast": cast,
    "Shape": shape,
    "Size": size,
}
