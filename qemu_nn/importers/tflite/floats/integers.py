"""Operators on constant integers: the shapes that files compute for an open batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Callable

import numpy as np

from ....errors import ModelError
from ...tensor import Tensor
from .building import FloatCall

#: Maximum elements of a constant that is computed here.
_MOST = 2**16


def _shape(call: FloatCall) -> np.ndarray:
    """Return the shape of a tensor, for a batch of 1."""
    return np.array(call.value(0).shape, np.int64)


def _slice(call: FloatCall) -> np.ndarray:
    """Return the elements of SLICE."""
    x, begins, sizes = call.array(0), call.integers(1), call.integers(2)
    cuts = [slice(b, None if n == -1 else b + n) for b, n in zip(begins, sizes)]
    return x[tuple(cuts)]


def _strided_slice(call: FloatCall) -> np.ndarray:
    """Return the elements of STRIDED_SLICE without an ellipsis or new axes."""
    options, x = call.read_options("StridedSliceOptions"), call.array(0)
    masks = {name: options.integer(f"{name}Mask") for name in ("Begin", "End", "ShrinkAxis")}
    if any(options.integer(f"{name}Mask") for name in ("Ellipsis", "NewAxis")):
        raise ModelError("it has an ellipsis or new axes; those are not supported")
    cuts: list[slice | int] = []
    for axis, (begin, end, step) in enumerate(zip(*(call.integers(at) for at in (1, 2, 3)))):
        first = None if masks["Begin"] >> axis & 1 else begin
        last = None if masks["End"] >> axis & 1 else end
        cuts.append(begin if masks["ShrinkAxis"] >> axis & 1 else slice(first, last, step))
    return np.asarray(x[tuple(cuts)])


def _gather(call: FloatCall) -> np.ndarray:
    """Return the elements of GATHER."""
    axis = call.read_options("GatherOptions").integer("Axis", -8, 8)
    return np.take(call.array(0), call.array(1), axis=axis)


def _join(call: FloatCall, new: bool) -> np.ndarray:
    """Return constants joined along an axis, or along a new axis."""
    kind = "PackOptions" if new else "ConcatenationOptions"
    axis = call.read_options(kind).integer("Axis", -8, 8)
    arrays = [call.array(at) for at in range(len(call.operator.inputs))]
    return np.stack(arrays, axis) if new else np.concatenate(arrays, axis)


def _reduce(call: FloatCall, function: Callable[..., np.ndarray]) -> np.ndarray:
    """Return a reduction over axes."""
    keeps = call.read_options("ReducerOptions").flag("KeepDims")
    axes = tuple(call.integers(1))
    return np.asarray(function(call.array(0), axis=axes, keepdims=keeps))


def _reshape(call: FloatCall) -> np.ndarray:
    """Return a constant in the shape that RESHAPE, SQUEEZE or EXPAND_DIMS gives it."""
    return call.array(0).reshape(call.builder.model.tensor(call.operator.outputs[0]).shape)


def _cast(call: FloatCall) -> np.ndarray:
    """Return the same integers."""
    if not call.builder.model.tensor(call.operator.outputs[0]).type.startswith("INT"):
        raise ModelError("it converts constant integers to another type; only INT is supported")
    return call.array(0).astype(np.int64)


def _binary(call: FloatCall, function: Callable[..., np.ndarray]) -> np.ndarray:
    """Return a function of two operands."""
    first, second = call.array(0).astype(np.int64), call.array(1).astype(np.int64)
    if function is np.floor_divide and not second.all():
        raise ModelError("it divides by zero")
    return np.asarray(function(first, second))


def _fill(call: FloatCall) -> np.ndarray:
    """Return a number in every element of a shape."""
    shape = call.integers(0)
    if min(shape, default=0) < 0 or math.prod(shape) > _MOST:
        raise ModelError(f"it fills the shape {shape}; up to {_MOST} elements are supported")
    return np.full(shape, call.array(1).reshape(()))


_FOLDS: Mapping[str, Callable[[FloatCall], np.ndarray]] = {
    "SHAPE": _shape,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "GATHER": _gather,
    "PACK": partial(_join, new=True),
    "CONCATENATION": partial(_join, new=False),
    "REDUCE_PROD": partial(_reduce, function=np.prod),
    "REDUCE_MAX": partial(_reduce, function=np.max),
    "REDUCE_MIN": partial(_reduce, function=np.min),
    "SUM": partial(_reduce, function=np.sum),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
    "CAST": _cast,
    "ADD": partial(_binary, function=np.add),
    "SUB": partial(_binary, function=np.subtract),
    "MUL": partial(_binary, function=np.multiply),
    **dict.fromkeys(("DIV", "FLOOR_DIV"), partial(_binary, function=np.floor_divide)),
    "MAXIMUM": partial(_binary, function=np.maximum),
    "MINIMUM": partial(_binary, function=np.minimum),
    "FILL": _fill,
    "LESS": partial(_binary, function=np.less),
    "LESS_EQUAL": partial(_binary, function=np.less_equal),
    "GREATER": partial(_binary, function=np.greater),
    "GREATER_EQUAL": partial(_binary, function=np.greater_equal),
    "EQUAL": partial(_binary, function=np.equal),
    "NOT_EQUAL": partial(_binary, function=np.not_equal),
    "LOGICAL_AND": partial(_binary, function=np.logical_and),
    "LOGICAL_OR": partial(_binary, function=np.logical_or),
}


def fold_integers(call: FloatCall) -> None:
    """Set the output of an operator of constant integers, or of SHAPE."""
    name = call.operator.name
    if name not in _FOLDS:
        raise ModelError("the operator is not supported for constant integers")
    computed = [
        value
        for at in range(len(call.operator.inputs))
        if call.has(at) and isinstance(value := call.value(at), Tensor)
    ]
    if computed and name != "SHAPE":
        raise ModelError(f"it computes integers from {computed[0].name[:60]!r}")
    try:
        made = _FOLDS[name](call)
    except (ValueError, IndexError, TypeError) as error:
        raise ModelError(f"its constants do not fit: {error}") from None
    if made.size > _MOST:
        raise ModelError(f"it makes {made.size} integers; up to {_MOST} are supported")
    call.builder.set_constant(call.operator.outputs[0], made)
