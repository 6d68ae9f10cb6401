"""Constants computed from constants: batch normalization written out, arithmetic on shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Callable

import numpy as np

from ...errors import ModelError
from ..tensor import Value
from . import indices
from .building import SizeBudget, integer, integers
from .reading import TensorflowNode
from .tensors import array_of, dtype_of

#: Function that computes the array of a node from its inputs, after a check of its size.
Fold = Callable[..., np.ndarray]


def fold(node: TensorflowNode, budget: SizeBudget, values: Sequence[Value]) -> np.ndarray:
    """Return the only output of a node of constants; ModelError where it cannot be computed."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(FOLDS[node.op](node, budget, *values))
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        reason = error if isinstance(error, ModelError) else f"it cannot be computed: {error}"
        raise ModelError(f"{node}: {reason}") from None


def constants(order: Iterable[TensorflowNode], budget: SizeBudget) -> dict[str, np.ndarray]:
    """Return tensor -> array, of the nodes that do not depend on any input."""
    found: dict[str, np.ndarray] = {}
    for node in order:
        if node.op in FOLDS and all(name in found for name in node.inputs):
            found[node.name] = fold(node, budget, [found[name] for name in node.inputs])
    return found


def _const(node: TensorflowNode, budget: SizeBudget) -> np.ndarray:
    return array_of(node.tensor("value"), budget.spend) if node.array is None else node.array


def _arithmetic(ufunc: Callable[..., Any]) -> Fold:
    """Return the result in float64, for later folding."""

    def compute(
        node: TensorflowNode, budget: SizeBudget, a: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        budget.spend(math.prod(np.broadcast_shapes(a.shape, b.shape)))
        result: np.ndarray = ufunc(_wide(a), _wide(b))
        return result

    return compute


def _unary(ufunc: Callable[..., Any]) -> Fold:
    def compute(node: TensorflowNode, budget: SizeBudget, array: np.ndarray) -> np.ndarray:
        budget.spend(array.size)
        result: np.ndarray = ufunc(_wide(array))
        return result

    return compute


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _cast(node: TensorflowNode, budget: SizeBudget, array: np.ndarray) -> np.ndarray:
    budget.spend(array.size)
    return array.astype(dtype_of(node.type("DstT")))


def _pack(node: TensorflowNode, budget: SizeBudget, *arrays: np.ndarray) -> np.ndarray:
    budget.spend(sum(array.size for array in arrays))
    return np.stack(arrays, node.integer("axis", 0))


def _concat(node: TensorflowNode, budget: SizeBudget, *arrays: np.ndarray) -> np.ndarray:
    budget.spend(sum(array.size for array in arrays))
    return np.concatenate(arrays[:-1], integer(arrays[-1]))


def _fill(
    node: TensorflowNode, budget: SizeBudget, shape: np.ndarray, value: np.ndarray
) -> np.ndarray:
    to = tuple(integers(shape))
    budget.spend(math.prod(to))
    return np.full(to, value.reshape(()), value.dtype)


def _matmul(node: TensorflowNode, budget: SizeBudget, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a = a.T if node.flag("transpose_a") else a
    b = b.T if node.flag("transpose_b") else b
    budget.spend(len(a) * b.shape[-1])
    product: np.ndarray = np.matmul(a, b)
    return product


def _largest(
    node: TensorflowNode, budget: SizeBudget, array: np.ndarray, axes: np.ndarray
) -> np.ndarray:
    over = tuple(indices.axes(integers(axes), array.ndim))
    found: np.ndarray = np.max(array, over, keepdims=node.flag("keep_dims"))
    return found


def _range(
    node: TensorflowNode, budget: SizeBudget, start: np.ndarray, end: np.ndarray, step: np.ndarray
) -> np.ndarray:
    first, last, by = (float(array.reshape(())) for array in (start, end, step))
    if not by or not math.isfinite((last - first) / by):
        raise ModelError("its step must not be 0")
    budget.spend(max(0, math.ceil((last - first) / by)))
    return np.arange(first, last, by).astype(start.dtype)


def _gather(
    node: TensorflowNode, budget: SizeBudget, array: np.ndarray, index: np.ndarray, axis: np.ndarray
) -> np.ndarray:
    (at,) = indices.axes([integer(axis)], array.ndim)
    budget.spend(index.size * (array.size // max(array.shape[at], 1)))
    return np.take(array, index, at)


def _product(
    node: TensorflowNode, budget: SizeBudget, array: np.ndarray, axes: np.ndarray
) -> np.ndarray:
    over = tuple(indices.axes(integers(axes), array.ndim))
    product: np.ndarray = np.prod(array, over, array.dtype, keepdims=node.flag("keep_dims"))
    return product


def _cut(array: np.ndarray, index: tuple[indices.Index, ...]) -> np.ndarray:
    return np.asarray(array[index])


def _fold_identity(node: TensorflowNode, budget: SizeBudget, array: np.ndarray) -> np.ndarray:
    return array


#: Operators that read only the shape of a tensor, which is known even if the tensor is computed.
SHAPES = ("Shape", "Size", "Rank")

#: Operator -> function that computes its array from constants.
FOLDS: dict[str, Fold] = {
    "Const": _const,
    **dict.fromkeys(
        ("Identity", "StopGradient", "CheckNumerics", "Snapshot", "PlaceholderWithDefault"),
        _fold_identity,
    ),
    "Cast": _cast,
    "Reshape": lambda node, budget, a, to: a.reshape(indices.get_reshape(a.shape, to)),
    "Squeeze": lambda node, budget, a: a.reshape(indices.get_squeeze(node, a.shape)),
    "ExpandDims": lambda node, budget, a, axis: a.reshape(indices.get_expand(a.shape, axis)),
    "Transpose": lambda node, budget, a, perm: a.transpose(indices.order(perm, a.ndim)),
    "StridedSlice": lambda node, budget, a, *cut: _cut(
        a, indices.get_strided_slice(node, a.ndim, *cut)
    ),
    "Slice": lambda node, budget, a, *cut: _cut(a, indices.get_slice(*cut)),
    "GatherV2": _gather,
    "Pack": _pack,
    "ConcatV2": _concat,
    "Fill": _fill,
    "MatMul": _matmul,
    "Max": _largest,
    "Less": lambda node, budget, a, b: np.less(a, b),
    "LogicalAnd": lambda node, budget, a, b: np.logical_and(a, b),
    "Range": _range,
    "Prod": _product,
    **dict.fromkeys(("Add", "AddV2", "BiasAdd"), _arithmetic(np.add)),
    "Sub": _arithmetic(np.subtract),
    "Mul": _arithmetic(np.multiply),
    "RealDiv": _arithmetic(np.divide),
    "FloorDiv": _arithmetic(np.floor_divide),
    "Maximum": _arithmetic(np.maximum),
    "Minimum": _arithmetic(np.minimum),
    "Pow": _arithmetic(np.power),
    "Neg": _unary(np.negative),
    "Sqrt": _unary(np.sqrt),
    "Rsqrt": _unary(lambda array: 1 / np.sqrt(array)),
    "Square": _unary(np.square),
    **dict.fromkeys(("Reciprocal", "Inv"), _unary(lambda array: 1 / array)),
    "Exp": _unary(np.exp),
    "Shape": lambda node, budget, value: np.array(value.shape, np.int64),
    "Size": lambda node, budget, value: np.array(math.prod(value.shape), np.int64),
    "Rank": lambda node, budget, value: np.array(len(value.shape)),
}
