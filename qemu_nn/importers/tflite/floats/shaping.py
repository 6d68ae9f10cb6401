"""Operators that move elements, and reductions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Optional

import numpy as np

from ....errors import ModelError
from ....operators import (
    Affine,
    ArgMax,
    Concat,
    Dense,
    DepthToSpace,
    Elementwise,
    Gather,
    Identity,
    Pad,
    Pool,
    Reduce,
    Resize,
    Shape,
    Slice,
    SpaceToDepth,
    Transpose,
)
from ....operators.curve import X
from ...tensor import Tensor
from .building import FloatCall, FloatConverter, read_image

#: Reduction -> the pooling that computes it over an image.
_POOLED = {"mean": "average", "max": "max"}

#: Maximum number of elements that an operator copies along an axis.
_MOST_PLACES = 2**16

#: Maximum number of elements that CUMSUM adds up.
_MOST_SUMMED = 1024


def _axis(call: FloatCall, number: int, rank: int) -> int:
    """Return an axis of the file, counted from 0."""
    if not -rank <= number < rank:
        raise ModelError(f"its axis is {number}; it must be {-rank} to {rank - 1}")
    return number % rank


def reshape(call: FloatCall) -> None:
    """Convert RESHAPE."""
    call.check_counts(1, 2)
    x = call.tensor()
    _put_reshape(call, x, call.read_shape(1, x))


def squeeze(call: FloatCall) -> None:
    """Convert SQUEEZE; without a list of axes, all of size 1 are removed."""
    call.check_counts(1, 1)
    x = call.tensor()
    listed = call.read_options("SqueezeOptions").integers("SqueezeDims")
    gone = {_axis(call, axis, len(x.shape)) for axis in listed}
    gone = gone or {axis for axis, n in enumerate(x.shape) if n == 1}
    if call.builder.batch > 1 and x.batched:
        gone -= {0}
    _put_reshape(call, x, tuple(n for axis, n in enumerate(x.shape) if axis not in gone))


def expand_dims(call: FloatCall) -> None:
    """Convert EXPAND_DIMS."""
    call.check_counts(2, 2)
    x = call.tensor()
    axis = _axis(call, call.integer(1), len(x.shape) + 1)
    _put_reshape(call, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def _put_reshape(call: FloatCall, x: Tensor, shape: Shape) -> None:
    if math.prod(shape) != math.prod(x.shape) or min(shape, default=1) < 1:
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(shape)}; both must have as many "
            "elements"
        )
    call.reshape(x, shape)


def transpose(call: FloatCall) -> None:
    """Convert TRANSPOSE, of all axes but the batch."""
    call.check_counts(2, 2)
    x = call.tensor()
    rank = len(x.shape)
    order = [_axis(call, axis, rank) for axis in call.integers(1)]
    if sorted(order) != list(range(rank)):
        raise ModelError(f"its order {order} must name each of {rank} axes once")
    if x.batched and order[0] == 0:
        call.put(Transpose(tuple(axis - 1 for axis in order[1:])), x)
        return
    x = call.whole(x)
    shape = tuple(x.shape[axis] for axis in order)
    call.reshape(call.put(Transpose(tuple(order)), x, part="moved"), shape)


def concatenate(call: FloatCall) -> None:
    """Convert CONCATENATION of tensors and constants."""
    call.check_counts(1, 1000)
    options = call.read_options("ConcatenationOptions")
    values = [call.value(at) for at in range(len(call.operator.inputs))]
    like = next(value for value in values if isinstance(value, Tensor))
    tensors = [
        value if isinstance(value, Tensor) else _hold(call, at, like)
        for at, value in enumerate(values)
    ]
    axis = _axis(call, options.integer("Axis", -8, 8), len(like.shape))
    if axis == 0:
        tensors = [call.whole(x, f"part{at}") for at, x in enumerate(tensors)]
    call.finish(_join(tensors, axis), *tensors, options=options, part="joined")


def pack(call: FloatCall) -> None:
    """Convert PACK: tensors of one shape along a new axis."""
    call.check_counts(1, 1000)
    tensors = [call.tensor(at) for at in range(len(call.operator.inputs))]
    shape = tensors[0].shape
    axis = _axis(call, call.read_options("PackOptions").integer("Axis", -8, 8), len(shape) + 1)
    if any(x.shape != shape for x in tensors):
        raise ModelError("its inputs have several shapes; they must have one")
    if axis == 0:
        tensors = [call.whole(x, f"part{at}") for at, x in enumerate(tensors)]
    one = (*shape[:axis], 1, *shape[axis:])
    parts = [
        call.reshape(x, one, part=f"one{at}", batched=x.batched) for at, x in enumerate(tensors)
    ]
    call.put(_join(parts, axis), *parts)


def _hold(call: FloatCall, at: int, like: Tensor) -> Tensor:
    """Return a constant as a tensor: an element of another tensor, times 0, plus the constant."""
    array, rank = call.floats(at), len(like.shape)
    if array.ndim != rank or not array.size or (like.batched and len(array) != 1):
        raise ModelError(f"its constant {list(array.shape)} does not fit {list(like.shape)}")
    one = like
    for axis in range(like.batched, rank):
        one = call.put(Slice(one.axis(axis), 0, 1), one, part=f"one{at}_{axis}")
    spread = repeat(call, one, array.shape)
    offset = array[0] if like.batched else array
    return call.put(Affine(np.array(0.0), offset), spread, part=f"constant{at}")


def _join(tensors: Sequence[Tensor], axis: int) -> Concat:
    if len({(x.batched, len(x.shape)) for x in tensors}) > 1:
        said = ", ".join(str(list(x.shape)) for x in tensors)
        raise ModelError(f"it cannot join {said} of different ranks")
    return Concat(tensors[0].axis(axis))


def split(call: FloatCall) -> None:
    """Convert SPLIT: parts of one size along the axis in the first input."""
    count = len(call.operator.outputs)
    call.check_counts(2, 2, count)
    x = call.tensor(1)
    axis = _axis(call, call.integer(0), len(x.shape))
    if not count or x.shape[axis] % count:
        raise ModelError(f"{x.shape[axis]} elements cannot be split into {count} parts of one size")
    _put_parts(call, x, axis, [x.shape[axis] // count] * count)


def split_v(call: FloatCall) -> None:
    """Convert SPLIT_V: parts of given sizes along an axis; one size may be -1 for the rest."""
    call.check_counts(3, 3, len(call.operator.outputs))
    x, sizes = call.tensor(), call.integers(1, 1000)
    axis = _axis(call, call.integer(2), len(x.shape))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    _put_parts(call, x, axis, sizes)


def _put_parts(call: FloatCall, x: Tensor, axis: int, sizes: Sequence[int]) -> None:
    outputs = len(call.operator.outputs)
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 1 or len(sizes) != outputs:
        raise ModelError(
            f"its sizes are {list(sizes)[:9]}; they must be positive, one for each of {outputs} "
            f"outputs, with the sum {x.shape[axis]}"
        )
    start = 0
    for at, size in enumerate(sizes):
        call.put(Slice(x.axis(axis), start, start + size), x, at=at)
        start += size


def unpack(call: FloatCall) -> None:
    """Convert UNPACK: one output for each index of an axis; the outputs lack this axis."""
    x = call.tensor()
    axis = _axis(call, call.read_options("UnpackOptions").integer("Axis", -8, 8), len(x.shape))
    call.check_counts(1, 1, x.shape[axis])
    x = call.whole(x) if axis == 0 else x
    left = (*x.shape[:axis], *x.shape[axis + 1 :])
    for at in range(x.shape[axis]):
        one = call.put(Slice(x.axis(axis), at, at + 1), x, part="one", at=at)
        call.reshape(one, left, batched=x.batched or None, at=at)


def cut(call: FloatCall, x: Tensor, kept: Sequence[range]) -> Tensor:
    """Return the tensor with these elements of each axis, or the tensor itself if these are all."""
    for axis, (elements, size) in enumerate(zip(kept, x.shape)):
        if elements == range(size):
            continue
        if not elements or elements.step < 0:
            raise ModelError(
                f"it keeps {elements} of axis {axis}; a slice must be forward and not empty"
            )
        inside = elements.start >= 0 and elements[-1] < size
        if not inside:
            raise ModelError(f"it keeps {elements} of axis {axis}, which has {size} elements")
        operator = Slice(x.axis(axis), elements.start, elements[-1] + 1, elements.step)
        x = call.put(operator, x, part=f"axis{axis}")
    return x


def slice_(call: FloatCall) -> None:
    """Convert SLICE: a begin and a size for each axis; the size -1 is the rest."""
    call.check_counts(3, 3)
    x, begins, sizes = call.tensor(), call.integers(1), call.integers(2)
    if not len(begins) == len(sizes) == len(x.shape):
        raise ModelError(
            f"it has {len(begins)} begins and {len(sizes)} sizes; it must have {len(x.shape)} of "
            "each, one per axis"
        )
    kept = [
        range(begin, n if size == -1 else begin + size)
        for n, begin, size in zip(x.shape, begins, sizes)
    ]
    if x.batched and begins[0] == 0 and sizes[0] in (-1, call.builder.batch):
        kept[0] = range(1)
    call.put(Identity(), cut(call, x, kept))


def strided_slice(call: FloatCall) -> None:
    """Convert STRIDED_SLICE without an ellipsis or new axes."""
    call.check_counts(4, 4)
    options, x = call.read_options("StridedSliceOptions"), call.tensor()
    masks = {name: options.integer(f"{name}Mask") for name in ("Begin", "End", "ShrinkAxis")}
    if any(options.integer(f"{name}Mask") for name in ("Ellipsis", "NewAxis")):
        raise ModelError("it has an ellipsis or new axes; those are not supported")
    lists = [call.integers(at) for at in (1, 2, 3)]
    if len({*map(len, lists)}) != 1 or len(lists[0]) > len(x.shape) or 0 in lists[2]:
        raise ModelError(
            f"its begins, ends and strides {lists} must be as many, up to {len(x.shape)}, and "
            "strides must not be 0"
        )
    kept = [range(n) for n in x.shape]
    gone = []
    for axis, (begin, end, stride) in enumerate(zip(*lists)):
        shrinks = masks["ShrinkAxis"] >> axis & 1
        first = None if masks["Begin"] >> axis & 1 else begin
        last = None if masks["End"] >> axis & 1 else end
        if shrinks:
            last = begin + 1 if begin != -1 else None
            gone.append(axis)
        if not (axis == 0 and x.batched and not first and not shrinks):
            kept[axis] = range(x.shape[axis])[slice(first, last, stride)]
    if 0 in gone and x.batched and call.builder.batch > 1:
        raise ModelError("it takes one sample of the batch; samples must be independent")
    x = cut(call, x, kept)
    left = [n for axis, n in enumerate(x.shape) if axis not in gone]
    call.reshape(x, left, batched=x.batched and 0 not in gone)


def gather(call: FloatCall) -> None:
    """Convert GATHER of constant indices along an axis."""
    call.check_counts(2, 2)
    options, x = call.read_options("GatherOptions"), call.tensor()
    axis = _axis(call, options.integer("Axis", -8, 8), len(x.shape))
    x = call.whole(x) if axis == 0 else x
    places, indices = call.integers(1, _MOST_PLACES), call.array(1)
    if options.integer("BatchDims", -8, 8):
        raise ModelError("its indices have batch axes; they must have none")
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    taken = call.put(Gather(x.axis(axis), tuple(places)), x, part="taken")
    call.reshape(taken, shape, batched=x.batched or None)


def take(call: FloatCall, x: Tensor, places: Sequence[Sequence[int]]) -> Tensor:
    """Return the tensor with these elements of each axis of the file, in this order."""
    for axis, (own, size) in enumerate(zip(places, x.shape)):
        if len(own) > _MOST_PLACES:
            raise ModelError(f"it copies {len(own)} elements; up to {_MOST_PLACES} are supported")
        if tuple(own) != tuple(range(size)):
            x = call.put(Gather(x.axis(axis), tuple(own)), x, part=f"axis{axis}")
    return x


def repeat(call: FloatCall, x: Tensor, shape: Shape) -> Tensor:
    """Return the tensor broadcast to a shape with as many axes."""
    return take(call, x, [[0] * n if n != size else range(n) for size, n in zip(x.shape, shape)])


def broadcast_to(call: FloatCall) -> None:
    """Convert BROADCAST_TO."""
    call.check_counts(2, 2)
    x = call.tensor()
    shape = call.read_shape(1, x)
    inner = (1,) * (len(shape) - len(x.shape)) + x.shape
    if len(inner) != len(shape) or any(a not in (1, n) for a, n in zip(inner, shape)):
        raise ModelError(f"its input {list(x.shape)} does not broadcast to {list(shape)}")
    if inner != x.shape:
        x = call.reshape(x, inner, part="axes")
    call.put(Identity(), repeat(call, x, shape))


def tile(call: FloatCall) -> None:
    """Convert TILE: each axis repeated as a whole."""
    call.check_counts(2, 2)
    x, counts = call.tensor(), call.integers(1)
    if len(counts) != len(x.shape) or min(counts) < 1:
        raise ModelError(f"its multiples {counts} must be {len(x.shape)} positive numbers")
    _check_places(n * size for n, size in zip(counts, x.shape))
    call.put(Identity(), take(call, x, [[*range(n)] * m for n, m in zip(x.shape, counts)]))


def reverse(call: FloatCall) -> None:
    """Convert REVERSE_V2."""
    call.check_counts(2, 2)
    x = call.tensor()
    axes = {_axis(call, axis, len(x.shape)) for axis in call.integers(1)}
    places = [range(n)[::-1] if i in axes else range(n) for i, n in enumerate(x.shape)]
    call.put(Identity(), take(call, x, places))


def mirror_pad(call: FloatCall) -> None:
    """Convert MIRROR_PAD: each border mirrors the elements next to it."""
    call.check_counts(2, 2)
    x, numbers = call.tensor(), call.integers(1)
    mode = call.read_options("MirrorPadOptions").choice("Mode", "MirrorPadMode")
    if len(numbers) != 2 * len(x.shape) or min(numbers, default=0) < 0:
        raise ModelError(f"its paddings {numbers} must be two for each of {len(x.shape)} axes")
    places = []
    for n, before, after in zip(x.shape, numbers[::2], numbers[1::2]):
        most = n - (mode == "REFLECT")
        if max(before, after) > most:
            raise ModelError(
                f"it mirrors {before} and {after} of {n} elements; up to {most} can be"
            )
        first, last = (1, n - 2) if mode == "REFLECT" else (0, n - 1)
        ahead = [first + before - 1 - i for i in range(before)]
        places.append([*ahead, *range(n), *(last - i for i in range(after))])
    call.put(Identity(), take(call, x, places))


def _check_places(counts: Iterable[int]) -> None:
    most = max(counts)
    if most > _MOST_PLACES:
        raise ModelError(f"it makes an axis of {most} elements; up to {_MOST_PLACES} are supported")


def pad(call: FloatCall) -> None:
    """Convert PAD and PADV2: cells of 0 or of a given number around any axes but the batch."""
    call.check_counts(2, 3)
    x, numbers = call.tensor(), call.integers(1)
    if len(numbers) != 2 * len(x.shape):
        raise ModelError(f"its paddings {numbers} must be two for each of {len(x.shape)} axes")
    around = list(zip(numbers[::2], numbers[1::2]))
    if x.batched and any(around.pop(0)):
        raise ModelError("it pads the batch axis; samples must be independent")
    if min((n for pair in around for n in pair), default=0) < 0:
        raise ModelError(f"its paddings {numbers} must not be negative")
    call.put(Pad(tuple(around), call.number(2) if call.has(2) else 0.0), x)


def blocks(call: FloatCall, deep: bool) -> None:
    """Convert DEPTH_TO_SPACE and SPACE_TO_DEPTH (deep)."""
    call.check_counts(1, 1)
    kind = "SpaceToDepthOptions" if deep else "DepthToSpaceOptions"
    side = call.read_options(kind).integer("BlockSize", 1, 4096)
    call.put(SpaceToDepth(side) if deep else DepthToSpace(side), read_image(call))


def resize(call: FloatCall, kind: str) -> None:
    """Convert RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""
    call.check_counts(2, 2)
    name = "ResizeBilinearOptions" if kind == "bilinear" else "ResizeNearestNeighborOptions"
    options, size = call.read_options(name), call.integers(1)
    if len(size) != 2:
        raise ModelError(f"its size is {size}; it must be height and width")
    flags = options.flag("AlignCorners"), options.flag("HalfPixelCenters")
    call.put(Resize(kind, (size[0], size[1]), *flags), read_image(call))


def reduce(call: FloatCall, kind: str) -> None:
    """Convert MEAN, SUM, REDUCE_MAX and REDUCE_MIN."""
    call.check_counts(2, 2)
    x, keeps = call.tensor(), call.read_options("ReducerOptions").flag("KeepDims")
    axes = {_axis(call, axis, len(x.shape)) for axis in call.integers(1)}
    where = {x.axis(axis) for axis in axes if axis or not x.batched or call.builder.batch > 1}
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keeps or i not in axes]
    reduced = _pool(call, x, where, kind) if kind in _POOLED else None
    if reduced is None:
        operator = Reduce(kind, tuple(sorted(where))) if where else Identity()
        reduced = call.put(operator, x, part="reduced")
    call.reshape(reduced, shape, batched=x.batched and (keeps or 0 not in axes))


def _pool(call: FloatCall, x: Tensor, where: set[int], kind: str) -> Optional[Tensor]:
    """Return the pooling over height, width or both of an image, or over the rows of a matrix; None
    for different axes."""
    if len(x.sample) == 2 and where == {0}:
        x, where = call.reshape(x, (1, x.sample[0], 1, x.sample[1]), part="rows"), {0, 1}
    if len(x.sample) != 3 or where not in ({0}, {1}, {0, 1}, {1, 2}):
        return None
    layout, first = ("NCHW", 1) if 2 in where else ("NHWC", 0)
    high, wide = (x.sample[axis] if axis in where else 1 for axis in (first, first + 1))
    return call.put(Pool(_POOLED[kind], (high, wide), layout=layout), x, part="pool")


def cumulate(call: FloatCall) -> None:
    """Convert CUMSUM: a product with a triangle of ones along an axis."""
    call.check_counts(2, 2)
    options, x = call.read_options("CumsumOptions"), call.tensor()
    rank = len(x.shape)
    axis = _axis(call, call.integer(1), rank)
    x = call.whole(x) if axis == 0 else x
    at, side = x.axis(axis), x.shape[axis]
    if side > _MOST_SUMMED:
        raise ModelError(f"it sums {side} elements; up to {_MOST_SUMMED} are supported")
    ones = np.tril(np.ones((side, side), np.float32), -1 if options.flag("Exclusive") else 0)
    sums = Dense(ones[::-1, ::-1] if options.flag("Reverse") else ones)
    order = list(range(len(x.sample)))
    order[at], order[-1] = order[-1], order[at]
    moved = call.put(Transpose(tuple(order)), x, part="moved")
    call.put(Transpose(tuple(order)), call.put(sums, moved, part="sums"))


def arg_max(call: FloatCall, least: bool) -> None:
    """Convert ARG_MAX and ARG_MIN along an axis."""
    call.check_counts(2, 2)
    x = call.tensor()
    axis = _axis(call, call.integer(1), len(x.shape))
    x = call.whole(x) if axis == 0 else x
    found = call.put(ArgMax(x.axis(axis), least), x, part="axis")
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    call.reshape(found, shape, batched=x.batched)


def l2_normalize(call: FloatCall) -> None:
    """Convert L2_NORMALIZATION over the last axis: x / sqrt(max(sum of x * x, 1e-6))."""
    call.check_counts(1, 1)
    options, x = call.read_options("L2NormOptions"), call.tensor()
    squares = call.put(X * X, x, part="squares")
    total = call.put(Reduce("sum", (x.axis(-1),)), squares, part="sum")
    length = call.put(X.maximum(1e-6).of("sqrt"), total, part="length")
    call.finish(Elementwise("divide"), x, length, options=options, part="quotient")


SHAPING: dict[str, FloatConverter] = {
    "RESHAPE": reshape,
    "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims,
    "TRANSPOSE": transpose,
    "CONCATENATION": concatenate,
    "PACK": pack,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "UNPACK": unpack,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "GATHER": gather,
    "BROADCAST_TO": broadcast_to,
    "TILE": tile,
    "REVERSE_V2": reverse,
    "MIRROR_PAD": mirror_pad,
    **dict.fromkeys(("PAD", "PADV2"), pad),
    "DEPTH_TO_SPACE": partial(blocks, deep=False),
    "SPACE_TO_DEPTH": partial(blocks, deep=True),
    "MEAN": partial(reduce, kind="mean"),
    "SUM": partial(reduce, kind="sum"),
    "REDUCE_MAX": partial(reduce, kind="max"),
    "REDUCE_MIN": partial(reduce, kind="min"),
    "CUMSUM": cumulate,
    "ARG_MAX": partial(arg_max, least=False),
    "ARG_MIN": partial(arg_max, least=True),
    "L2_NORMALIZATION": l2_normalize,
    "RESIZE_BILINEAR": partial(resize, kind="bilinear"),
    "RESIZE_NEAREST_NEIGHBOR": partial(resize, kind="nearest"),
}
