"""The shapes and indices of Reshape, StridedSlice and the like, for constants and tensors alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Union

import numpy as np

from ...errors import ModelError
from ...operators import Shape
from .building import integer, integers
from .reading import TensorflowNode

#: Index of one axis in numpy; None adds an axis.
Index = Union[int, slice, None]


def axes(values: Sequence[int], rank: int) -> list[int]:
    """Return axes, counted from the end where negative, each once."""
    found = [axis + rank if axis < 0 else axis for axis in values]
    if len(set(found)) < len(found) or not all(0 <= axis < rank for axis in found):
        raise ModelError(f"{list(values)} are not axes of a tensor of {rank} axes")
    return found


def get_reshape(shape: Shape, target: np.ndarray) -> Shape:
    """Return the shape of a Reshape; -1 is the rest."""
    to = integers(target)
    known = math.prod(size for size in to if size != -1)
    if to.count(-1) == 1 and known > 0:
        to[to.index(-1)] = math.prod(shape) // known
    if min(to, default=0) < 0 or math.prod(to) != math.prod(shape):
        raise ModelError(f"a tensor {list(shape)} cannot be reshaped to {to}")
    return tuple(to)


def get_squeeze(node: TensorflowNode, shape: Shape) -> Shape:
    """Convert Squeeze: without the axes that are named; without all of one element if none are."""
    gone = axes(node.integers("squeeze_dims"), len(shape))
    return tuple(n for axis, n in enumerate(shape) if (axis not in gone if gone else n != 1))


def get_expand(shape: Shape, axis: np.ndarray) -> Shape:
    """Convert ExpandDims: with a new axis of one element."""
    (at,) = axes([integer(axis)], len(shape) + 1)
    return (*shape[:at], 1, *shape[at:])


def order(perm: np.ndarray, rank: int) -> list[int]:
    """Return the order of a Transpose: the input axis of each output axis."""
    found = axes(integers(perm), rank)
    if len(found) != rank:
        raise ModelError(f"its order {found} is not an order of {rank} axes")
    return found


def get_strided_slice(
    node: TensorflowNode, rank: int, begin: np.ndarray, end: np.ndarray, strides: np.ndarray
) -> tuple[Index, ...]:
    """Return the indices of a StridedSlice, one for each axis; bits of its masks are positions in
    begin.
    """
    starts, stops, steps = integers(begin), integers(end), integers(strides)
    if not len(starts) == len(stops) == len(steps) or 0 in steps:
        raise ModelError(f"it cannot slice from {starts} to {stops} by {steps}")
    masks = {
        kind: node.integer(f"{kind}_mask", 0)
        for kind in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    found: list[Index] = []
    for i, (start, stop, step) in enumerate(zip(starts, stops, steps)):
        masked = {kind for kind, mask in masks.items() if mask >> i & 1}
        if "ellipsis" in masked:
            behind = sum(not masks["new_axis"] >> j & 1 for j in range(i + 1, len(starts)))
            covered = rank - behind - sum(each is not None for each in found)
            found += [slice(None)] * covered
        elif "new_axis" in masked:
            found.append(None)
        elif "shrink_axis" in masked:
            found.append(start)
        else:
            first = None if "begin" in masked else start
            found.append(slice(first, None if "end" in masked else stop, step))
    return tuple(found)


def get_slice(begin: np.ndarray, size: np.ndarray) -> tuple[Index, ...]:
    """Return the indices of a Slice, one for each axis; a size of -1 is the rest."""
    starts, sizes = integers(begin), integers(size)
    if len(starts) != len(sizes) or min([*starts, 0]) < 0:
        raise ModelError(f"it cannot slice {sizes} elements from {starts} on")
    return tuple(
        slice(start, None if count == -1 else start + count) for start, count in zip(starts, sizes)
    )
