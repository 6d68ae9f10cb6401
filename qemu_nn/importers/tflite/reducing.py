"""Reductions over axes: mean, sum, maximum, minimum, and the indices of maximum and minimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ...errors import ModelError
from ..arguments import groups, moves
from .building import TfliteValue
from .call import SUFFIXES, Converter, TfliteCall, check_same_format, check_same_type
from .scaling import multiplier
from .shaping import check_shape, normalize_axis

#: The framework's error text for a REDUCE_MAX between different scales.
_SCALES_DIFFER = (
    "static_cast<double>(op_data->input_scale) != static_cast<double>(op_data->output_scale)"
)


def read_axes(call: TfliteCall, rank: int) -> set[int]:
    """Return the axes that the second input names."""
    tensor = call.tensor(1)
    if tensor.type != "INT32":
        raise ModelError(f"its axes, {tensor}, are {tensor.type}; they must be INT32")
    return {normalize_axis(axis, rank) for axis in call.integers(1)}


def group_axes(
    call: TfliteCall, x: TfliteValue, output: TfliteValue, axes: set[int]
) -> tuple[TfliteValue, dict[str, int]]:
    """Return the tensor to reduce, and its axes as arguments; check the output's shape.

    A call reduces up to two groups of axes. With more groups, a transpose first makes the reduced
    axes adjacent. It keeps their order, so that float sums add in the device's order.
    """
    left = [n for i, n in enumerate(x.shape) if i not in axes]
    if [n for n in output.shape if n > 1] != [n for n in left if n > 1]:
        raise ModelError(
            f"its output is {list(output.shape)}; it must be {left}, with or without the reduced "
            "axes as 1"
        )
    runs = _merge_axes(x.shape, axes)
    if sum(reduced for reduced, _ in runs) > 2:
        order = sorted(range(len(runs)), key=lambda at: runs[at][0])
        shape = [math.prod(n for own, n in runs if own == kind) for kind in (False, True)]
        like = replace(x, name=output.name, shape=tuple(shape))
        function = f"tflm_transpose_{SUFFIXES[x.dtype]}"
        params = moves([side for _, side in runs], order)
        x, axes = call.add_part("together", like, function, params, [x]), {1}
    return x, groups(x.shape, axes)


def mean(call: TfliteCall, kind: str) -> None:
    """Convert MEAN and SUM over any axes."""
    call.check_counts(2, 2)
    x, output = call.value(), call.output()
    factor, shift = multiplier(x.scale / output.scale)
    suffix = check_same_type(x, output)
    x, sides = group_axes(call, x, output, read_axes(call, len(x.shape)))
    params = {
        **sides,
        **{"input_zero_point": x.zero, "output_zero_point": output.zero},
        **{"multiplier": factor, "shift": shift},
    }
    call.put(f"tflm_{kind}_{suffix}", params, [x], output)


def reduce(call: TfliteCall, kind: str) -> None:
    """Convert REDUCE_MAX and REDUCE_MIN."""
    call.check_counts(2, 2)
    x, output = call.value(), call.output()
    check_same_format(x, output, _SCALES_DIFFER)
    function = call.function({"s8": f"tflm_reduce_{kind}_s8"}, x)
    x, sides = group_axes(call, x, output, read_axes(call, len(x.shape)))
    call.put(function, sides, [x], output)


def reduce_all(call: TfliteCall) -> None:
    """Convert REDUCE_ALL of booleans."""
    call.check_counts(2, 2)
    x, output = call.value(0, "BOOL"), call.output(0, "BOOL")
    if (x.dtype, output.dtype) != ("bool", "bool"):
        raise ModelError(f"its input is {x.dtype}, its output {output.dtype}; both must be bool")
    x, sides = group_axes(call, x, output, read_axes(call, len(x.shape)))
    call.put("tflm_reduce_all_b8", sides, [x], output)


def arg(call: TfliteCall, kind: str) -> None:
    """Convert ARG_MAX and ARG_MIN along one axis; the output lacks this axis."""
    call.check_counts(2, 2)
    x, output = call.value(0, "FLOAT32"), call.output(0, "INT32")
    axes = read_axes(call, len(x.shape))
    if len(axes) != 1:
        raise ModelError(f"it has {len(axes)} axes; it must have one")
    axis = axes.pop()
    check_shape(output, (*x.shape[:axis], *x.shape[axis + 1 :]))
    if output.dtype != "int32":
        raise ModelError(f"its output is {output.dtype}; it must be int32")
    params = {
        "kept_0": math.prod(x.shape[:axis]),
        "reduced_0": x.shape[axis],
        "kept_1": math.prod(x.shape[axis + 1 :]),
    }
    names = {suffix: f"tflm_arg_{kind}_{suffix}" for suffix in ("s8", "f32")}
    call.put(call.function(names, x), params, [x], output)


def _merge_axes(shape: Sequence[int], axes: set[int]) -> list[tuple[bool, int]]:
    """Merge adjacent axes of one kind: True if they are reduced, and their number of elements."""
    runs: list[tuple[bool, int]] = []
    for axis, side in enumerate(shape):
        if side == 1:
            continue
        before = runs.pop()[1] if runs and runs[-1][0] == (axis in axes) else 1
        runs.append((axis in axes, before * side))
    return runs


REDUCING: dict[str, Converter] = {
    "MEAN": partial(mean, kind="mean"),
    "SUM": partial(mean, kind="sum"),
    "REDUCE_MAX": partial(reduce, kind="max"),
    "REDUCE_MIN": partial(reduce, kind="min"),
    "REDUCE_ALL": reduce_all,
    "ARG_MAX": partial(arg, kind="max"),
    "ARG_MIN": partial(arg, kind="min"),
}
