"""The shapes and indices of Reshape, Slice and the like, for constants and tensors alike."""

from __future__ import annotations

import math
from typing import Optional

from ...errors import ModelError
from ...operators import Shape
from .call import OnnxCall


def axes(values: list[int], rank: int) -> list[int]:
    """Return axes, counted from the end where negative, each once."""
    found = [axis + rank if axis < 0 else axis for axis in values]
    if len(set(found)) < len(found) or not all(0 <= axis < rank for axis in found):
        raise ModelError(f"its axes are {values}; they must be axes of a tensor of {rank} axes")
    return found


def axis(call: OnnxCall, default: Optional[int], rank: int) -> int:
    """Return the attribute "axis" as a number from 0; without a default it is required."""
    if default is None and "axis" not in call.node.attributes:
        raise ModelError("its attribute 'axis' is missing")
    return axes([call.integer("axis", default or 0)], rank)[0]


def order(call: OnnxCall, rank: int) -> list[int]:
    """Return the order of a Transpose: the input axis of each output axis."""
    permutation = call.integers("perm")
    order = list(range(rank))[::-1] if permutation is None else axes(permutation, rank)
    if len(order) != rank:
        raise ModelError(f"its order is {order}; it must be a permutation of {rank} axes")
    return order


def get_reshape(call: OnnxCall, shape: Shape) -> Shape:
    """Return the shape of a Reshape; 0 keeps an axis, -1 is the rest."""
    target = call.integers("shape", at=1)
    if target is None:
        raise ModelError("its shape is missing")
    if not call.integer("allowzero", 0):
        if any(not n and i >= len(shape) for i, n in enumerate(target)):
            raise ModelError(f"its shape {target} keeps axes that {list(shape)} does not have")
        target = [n or shape[i] for i, n in enumerate(target)]
    known = math.prod(n for n in target if n != -1)
    if target.count(-1) == 1 and known > 0:
        target[target.index(-1)] = math.prod(shape) // known
    if min(target, default=0) < 0 or math.prod(target) != math.prod(shape):
        raise ModelError(f"a tensor {list(shape)} cannot be reshaped to {target}")
    return tuple(target)


def get_flatten(call: OnnxCall, shape: Shape) -> Shape:
    """Return the shape of a Flatten: the axes before `axis`, and the rest."""
    axis = call.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise ModelError(f"{list(shape)} has no axis {axis}")
    return (math.prod(shape[:axis]), math.prod(shape[axis:])) if axis else (1, math.prod(shape))


def get_squeeze(call: OnnxCall, shape: Shape) -> Shape:
    """Convert Squeeze: without the axes that are named, or without all of one element."""
    named = call.integers("axes", at=1)
    if named is None:
        return tuple(n for n in shape if n != 1)
    gone = axes(named, len(shape))
    if any(shape[axis] != 1 for axis in gone):
        raise ModelError(f"the axes {gone} of {list(shape)} do not all have one element")
    return tuple(n for axis, n in enumerate(shape) if axis not in gone)


def get_unsqueeze(call: OnnxCall, shape: Shape) -> Shape:
    """Convert Unsqueeze: with new axes of one element, numbered as in the output."""
    named = call.integers("axes", at=1)
    if named is None:
        raise ModelError("its axes are missing")
    new, old = axes(named, len(shape) + len(named)), iter(shape)
    return tuple(1 if axis in new else next(old) for axis in range(len(shape) + len(named)))


def cuts(call: OnnxCall, shape: Shape) -> dict[int, range]:
    """Return the cuts of a Slice: axis -> its remaining elements."""
    starts, stops = call.integers("starts", at=1), call.integers("ends", at=2)
    if starts is None or stops is None:
        raise ModelError("its starts or ends are missing")
    named = call.integers("axes", at=3)
    where = axes(list(range(len(starts))) if named is None else named, len(shape))
    steps = call.integers("steps", at=4) or [1] * len(starts)
    if not len(starts) == len(stops) == len(steps) == len(where) or 0 in steps:
        raise ModelError(
            f"it cannot slice from {starts} to {stops} by {steps} along the axes {where}"
        )
    return {
        axis: range(shape[axis])[start:stop:step]
        for axis, start, stop, step in zip(where, starts, stops, steps)
    }
