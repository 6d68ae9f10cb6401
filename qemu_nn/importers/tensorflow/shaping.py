"""Operators that move elements (reshaping, joining, cutting, padding) or do nothing."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError
from ...operators import Concat, Gather, Identity, Pad, Slice, Transpose
from ..tensor import Tensor, Value
from . import indices
from .building import MOST_PLACES, Converter, TensorflowCall, integer, integers, scalar
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
        if not kept:
            raise ModelError(f"its slice of axis {axis} of {list(full)} keeps nothing")
        if kept != range(size):
            operator = (
                Slice(x.axis(axis), kept.start, kept[-1] + 1, kept.step)
                if kept.step > 0
                else Gather(x.axis(axis), tuple(kept))
            )
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


def gather(call: TensorflowCall, x: Tensor, places: np.ndarray, axis: np.ndarray = _ZERO) -> None:
    """Convert Gather and GatherV2 of constant places."""
    at = integer(axis) if axis is not _ZERO else 0
    if places.dtype.kind not in "iu" or not 1 <= places.size <= MOST_PLACES:
        raise ModelError(f"it gathers {places.size} elements")
    if call.node.integer("batch_dims", 0):
        raise ModelError("it gathers other elements of each sample (batch_dims)")
    own = x.axis(at)
    taken = call.put(Gather(own, tuple(int(n) for n in places.ravel())), x, part="places")
    full, where = x.shape, own + x.batched
    call.reshape(taken, (*full[:where], *places.shape, *full[where + 1 :]))


def tile(call: TensorflowCall, x: Tensor, counts: np.ndarray) -> None:
    """Convert Tile: axes of a sample, several times."""
    numbers = integers(counts)
    if len(numbers) != len(x.shape) or min(numbers) < 1:
        raise ModelError(f"its multiples {numbers} do not fit {list(x.shape)}")
    places = {
        x.axis(axis): [*range(side)] * count
        for axis, (side, count) in enumerate(zip(x.shape, numbers))
        if count > 1 and side * count <= MOST_PLACES
    }
    if len(places) != sum(count > 1 for count in numbers):
        raise ModelError(f"its multiples {numbers} of {list(x.shape)} are too large")
    _take_axes(call, x, places)


def mirror_pad(call: TensorflowCall, x: Tensor, paddings: np.ndarray) -> None:
    """Convert MirrorPad; REFLECT leaves out the element at the border, SYMMETRIC repeats it."""
    numbers, mode = integers(paddings), call.node.text("mode", "")
    pairs = [*zip(numbers[::2], numbers[1::2])]
    skip = {"REFLECT": 1, "SYMMETRIC": 0}.get(mode)
    if skip is None or len(pairs) != len(x.shape) or min(numbers) < 0:
        raise ModelError(f"its paddings {numbers} and its mode {mode[:20]!r} are not supported")
    places = {}
    for axis, (before, after) in enumerate(pairs):
        side = x.shape[axis]
        if before or after:
            own = x.axis(axis)
            if max(before, after) > side - skip:
                raise ModelError(f"its paddings {numbers} exceed {list(x.shape)}")
            front = [*range(skip, before + skip)][::-1]
            back = [side - 1 - skip - at for at in range(after)]
            places[own] = [*front, *range(side), *back]
    _take_axes(call, x, places)


def _take_axes(call: TensorflowCall, x: Tensor, places: dict[int, list[int]]) -> None:
    """Append lookups along several axes of a sample."""
    if not places:
        call.put(Identity(), x)
    for index, (axis, each) in enumerate(places.items(), 1):
        part = f"axis{axis}" if index < len(places) else ""
        x = call.put(Gather(axis, tuple(each)), x, part=part)


SHAPING: dict[str, Converter] = {
    "Gather": ("xc", gather),
    "GatherV2": ("xcc", gather),
    "Tile": ("xc", tile),
    "MirrorPad": ("xc", mirror_pad),
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
