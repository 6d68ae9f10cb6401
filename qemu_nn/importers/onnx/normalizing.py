"""Normalization by statistics of the sample itself, reductions, and indices of extremes."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import ArgMax, Elementwise, Normalize, Reduce
from ...operators.curve import X
from ..tensor import Tensor
from . import indices
from .arithmetic import scale_and_shift
from .call import Converter, OnnxCall


def layer_normalization(call: OnnxCall, centered: bool = True) -> None:
    """Convert LayerNormalization, and without a mean RMSNormalization."""
    x = call.tensor()
    if call.integer("stash_type", 1) != 1:
        raise ModelError("it computes in a type other than float32")
    first = x.axis(call.integer("axis", -1))
    operator = Normalize(tuple(range(first, len(x.sample))), call.number("epsilon", 1e-5), centered)
    normal = call.put(operator, x, part="normal")
    offset = call.floats(2) if call.has(2) else np.zeros(())
    scale_and_shift(call, normal, call.floats(1), offset)


def instance_normalization(call: OnnxCall) -> None:
    """Convert InstanceNormalization: of each channel over all pixels."""
    x = call.tensor()
    if not x.batched or len(x.shape) < 3:
        raise ModelError(f"its input {list(x.shape)} has no pixels")
    operator = Normalize(tuple(range(1, len(x.sample))), call.number("epsilon", 1e-5))
    _scale_channels(call, call.put(operator, x, part="normal"))


def _scale_channels(call: OnnxCall, x: Tensor) -> None:
    """Multiply channels by the second input and add the third one."""
    column = (x.shape[1], *[1] * (len(x.shape) - 2))
    scale, offset = call.floats(1), call.floats(2)
    if {scale.size, offset.size} != {x.shape[1]}:
        raise ModelError(f"its scale and bias must have {x.shape[1]} elements")
    scale_and_shift(call, x, scale.reshape(column), offset.reshape(column))


def group_normalization(call: OnnxCall) -> None:
    """Convert GroupNormalization: of groups of channels over all pixels."""
    x, count = call.tensor(), call.integer("num_groups", 0)
    if call.integer("stash_type", 1) != 1 or call.builder.opset < 21:
        raise ModelError("it needs operator set 21 or later, and float32")
    if not x.batched or len(x.shape) < 3 or count < 1 or x.shape[1] % count:
        raise ModelError(f"its {count} groups do not divide the channels of {list(x.shape)}")
    split = (1, count, x.shape[1] // count, *x.shape[2:])
    groups = call.reshape(x, split, part="groups")
    operator = Normalize(tuple(range(1, len(split) - 1)), call.number("epsilon", 1e-5))
    normal = call.put(operator, groups, part="normal")
    _scale_channels(call, call.reshape(normal, x.shape, part="channels"))


def lp_normalization(call: OnnxCall) -> None:
    """Convert LpNormalization of lengths: x / sqrt(sum of squares) along an axis."""
    x = call.tensor()
    if call.integer("p", 2) != 2:
        raise ModelError(f"its p is {call.integer('p', 2)}; only 2 is supported")
    axis = x.axis(call.integer("axis", -1))
    normal = call.put(Normalize((axis,), 0.0, centered=False), x, part="normal")
    scale_and_shift(call, normal, np.array(x.sample[axis] ** -0.5), np.zeros(()))


def mean_variance_normalization(call: OnnxCall) -> None:
    """Convert MeanVarianceNormalization over axes of a sample."""
    x = call.tensor()
    axes = call.integers("axes")
    named = [axis for axis in ([0, 2, 3] if axes is None else axes) if axis % len(x.shape)]
    if axes is None or len(named) < len(axes):
        raise ModelError("it normalizes over the batch; samples must be independent")
    call.put(Normalize(tuple(sorted(x.axis(axis) for axis in named)), 1e-9), x)


def reduce(call: OnnxCall, kind: str) -> None:
    """Convert ReduceSum, ReduceMin, ReduceL2 and ReduceSumSquare, and further means and maxima."""
    x, named = call.tensor(), call.integers("axes", at=1)
    if not named and call.integer("noop_with_empty_axes", 0):
        call.reshape(x, x.shape)
        return
    reduce_axes(call, indices.axes(named or list(range(len(x.shape))), len(x.shape)), kind)


def reduce_axes(call: OnnxCall, axes: list[int], kind: str) -> None:
    """Add a reduction over axes of the file, with or without these in the output."""
    x, keeps = call.tensor(), bool(call.integer("keepdims", 1))
    own = tuple(sorted(x.axis(axis) for axis in axes))
    source, root = x, kind == "l2"
    if kind in ("l2", "squares"):
        source, kind = call.put(Elementwise("multiply"), x, x, part="squares"), "sum"
    made = call.put(Reduce(kind, own), source, part="" if keeps and not root else "reduced")
    if root:
        made = call.put(X.of("sqrt"), made, part="" if keeps else "root")
    if not keeps:
        call.reshape(made, [n for axis, n in enumerate(x.shape) if axis not in axes])


def arg(call: OnnxCall, least: bool) -> None:
    """Convert ArgMax and ArgMin along one axis, of the first one of equal elements."""
    x = call.tensor()
    if call.integer("select_last_index", 0):
        raise ModelError("it finds the last of equal elements; only the first is supported")
    axis = indices.axes([call.integer("axis", 0)], len(x.shape))[0]
    operator = ArgMax(x.axis(axis), least)
    if call.integer("keepdims", 1):
        call.put(operator, x)
        return
    found = call.put(operator, x, part="index")
    call.reshape(found, [n for at, n in enumerate(x.shape) if at != axis])


NORMALIZING: dict[str, Converter] = {
    "LayerNormalization": layer_normalization,
    "RMSNormalization": partial(layer_normalization, centered=False),
    "InstanceNormalization": instance_normalization,
    "GroupNormalization": group_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "ReduceSum": partial(reduce, kind="sum"),
    "ReduceMin": partial(reduce, kind="min"),
    "ReduceL2": partial(reduce, kind="l2"),
    "ReduceSumSquare": partial(reduce, kind="squares"),
    "ArgMax": partial(arg, least=False),
    "ArgMin": partial(arg, least=True),
}
