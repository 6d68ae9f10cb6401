"""Operators that move elements (reshaping, joining, cutting, padding) or do nothing."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError
from ...operators import Concat, Identity, Pad, Slice, Transpose
from ..tensor import Tensor, Value
from . import indices
from .building import Converter, TensorflowCall, integer, integers, scalar
from .tensors import FLOAT_TYPES, type_name

_ZERO = np.array(0.0)


def identity(call: TensorflowCall, x: Tensor) -> None:
    """Convert Identity, StopGradient and the like."""
    call.put(Identity(), x)


def cast(call: TensorflowCall, x: Tensor) -> None:
    """Convert a Cast between floats."""
    to = call.node.type("DstT")
    if to not in FLOAT_TYPES:
        raise ModelError(f"it converts a tensor to {type_name(to)}; only floats are supported")
    call.put(Identity(), x)


def reshape(call: TensorflowCall, x: Tensor, target: np.ndarray) -> None:
    """Reshape."""
    call.reshape(x, indices.get_reshape(x.shape, target))


def squeeze(call: TensorflowCall, x: Tensor) -> None:
    """Convert Squeeze; the batch stays unless it is named."""
    shape = indices.get_squeeze(call.node, x.shape)
    if x.batched and not call.node.integers("squeeze_dims"):
        shape = (1, *shape)
    call.reshape(x, shape)


def expand(call: TensorflowCall, x: Tensor, axis: np.ndarray) -> None:
    """Convert ExpandDims."""
    call.reshape(x, indices.get_expand(x.shape, axis))


def transpose(call: TensorflowCall, x: Tensor, perm: np.ndarray) -> None:
    """Transpose, of all axes but the batch."""
    order = indices.order(perm, len(x.shape))
    if x.batched:
        if order[0] != 0:
            raise ModelError("it moves the batch axis; samples must be independent")
        order = [axis - 1 for axis in order[1:]]
    call.put(Transpose(tuple(order)), x)


def concat(call: TensorflowCall, *values: Value) -> None:
    """Convert ConcatV2 of tensors; the axis comes last."""
    *parts, axis = values
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if len(tensors) < max(len(parts), 1) or isinstance(axis, Tensor):
        raise ModelError("it joins constants and tensors; only tensors can be joined")
    call.put(Concat(tensors[0].axis(integer(axis))), *tensors)


def split(call: TensorflowCall, axis: np.ndarray, x: Tensor) -> None:
    """Split into equal parts."""
    count, total = call.node.integer("num_split", 1), x.sample[x.axis(integer(axis))]
    if not 1 <= count <= total or total % count:
        raise ModelError(f"{total} elements cannot be split into {count} equal parts")
    _split(call, x, axis, [total // count] * count)


def split_v(call: TensorflowCall, x: Tensor, sizes: np.ndarray, axis: np.ndarray) -> None:
    """Convert SplitV into parts of these sizes, one of which may be -1."""
    total, parts = x.sample[x.axis(integer(axis))], integers(sizes)
    if parts.count(-1) == 1:
        parts[parts.index(-1)] = total - sum(size for size in parts if size != -1)
    if min(parts, default=0) < 1 or sum(parts) != total:
        raise ModelError(f"{total} elements cannot be split into {integers(sizes)}")
    _split(call, x, axis, parts)


def _split(call: TensorflowCall, x: Tensor, axis: np.ndarray, sizes: list[int]) -> None:
    """Append a slice for each output."""
    at, start = x.axis(integer(axis)), 0
    for port, size in enumerate(sizes):
        name = f"{call.node.name}:{port}" if port else call.node.name
        call.builder.add(name, Slice(at, start, start + size), (x,), x.batched)
        start += size


def strided_slice(call: TensorflowCall, x: Tensor, *cut: np.ndarray) -> None:
    """Convert StridedSlice."""
    _cut_axes(call, x, indices.get_strided_slice(call.node, len(x.shape), *cut))


def slice_(call: TensorflowCall, x: Tensor, begin: np.ndarray, size: np.ndarray) -> None:
    """Slice."""
    _cut_axes(call, x, indices.get_slice(begin, size))


def _cut_axes(call: TensorflowCall, x: Tensor, index: tuple[indices.Index, ...]) -> None:
    """Append a Slice for each cut axis, and a Reshape if axes are added or removed."""
    shape, axis = list[int](), 0
    full = x.shape
    for entry in index:
        if entry is None:
            shape.append(1)
            continue
        if axis == len(full):
            raise ModelError(f"it slices more axes than {list(full)} has")
        size = full[axis]
        one = slice(entry, entry + 1 or None) if isinstance(entry, int) else entry
        kept = range(size)[one]
        if not kept or kept.step < 0:
            raise ModelError(
                f"its slice of axis {axis} of {list(full)} must go forward and keep something"
            )
        if kept != range(size):
            operator = Slice(x.axis(axis), kept.start, kept[-1] + 1, kept.step)
            x = call.put(operator, x, part=f"axis{axis}")
        if not isinstance(entry, int):
            shape.append(len(kept))
        axis += 1
    call.reshape(x, (*shape, *full[axis:]))


def pad(call: TensorflowCall, x: Tensor, paddings: np.ndarray, value: np.ndarray = _ZERO) -> None:
    """Pad and PadV2, around any axes but the batch."""
    numbers = integers(paddings)
    if len(numbers) != 2 * len(x.shape) or min(numbers) < 0:
        raise ModelError(
            f"its paddings {numbers} must be two numbers for each axis of {list(x.shape)}"
        )
    pairs = tuple(zip(numbers[::2], numbers[1::2]))
    if x.batched and any(pairs[0]):
        raise ModelError("it pads the batch axis; samples must be independent")
    call.put(Pad(pairs[x.batched :], scalar(value)), x)


SHAPING: dict[str, Converter] = {
    **dict.fromkeys(
        ("Identity", "StopGradient", "CheckNumerics", "Snapshot", "PlaceholderWithDefault"),
        ("x", identity),
    ),
    "Cast": ("x", cast),
    "Reshape": ("xc", reshape),
    "Squeeze": ("x", squeeze),
    "ExpandDims": ("xc", expand),
    "Transpose": ("xc", transpose),
    "ConcatV2": ("+", concat),
    "Split": ("cx", split),
    "SplitV": ("xcc", split_v),
    "StridedSlice": ("xccc", strided_slice),
    "Slice": ("xcc", slice_),
    "Pad": ("xc", pad),
    "PadV2": ("xcc", pad),
}
