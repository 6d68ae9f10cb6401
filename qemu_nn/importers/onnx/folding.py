"""Constants computed from constants: the shape arithmetic in exported files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Callable

import numpy as np

from ...errors import ModelError
from ...operators import Shape
from . import indices
from .building import FOLD_LIMIT
from .call import OnnxCall
from .tensors import dtype_of


def fold(call: OnnxCall) -> np.ndarray:
    """Return the only output of a node of constants; ModelError where numpy cannot compute it."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(FOLDS[call.node.op](call))
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"its constants cannot be computed: {error}") from None


def _check_size(shape: Shape) -> None:
    """Refuse an array before it is allocated."""
    if math.prod(shape) > FOLD_LIMIT or min(shape, default=0) < 0:
        raise ModelError(f"a constant of the shape {list(shape)} is too large")


def _arithmetic(ufunc: Callable[..., Any]) -> Callable[[OnnxCall], np.ndarray]:
    def compute(call: OnnxCall) -> np.ndarray:
        result = call.array(0)
        for i in range(1, len(call.inputs)):
            _check_size(np.broadcast_shapes(result.shape, call.array(i).shape))
            result = ufunc(result, call.array(i))
        return result

    return compute


def _unary(ufunc: Callable[..., Any]) -> Callable[[OnnxCall], np.ndarray]:
    return lambda call: ufunc(call.array(0))


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the quotient; integers are divided towards zero, as in C."""
    result: np.ndarray
    if a.dtype.kind == "f":
        result = a / b
        return result
    if not np.all(b):
        raise ModelError("it divides by zero")
    quotient: np.ndarray = a // b
    result = quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)
    return result


def _constant(call: OnnxCall) -> np.ndarray:
    """Constant: a tensor, a number or a list of numbers."""
    key, value = next(iter(call.node.attributes.items()), ("", None))
    call.ignore(key)
    if key == "value":
        return call.get_stored_array(key)
    if key in ("value_int", "value_ints"):
        return np.array(value, np.int64)
    if key in ("value_float", "value_floats"):
        return np.array(value, np.float32)
    raise ModelError(
        f"its value is in {key or 'nothing'!r}; have: value, value_int(s), value_float(s)"
    )


def _fold_fill(call: OnnxCall) -> np.ndarray:
    """ConstantOfShape: one value everywhere, float 0 if none is given."""
    shape = tuple(call.integers("shape", at=0) or ())
    _check_size(shape)
    given = "value" in call.node.attributes
    value = call.get_stored_array("value") if given else np.zeros(1, np.float32)
    return np.full(shape, value.reshape(()), value.dtype)


def _clip(call: OnnxCall) -> np.ndarray:
    """Compute Clip, whose bounds are inputs since operator set 11."""
    result = call.array(0)
    for key, at, bound in (("min", 1, np.maximum), ("max", 2, np.minimum)):
        if call.has(at):
            result = bound(result, call.array(at))
        elif key in call.node.attributes:
            result = bound(result, np.float32(call.number(key, 0.0)))
    return result


def _cast(call: OnnxCall) -> np.ndarray:
    _check_size(call.array(0).shape)
    return call.array(0).astype(dtype_of(call.integer("to", 0)))


def _gather(call: OnnxCall) -> np.ndarray:
    array, index = call.array(0), call.array(1)
    axis = indices.axis(call, 0, array.ndim)
    _check_size((*array.shape[:axis], *index.shape, *array.shape[axis + 1 :]))
    return np.take(array, index, axis)


def _concat(call: OnnxCall) -> np.ndarray:
    arrays = [call.array(i) for i in range(len(call.inputs))]
    _check_size((sum(array.size for array in arrays),))
    return np.concatenate(arrays, indices.axis(call, None, arrays[0].ndim))


def _slice(call: OnnxCall) -> np.ndarray:
    array = call.array(0)
    for axis, kept in indices.cuts(call, array.shape).items():
        array = np.take(array, np.array(kept, np.int64), axis)
    return array


def _fold_reduce(call: OnnxCall) -> np.ndarray:
    """Fold ReduceProd, such as the product of the sizes of a shape."""
    array = call.array(0)
    named = call.integers("axes", at=1)
    axes = tuple(indices.axes(named, array.ndim)) if named else None
    result: np.ndarray = np.prod(
        array, axes, array.dtype, keepdims=bool(call.integer("keepdims", 1))
    )
    return result


def _range(call: OnnxCall) -> np.ndarray:
    start, stop, step = (call.array(i).reshape(()) for i in range(3))
    count = max(math.ceil((stop - start) / step), 0)
    _check_size((count,))
    result: np.ndarray = (start + step * np.arange(count)).astype(start.dtype)
    return result


def _expand(call: OnnxCall) -> np.ndarray:
    array, shape = call.array(0), tuple(call.integers("shape", at=1) or ())
    shape = np.broadcast_shapes(array.shape, shape)
    _check_size(shape)
    return np.broadcast_to(array, shape)


def _where(call: OnnxCall) -> np.ndarray:
    condition, yes, no = (call.array(i) for i in range(3))
    _check_size(np.broadcast_shapes(condition.shape, yes.shape, no.shape))
    return np.where(condition, yes, no)


def _fold_move(shape_of: Callable[[OnnxCall, Shape], Shape]) -> Callable[[OnnxCall], np.ndarray]:
    return lambda call: call.array(0).reshape(shape_of(call, call.array(0).shape))


#: Operator -> function that computes its array from constants.
FOLDS: Mapping[str, Callable[[OnnxCall], np.ndarray]] = {
    "Constant": _constant,
    "ConstantOfShape": _fold_fill,
    "Range": _range,
    "Expand": _expand,
    "Cast": _cast,
    "Identity": lambda call: call.array(0),
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Where": _where,
    "ReduceProd": _fold_reduce,
    "Transpose": lambda call: call.array(0).transpose(indices.order(call, call.array(0).ndim)),
    "Reshape": _fold_move(indices.get_reshape),
    "Flatten": _fold_move(indices.get_flatten),
    "Squeeze": _fold_move(indices.get_squeeze),
    "Unsqueeze": _fold_move(indices.get_unsqueeze),
    "Add": _arithmetic(np.add),
    "Sub": _arithmetic(np.subtract),
    "Mul": _arithmetic(np.multiply),
    "Div": _arithmetic(_divide),
    "Pow": _arithmetic(np.power),
    "Max": _arithmetic(np.maximum),
    "Min": _arithmetic(np.minimum),
    "Sum": _arithmetic(np.add),
    "Clip": _clip,
    "Equal": _arithmetic(np.equal),
    "Neg": _unary(np.negative),
    "Sqrt": _unary(np.sqrt),
    "Reciprocal": _unary(np.reciprocal),
    "Floor": _unary(np.floor),
    "Ceil": _unary(np.ceil),
}
