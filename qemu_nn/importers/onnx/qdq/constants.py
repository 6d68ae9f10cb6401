"""Constants of quantized files, computed from constants: quantized ones stay so where they can."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....errors import ModelError
from .. import folding, indices
from ..call import OnnxCall
from .symbols import Fixed

#: Operators that move numbers of a constant and compute none.
_MOVES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Slice", "Gather")


def fold(call: OnnxCall) -> Any:
    """Return the only output of a node of constants."""
    op = call.node.op
    if op == "Shape":
        return _shape(call)
    if op not in folding.FOLDS:
        raise ModelError(
            "its inputs are constants; this operator is supported for computed tensors only"
        )
    first: Any = call.optional(0)
    if isinstance(first, Fixed) and op == "Transpose":
        return _transposed(call, first)
    if isinstance(first, Fixed) and op in _MOVES and (first.raw or first.scale.size == 1):
        return replace(first, data=folding.fold(_of(call, first.data)), axis=0)
    if any(isinstance(value, Fixed) and value.raw for value in call.inputs):
        raise ModelError(
            "it computes with the integers of a quantized constant; put a DequantizeLinear "
            "before it"
        )
    return folding.fold(_of(call, _real(first)))


def _shape(call: OnnxCall) -> np.ndarray:
    value: Any = call.value(0)
    whole = value.data.shape if isinstance(value, Fixed) else value.shape
    piece = slice(call.integer("start", 0), call.integer("end", len(whole)))
    return np.array(whole[piece], np.int64)


def _of(call: OnnxCall, first: Any) -> OnnxCall:
    """Return the node on arrays, the first of which is given."""
    if not call.inputs:
        return call
    return replace(call, inputs=(first, *map(_real, call.inputs[1:])))


def _real(value: Any) -> Any:
    """Return the floats of a quantized constant, and anything else as it is."""
    return value.real.astype(np.float32) if isinstance(value, Fixed) else value


def _transposed(call: OnnxCall, held: Fixed) -> Fixed:
    order = indices.order(call, held.data.ndim)
    axis = order.index(held.axis % held.data.ndim) if held.scale.size > 1 else 0
    return replace(held, data=held.data.transpose(order), axis=axis)
