"""Data movement: concatenation, slice, padding, transpose, broadcast; also reductions, resizing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations

import numpy as np

from ...errors import ModelError
from ...operators import Shape
from .building import TYPES, TfliteSite, to_little_endian
from .elementwise import convert_pair
from .windows import CallConverter


def _count_leading_ones(sides: Sequence[int]) -> int:
    """Return the number of leading axes of size 1, except the last axis."""
    return next((i for i, side in enumerate(sides[:-1]) if side != 1), len(sides) - 1)


def _add_constants(site: TfliteSite, *lists: Sequence[int]) -> list[int]:
    return [site.file.constant(np.array(numbers, np.int32)) for numbers in lists]


def _fit_shape(held: Shape, sides: Sequence[int], ahead: int) -> tuple[Shape, int]:
    """Return `sides` without some leading axes of size 1, and the number of omitted axes.

    This is the file's shape `held` if it differs only by up to `ahead` of these axes; else all
    `ahead` axes are omitted.
    """
    missing = len(sides) - len(held)
    if missing >= 0 and (*(1,) * missing, *held) == tuple(sides) and missing <= ahead:
        return held, missing
    return tuple(sides[ahead:]), ahead


def concatenate(site: TfliteSite) -> None:
    """Convert to CONCATENATION of two or more tensors."""
    outer, made = site.params["outer"], site.whole
    shapes = [site.shape(index) for index in range(len(site.node.inputs))]
    axes = [
        i
        for i in range(len(made))
        if math.prod(made[:i]) == outer
        and all(len(s) == len(made) and s[:i] == made[:i] for s in shapes)
        and all(s[i + 1 :] == made[i + 1 :] for s in shapes)
    ]
    if axes:
        axis = axes[-1]
    else:
        shapes, axis = [(outer, math.prod(shape) // outer) for shape in shapes], 1
        made = (outer, sum(inner for _, inner in shapes))
    inputs = [site.view_input(i, shape) for i, shape in enumerate(shapes)]
    site.put("CONCATENATION", inputs, "ConcatenationOptions", made, Axis=axis)


def slice_(site: TfliteSite) -> None:
    """Convert to SLICE, or to STRIDED_SLICE if a stride is not 1."""
    sides, begin, stride, count = (
        [site.params[f"{name}_{i}"] for i in range(5)]
        for name in ("input", "begin", "stride", "output")
    )
    spans = list(zip(sides, begin, stride, count))
    ahead = next((i for i, span in enumerate(spans[:-1]) if span != (1, 0, 1, 1)), 4)
    shape, ahead = _fit_shape(site.shape(), sides, ahead)
    begin, stride, count = begin[ahead:], stride[ahead:], count[ahead:]
    made = tuple(count)
    x = site.view_input(0, shape)
    if all(step == 1 for step in stride):
        site.put("SLICE", [x, *_add_constants(site, begin, count)], "SliceOptions", made)
        return
    ends = [b + n * s for b, n, s in zip(begin, count, stride)]
    mask = sum(1 << i for i, end in enumerate(ends) if end < 0)  # down to the first element
    if len(shape) > 4:
        raise ModelError(f"it slices {len(shape)} axes by strides; it must slice up to 4")
    ends = [max(end, 0) for end in ends]
    site.put(
        "STRIDED_SLICE",
        [x, *_add_constants(site, begin, ends, stride)],
        "StridedSliceOptions",
        made,
        EndMask=mask,
    )


def pad(site: TfliteSite) -> None:
    """Convert to PAD, or to PADV2 if the border is not the zero point."""
    params = site.params
    sides, before, behind = (
        [params[f"{name}_{axis}"] for axis in "nhwc"] for name in ("input", "pre", "post")
    )
    borders = list(zip(sides, before, behind))
    ahead = next((i for i, border in enumerate(borders[:-1]) if border != (1, 0, 0)), 3)
    shape, ahead = _fit_shape(site.shape(), sides, ahead)
    own = [(a, b) for _, a, b in borders[ahead:]]
    inputs = [site.view_input(0, shape), site.file.constant(np.array(own, np.int32))]
    made = tuple(a + side + b for side, (a, b) in zip(shape, own))
    tensor = site.output
    value = np.array([params["pad_value"]], np.int32)
    value = value.view(np.float32) if tensor.dtype == "float32" else value.astype(tensor.dtype)
    zero = tensor.zero_point if tensor.scale is not None and tensor.dtype != "float32" else 0
    if (value.view(np.int32) if tensor.dtype == "float32" else value).item() == zero:
        site.put("PAD", inputs, "PadOptions", made)
        return
    scales = [] if tensor.scale is None else [tensor.scale]
    name = f"{site.node.name}/border"
    inputs.append(site.file.weights(name, value, (1,), scales, zero=zero))
    site.put("PADV2", inputs, "PadV2Options", made)


def transpose(site: TfliteSite) -> None:
    """Convert to TRANSPOSE of up to four axes of INT8."""
    rank = site.params["num_dims"]
    shape = tuple(site.params[f"input_{axis}"] for axis in "nhwc")[:rank]
    _put_transpose(site, shape, [site.params[f"perm_{i}"] for i in range(rank)])


#: Permutations of six axes that move blocks of pixels: see _put_blocks and _put_batches.
_DEEP = [0, 1, 3, 2, 4, 5]
_APART, _TOGETHER = [2, 4, 0, 1, 3, 5], [2, 3, 0, 4, 1, 5]


def transpose_any(site: TfliteSite) -> None:
    """Convert to TRANSPOSE of up to five axes, or to an operator that moves blocks of pixels."""
    sides = [site.params[f"input_{i}"] for i in range(6)]
    order = [site.params[f"perm_{i}"] for i in range(6)]
    ahead, type = 0, site.output.dtype
    while ahead < 5 and sides[ahead] == 1 and order[ahead] == ahead:
        ahead += 1
    if type != "int16":
        if order == _DEEP and _put_blocks(site, sides):
            return
        if order in (_APART, _TOGETHER):
            _put_batches(site, sides, order)
            return
    if ahead == 0:
        raise ModelError(f"it transposes {sides} by {order}; no operator has this permutation")
    if type == "int8":
        ahead = 1  # with fewer axes TensorFlow Lite Micro would call CMSIS-NN
    shape, ahead = _fit_shape(site.shape(), sides, ahead)
    _put_transpose(site, shape, [axis - ahead for axis in order[ahead:]])


def _put_blocks(site: TfliteSite, sides: Sequence[int]) -> bool:
    """Convert to DEPTH_TO_SPACE or SPACE_TO_DEPTH; return False if the axes match neither."""
    batches, rows, second, third, fourth, depth = sides
    if third == fourth:  # batches, rows, columns, side, side, channels
        shape = (batches, rows, second, third * fourth * depth)
        made = (batches, rows * third, second * fourth, depth)
        name, kind = "DEPTH_TO_SPACE", "DepthToSpaceOptions"
    elif second == fourth:  # batches, rows, side, columns, side, channels
        shape = (batches, rows * second, third * fourth, depth)
        made = (batches, rows, third, second * fourth * depth)
        name, kind = "SPACE_TO_DEPTH", "SpaceToDepthOptions"
    else:
        return False
    site.put(name, [site.view_input(0, shape)], kind, made, BlockSize=fourth)
    return True


def _put_batches(site: TfliteSite, sides: Sequence[int], order: Sequence[int]) -> None:
    """Convert to SPACE_TO_BATCH_ND or BATCH_TO_SPACE_ND without borders."""
    if order == _APART:
        batches, rows, high, columns, wide, depth = sides
        shape = (batches, rows * high, columns * wide, depth)
        made = (batches * high * wide, rows, columns, depth)
        name, kind = "SPACE_TO_BATCH_ND", "SpaceToBatchNDOptions"
    else:
        high, wide, batches, rows, columns, depth = sides
        shape = (batches * high * wide, rows, columns, depth)
        made = (batches, rows * high, columns * wide, depth)
        name, kind = "BATCH_TO_SPACE_ND", "BatchToSpaceNDOptions"
    inputs = [site.view_input(0, shape), *_add_constants(site, (high, wide))]
    inputs.append(site.file.constant(np.zeros((2, 2), np.int32)))
    site.put(name, inputs, kind, made)


def _put_transpose(site: TfliteSite, shape: Shape, order: Sequence[int]) -> None:
    made = tuple(shape[axis] for axis in order)
    inputs = [site.view_input(0, shape), *_add_constants(site, order)]
    site.put("TRANSPOSE", inputs, "TransposeOptions", made)


def broadcast(site: TfliteSite) -> None:
    """Convert to BROADCAST_TO."""
    sides, made = (
        tuple(site.params[f"{name}_{axis}"] for axis in "nhwc") for name in ("input", "output")
    )
    ahead = _count_leading_ones(made)
    shape, made = sides[ahead:], made[ahead:]
    inputs = [site.view_input(0, shape), *_add_constants(site, made)]
    site.put("BROADCAST_TO", inputs, "BroadcastToOptions", made)


def constant(site: TfliteSite) -> None:
    """Convert to a constant tensor without an operator."""
    array = site.array("weights")
    site.file.add_network_tensor(site.output, site.whole, to_little_endian(array))


def reduce(site: TfliteSite, operator: str) -> None:
    """Convert to a reduction over axes."""
    names = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")
    groups = [site.params.get(name, 1) for name in names]
    shape, made, axes, keep = next(_reductions(site.shape(), site.whole, groups))
    inputs = [site.view_input(0, shape), *_add_constants(site, axes)]
    site.put(operator, inputs, "ReducerOptions", made, KeepDims=keep)


def _reductions(
    held: Shape, whole: Shape, groups: Sequence[int]
) -> Iterator[tuple[Shape, Shape, list[int], bool]]:
    """Yield reductions with these groups: on axes of the file's shape, last on merged axes."""
    every = range(len(held))
    for axes in chain.from_iterable(combinations(every, n) for n in range(1, len(held) + 1)):
        if _group_axes(held, axes) == list(groups):
            for keep in (False, True):
                made = tuple(
                    1 if i in axes else n for i, n in enumerate(held) if keep or i not in axes
                )
                if made == whole:
                    yield held, made, list(axes), keep
    shape = tuple(groups)
    yield shape, shape[::2], [1, 3], False


def _group_axes(shape: Shape, axes: Sequence[int]) -> list[int]:
    """Return the sizes of alternately kept and reduced groups of axes."""
    groups = [1]
    for axis, side in enumerate(shape):
        if side == 1:
            continue
        if (len(groups) - 1) % 2 != (axis in axes):
            groups.append(1)
        groups[-1] *= side
    return groups + [1] * (5 - len(groups))


def arg(site: TfliteSite, operator: str, kind: str) -> None:
    """Convert to ARG_MAX or ARG_MIN."""
    shape = tuple(site.params[name] for name in ("kept_0", "reduced_0", "kept_1"))
    inputs = [site.view_input(0, shape), site.file.constant(np.array([1], np.int32))]
    site.put(operator, inputs, kind, shape[::2], OutputType=("TensorType", TYPES["int32"]))


def resize(site: TfliteSite, operator: str, kind: str) -> None:
    """Convert to RESIZE_NEAREST_NEIGHBOR or RESIZE_BILINEAR."""
    params = site.params
    declared = site.node.function
    size = params["output_h"], params["output_w"]
    inputs = [site.view_input(0, declared.inputs[0].shape(params)), *_add_constants(site, size)]
    flags = {
        "AlignCorners": params["align_corners"],
        "HalfPixelCenters": params["half_pixel_centers"],
    }
    site.put(operator, inputs, kind, declared.output.shape(params), **flags)


_ALL = ("s8", "s16", "u8", "s32", "s64", "f32", "b8", "u32", "u64")

MOVING: dict[str, CallConverter] = {
    **{f"tflm_concatenation_{type}": concatenate for type in _ALL},
    **{f"tflm_slice_{type}": slice_ for type in _ALL},
    **{f"tflm_pad_{type}": pad for type in _ALL},
    **{f"tflm_transpose_{type}": transpose_any for type in _ALL},
    **{f"tflm_broadcast_{type}": broadcast for type in _ALL},
    **{f"tflm_constant_{type}": constant for type in _ALL},
    "arm_pad_s8": pad,
    "arm_transpose_s8": transpose,
    **{f"arm_{name}_s8": partial(convert_pair, operator=name.upper(), kind="MaximumMinimumOptions")
       for name in ("maximum", "minimum")},
    **{f"tflm_{name}_{type}":
       partial(convert_pair, operator=name.upper(), kind="MaximumMinimumOptions")
       for name in ("maximum", "minimum") for type in ("s16", "s32")},
    **{f"tflm_{name}_{type}": partial(reduce, operator=name.upper())
       for name in ("mean", "sum", "reduce_max", "reduce_min") for type in _ALL},
    "tflm_reduce_all_b8": partial(reduce, operator="REDUCE_ALL"),
    "tflm_arg_max_s8": partial(arg, operator="ARG_MAX", kind="ArgMaxOptions"),
    "tflm_arg_min_s8": partial(arg, operator="ARG_MIN", kind="ArgMinOptions"),
    **{f"tflm_resize_nearest_{type}":
       partial(resize, operator="RESIZE_NEAREST_NEIGHBOR", kind="ResizeNearestNeighborOptions")
       for type in _ALL},
    **{f"tflm_resize_bilinear_{type}":
       partial(resize, operator="RESIZE_BILINEAR", kind="ResizeBilinearOptions")
       for type in _ALL},
}  # fmt: skip
