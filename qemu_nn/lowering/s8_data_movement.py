"""Lowering of data movement, slicing and padding to calls of the s8 and s16 functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Optional

import numpy as np

from ..errors import ModelError
from ..ir.formats import Format
from ..operators import (
    Concat,
    DepthToSpace,
    Gather,
    Pad,
    Resize,
    Shape,
    Shuffle,
    Slice,
    SpaceToDepth,
    Transpose,
)
from .s8_context import S8Site

#: Axes of the functions, of the slicing function, and of the 16-bit moving function.
_AXES = "nhwc"
_SLICED, _MOVED = 5, 6


def pad_to_four_axes(shape: Shape) -> Shape:
    """Return the shape with leading axes of one element, so that there are four."""
    if len(shape) > len(_AXES):
        raise ModelError(f"its shape is {list(shape)}; its function takes up to 4 axes")
    return (*[1] * (len(_AXES) - len(shape)), *shape)


def name_sides(stem: str, sides: Shape, names: str = _AXES) -> dict[str, int]:
    """Return arguments such as input_n, input_h."""
    return {f"{stem}_{name}": side for name, side in zip(names, sides)}


def concatenate(site: S8Site, operator: Concat) -> None:
    """Append concatenations of two tensors at a time: neighbors first, then their results."""
    site.same_formats()
    axis = operator.axis
    parts = [(source, sides[axis]) for source, sides in zip(site.sources, site.shapes)]
    if len(parts) == 1:
        raise ModelError("it concatenates a single tensor; its function takes two or more")
    _join(site, axis, parts)


def _join(site: S8Site, axis: int, parts: list[tuple[str, int]]) -> None:
    """Append the concatenation of tensors, each with its length along the axis."""
    shape, count = site.shapes[0], 1
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    while len(parts) > 1:
        made = []
        for (first, before), (second, behind) in zip(parts[::2], parts[1::2]):
            count, whole = count + 1, before + behind
            params = {"outer": outer, "inner1": before * inner, "inner2": behind * inner}
            name = site.call(
                f"tflm_concatenation_{site.suffix}",
                params,
                part="" if len(parts) == 2 else f"first{count}",
                shape=(*shape[:axis], whole, *shape[axis + 1 :]),
                sources=(first, second),
            )
            made.append((name, whole))
        parts = made + parts[len(parts) // 2 * 2 :]


def slice_axis(site: S8Site, operator: Slice) -> None:
    """Append a slice of one axis."""
    site.same_formats()
    append_slice(site, operator, site.shapes[-1])


def append_slice(
    site: S8Site,
    operator: Slice,
    whole: Shape,
    part: str = "",
    source: Optional[str] = None,
    shape: Optional[Shape] = None,
) -> str:
    """Append a slice of one axis, of the shape `whole`, and return its tensor.

    source, shape: the tensor to slice, by default the operator's input.
    """
    shape = site.shapes[0] if shape is None else shape
    if len(shape) > _SLICED:
        raise ModelError(f"its shape is {list(shape)}; its function takes up to {_SLICED} axes")
    ahead = (1,) * (_SLICED - len(shape))
    begin, stride = [0] * _SLICED, [1] * _SLICED
    begin[len(ahead) + operator.axis] = operator.start
    stride[len(ahead) + operator.axis] = operator.step
    sides = {"input": (*ahead, *shape), "output": (*ahead, *whole)}
    sides.update(begin=tuple(begin), stride=tuple(stride))
    params: dict[str, int] = {}
    for stem, side in sides.items():
        params.update(name_sides(stem, side, "01234"))
    sources = None if source is None else (source,)
    return site.call(f"tflm_slice_{site.suffix}", params, part=part, shape=whole, sources=sources)


def pad(site: S8Site, operator: Pad) -> None:
    """Append padding with one value."""
    site.same_formats()
    before, after = (tuple(pair[i] for pair in operator.pads) for i in (0, 1))
    if min(*before, *after) < 0:
        raise ModelError(
            f"its pads {list(operator.pads)} crop the input, which no function does; crop it by "
            "a slice before"
        )
    zeros = (0,) * (len(_AXES) - len(before))
    params = {
        **name_sides("input", pad_to_four_axes(site.shapes[0])),
        **name_sides("pre", (*zeros, *before)),
        **name_sides("post", (*zeros, *after)),
    }
    value = site.output.quantize(np.array(operator.value))
    site.call("tflm_pad_s16" if site.wide else "arm_pad_s8", {**params, "pad_value": int(value)})


def transpose(site: S8Site, operator: Transpose) -> None:
    """Append a transposition."""
    _reorder(site, site.shapes[0], operator.order)


def shuffle(site: S8Site, operator: Shuffle) -> None:
    """Append a shuffle of channels from [groups, n] to [n, groups]."""
    shape, axis = site.shapes[0], operator.axis
    parts = (operator.groups, shape[axis] // operator.groups)
    order = list(range(len(shape) + 1))
    order[axis : axis + 2] = axis + 1, axis
    _reorder(site, (*shape[:axis], *parts, *shape[axis + 1 :]), tuple(order))


def move_blocks(site: S8Site, operator: DepthToSpace | SpaceToDepth) -> None:
    """Append the transposition that moves blocks of pixels to channels, or back."""
    _reorder(site, *operator.moves(site.image()))


def resize(site: S8Site, operator: Resize) -> None:
    """Append a resizing of an image."""
    site.same_formats()
    if operator.kind == "bilinear" and site.wide:
        raise ModelError(
            "bilinear resizing has a function of 8 bits only; take bits=8, or the nearest pixel"
        )
    height, width, channels = site.image()
    params = {"batches": 1, "input_h": height, "input_w": width, "channels": channels}
    params.update(output_h=operator.size[0], output_w=operator.size[1])
    params.update(align_corners=int(operator.align_corners))
    params.update(half_pixel_centers=int(operator.half_pixel))
    site.call(f"tflm_resize_{operator.kind}_{site.suffix}", params)


def gather(site: S8Site, operator: Gather) -> None:
    """Append a lookup of elements; of 16 bits, slices of consecutive elements and their
    concatenation.
    """
    site.same_formats()
    shape, axis, places = site.shapes[0], operator.axis, operator.places
    if site.wide:
        _gather_slices(site, operator)
        return
    around = {"batches": 1, "outer": math.prod(shape[:axis]), "inner": math.prod(shape[axis + 1 :])}
    params = {**around, "side": shape[axis], "count": len(places), "depth": 1}
    params.update({f"step_{i}": int(i == 0) for i in range(_SLICED)})
    named = site.call(
        "tflm_constant_s32",
        {"length": len(places)},
        np.array(places, np.int32),
        part="places",
        shape=(len(places),),
        sources=(),
        output_format=Format("int32", 1.0),
    )
    site.call("tflm_gather_s8", params, sources=(site.sources[0], named))


def _gather_slices(site: S8Site, operator: Gather) -> None:
    shape, axis = site.shapes[0], operator.axis
    runs: list[list[int]] = []
    for place in operator.places:
        if runs and runs[-1][-1] + 1 == place:
            runs[-1].append(place)
        else:
            runs.append([place])
    parts = []
    for index, run in enumerate(runs):
        own = (*shape[:axis], len(run), *shape[axis + 1 :])
        part = "" if len(runs) == 1 else f"slice{index}"
        cut = Slice(axis, run[0], run[-1] + 1)
        parts.append((append_slice(site, cut, own, part), len(run)))
    _join(site, axis, parts)


def _reorder(site: S8Site, shape: Shape, order: Sequence[int]) -> None:
    """Append a transposition of `shape` by `order`, with as few axes as possible.

    Axes of one element are dropped, and axes that stay adjacent become one.
    """
    site.same_formats()
    runs: list[list[int]] = []
    for axis in (axis for axis in order if shape[axis] > 1):
        last = runs[-1][-1] if runs else axis
        if last < axis and math.prod(shape[last + 1 : axis]) == 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    before = sorted(runs)
    rank = len(runs)
    split = tuple(math.prod(shape[axis] for axis in run) for run in before)
    permutation = tuple(before.index(run) for run in runs)
    if rank < 2 and not site.wide:
        site.call("arm_reshape_s8", {"total_size": math.prod(shape)})
        return
    if site.wide or rank > len(_AXES):
        _move(site, split, permutation)
        return
    ones = (1,) * (len(_AXES) - rank)
    params = {
        "num_dims": rank,
        **name_sides("input", (*split, *ones)),
        **name_sides("output", (*(split[axis] for axis in permutation), *ones)),
        **name_sides("perm", (*permutation, *range(rank, len(_AXES))), "0123"),
    }
    site.call("arm_transpose_s8", params)


def _move(site: S8Site, split: Sequence[int], permutation: Sequence[int]) -> None:
    """Append a transposition of up to six axes by TensorFlow Lite Micro's function."""
    missing = _MOVED - len(split)
    if missing < 0:
        raise ModelError(f"its axes are {list(split)}; its function takes up to {_MOVED}")
    sides = [*[1] * missing, *split]
    order = [*range(missing), *(missing + axis for axis in permutation)]
    columns = {"input": sides, "output": [sides[axis] for axis in order], "perm": order}
    params: dict[str, int] = {}
    for stem, numbers in columns.items():
        params.update(name_sides(stem, tuple(numbers), "012345"))
    site.call(f"tflm_transpose_{site.suffix}", params)
