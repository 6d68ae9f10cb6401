"""Operators that move elements (reshaping, joining, cutting, padding) or do nothing."""

from __future__ import annotations

from functools import partial
from typing import Callable

import numpy as np

from ...errors import ModelError
from ...operators import Concat, Identity, Pad, Shape, Slice, Transpose
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
    if x.batched:
        if order[0] != 0:
            raise ModelError("it moves the batch axis; samples must be independent")
        order = [axis - 1 for axis in order[1:]]
    call.put(Transpose(tuple(order)), x)


def concat(call: OnnxCall) -> None:
    """Convert Concat of tensors."""
    tensors = [call.tensor(i) for i in range(len(call.inputs))]
    axis = indices.axis(call, None, len(tensors[0].shape))
    if len({(x.batched, len(x.shape)) for x in tensors}) > 1:
        raise ModelError(f"it cannot join {', '.join(str(list(x.shape)) for x in tensors)}")
    call.put(Concat(tensors[0].axis(axis)), *tensors)


def slice_(call: OnnxCall) -> None:
    """Slice: one operator for each axis that is cut."""
    x = call.tensor()
    cuts = {a: kept for a, kept in indices.cuts(call, x.shape).items() if kept != range(x.shape[a])}
    if not cuts:
        call.put(Identity(), x)
    for i, (axis, kept) in enumerate(cuts.items(), 1):
        if not kept or kept.step < 0:
            raise ModelError(
                f"it keeps {kept} of axis {axis}; a slice must go forward and keep something"
            )
        operator = Slice(x.axis(axis), kept.start, kept[-1] + 1, kept.step)
        x = call.put(operator, x, part=str(i) if i < len(cuts) else "")


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
    """Convert Gather of one element of an axis."""
    x, index = call.tensor(), call.array(1)
    axis = indices.axis(call, 0, len(x.shape))
    if index.dtype.kind not in "iu" or index.size != 1:
        raise ModelError(f"it gathers {index.size} elements of axis {axis}; only one is supported")
    size, at = x.shape[axis], int(index.reshape(()))
    if not -size <= at < size:
        raise ModelError(f"axis {axis} of {list(x.shape)} has no element {at}")
    one = call.put(Slice(x.axis(axis), at % size, at % size + 1), x, part="one")
    call.reshape(one, (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


def pad(call: OnnxCall) -> None:
    """Pad with a constant, around any axes but the batch."""
    x, pads = call.tensor(), call.integers("pads", at=1)
    mode = call.text("mode", "constant")
    if mode != "constant":
        raise ModelError(f"it pads with mode {mode!r}; only 'constant' is supported")
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
    call.put(Pad(tuple(around), call.limit("value", 2, 0.0)), x)


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
    "Pad": pad,
    "Identity": partial(convert_move, shape_of=lambda call, shape: shape),
    "Dropout": dropout,
    "Cast": cast,
    "Shape": shape,
    "Size": size,
}
