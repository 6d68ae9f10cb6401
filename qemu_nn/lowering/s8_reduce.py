"""Lowering of reductions to calls of the s8 and s16 functions."""

from __future__ import annotations

import math

from ..errors import ModelError
from ..operators import ArgMax, Reduce, Shape
from .s8_context import S8Site

#: Groups of axes of the functions: kept and reduced in turn.
_GROUPS = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")


def reduce(site: S8Site, operator: Reduce) -> None:
    """Append a mean, sum, maximum or minimum over axes."""
    sides = group_axes(site, operator.axes)
    if operator.kind in ("max", "min"):
        site.same_formats()
        if site.wide:
            _pool(site, operator, sides)
        else:
            site.call(f"tflm_reduce_{operator.kind}_s8", sides)
        return
    source, output = site.formats
    multiplier, shift = site.make_scaling(source.scale / output.scale)
    params = {**sides, "multiplier": multiplier, "shift": shift}
    params.update(input_zero_point=source.zero_point, output_zero_point=output.zero_point)
    site.call(f"tflm_{operator.kind}_{site.suffix}", params)


def _pool(site: S8Site, operator: Reduce, sides: dict[str, int]) -> None:
    """Append a maximum of 16 bits as a pooling of one window for each image row."""
    if operator.kind == "min" or sides["reduced_1"] > 1:
        raise ModelError(
            f"the {operator.kind} over axes {list(operator.axes)} of {list(site.shapes[0])} "
            "has a function of 8 bits only; take bits=8"
        )
    rows, columns, channels = (sides[name] for name in _GROUPS[:3])
    image = {"input": (rows, columns), "filter": (1, columns), "stride": (1, 1), "pad": (0, 0)}
    image["output"] = (rows, 1)
    params = {
        f"{name}_{axis}": pair[i] for name, pair in image.items() for i, axis in enumerate("hw")
    }
    site.call("arm_max_pool_s16", {**params, "batches": 1, "channels": channels, **site.clamp()})


def group_axes(site: S8Site, axes: tuple[int, ...]) -> dict[str, int]:
    """Return the sides of alternating groups of kept and reduced axes."""
    groups: list[list[int]] = [[]]  # groups of even numbers are kept
    for axis, side in enumerate(site.shapes[0]):
        if side == 1:
            continue
        if (len(groups) - 1) % 2 != (axis in axes):
            groups.append([])
        groups[-1].append(side)
    if len(groups) > len(_GROUPS):
        raise ModelError(
            f"it reduces {len(groups) // 2} separate groups of axes of {list(site.shapes[0])}; its "
            "function takes up to 2"
        )
    groups += [[] for _ in range(len(_GROUPS) - len(groups))]
    return {name: math.prod(group) for name, group in zip(_GROUPS, groups)}


def arg_max(site: S8Site, operator: ArgMax) -> None:
    """Append the index of the largest or smallest element of an axis, in 32 bits."""
    if site.formats[0].dtype != "int8":
        raise ModelError("indices of largest elements have a function of 8 bits only; take bits=8")
    kind = "min" if operator.least else "max"
    site.call(f"tflm_arg_{kind}_s8", group_one_axis(site.shapes[0], operator.axis))


def group_one_axis(shape: Shape, axis: int) -> dict[str, int]:
    """Return the elements before, along and after an axis as arguments."""
    sides = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    return dict(zip(_GROUPS, sides))
