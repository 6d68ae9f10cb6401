"""Means, sums and extremes of axes, ArgMax and ArgMin, of quantized files."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Optional

from ....errors import ModelError
from ....ir.formats import Format
from ...arguments import SUFFIXES, groups
from .. import indices
from ..call import OnnxCall
from .building import PLACES, REAL, rescaling, scaled
from .float32 import floated, step
from .shaping import same
from .site import Converter, Site, once
from .symbols import Int, Pending
from .windows import pool


def arg(site: Site, what: str) -> Int:
    """Return where the largest or the least number of an axis is: the first of equal ones."""
    call, x = site.call, site.integers(0)
    rank = len(x.shape) + 1
    axis = call.integer("axis", 0) % rank - 1
    if axis < 0 or call.integer("select_last_index", 0):
        raise ModelError(
            "it searches along the batch, or for the last of equal elements; it must be an "
            "axis of a sample, and the first"
        )
    x = site.builder.ordered(x, range(len(x.shape)))
    if x.kind == "s16":  # which floats are in the same order as
        params, made = scaled(x.size, x.format), Int(f"{x.name}/real", x.shape, x.order, REAL)
        x = site.builder.call("tflm_dequantize_s16_f32", params, [x], made)
    middle = (1,) if call.integer("keepdims", 1) else ()
    shape = (*x.shape[:axis], *middle, *x.shape[axis + 1 :])
    params = {"kept_0": math.prod(x.shape[:axis]), "reduced_0": x.shape[axis]}
    params["kept_1"] = math.prod(x.shape[axis + 1 :])
    made = Int(call.node.outputs[0], shape, tuple(range(len(shape))), PLACES)
    function = f"tflm_arg_{what}_{SUFFIXES[x.format.dtype]}"
    return site.builder.call(function, params, [x], made)


def reduce(site: Site, what: str, first: str = "", last: str = "") -> Pending:
    """Convert what reduces any axes but the batch; first, last: functions of each element around
    it, which only float32 has.
    """
    call, own = site.call, site.shape()
    axes = _axes(call, len(own) + 1)
    if axes is None:
        return same(site)
    keeps = bool(call.integer("keepdims", 1))
    kept = [axis for axis in range(len(own)) if axis not in axes]
    shape = tuple(own[axis] if axis in kept else 1 for axis in range(len(own)))
    shape = shape if keeps else tuple(own[axis] for axis in kept)

    def made(x: Int, name: str, form: Format) -> Int:
        order = x.order if keeps else tuple(kept.index(axis) for axis in x.order if axis in kept)
        return Int(name, shape, order, form)

    def real() -> Int:
        x = floats()
        if first:
            x = step(site.builder, first, [x], {"length": x.size})
        y = made(x, f"{x.name}/{what}", REAL)
        y = site.builder.call(f"tflm_{what}_f32", _groups(x, axes), [x], y)
        return step(site.builder, last, [y], {"length": y.size}) if last else y

    floats = site.floats(0)
    if first or isinstance(site.call.value(0), Pending):
        return floated(site, shape, real)
    x = site.integers(0)
    if x.kind == "s16" and what in _EXTREMES:  # of which there is no function
        return floated(site, shape, real)
    if what == "mean" and axes == {1, 2} and len(own) == 3:
        pooled = pool(site, "average", whole=True)

        def emit_pooled(form: Format, name: str, ends: tuple[float, float]) -> Int:
            y = pooled.emit(form, name, ends)
            return replace(made(x, y.name, form), order=tuple(range(len(shape))))

        return Pending(emit_pooled, shape, real=once(real))

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        function, params = f"tflm_{what}_{x.kind}", _groups(x, axes)
        if what in _EXTREMES:
            y = made(x, name if x.format == form else f"{name}/{what}", x.format)
            return site.builder.rescaled(site.builder.call(function, params, [x], y), form, name)
        params.update(rescaling(x, form))
        return site.builder.call(function, params, [x], made(x, name, form))

    return Pending(emit, shape, real=once(real))


def cumulate(site: Site) -> Pending:
    """Convert CumSum along an axis that the file names."""
    call, own = site.call, site.shape()
    given = call.array(1)
    if given.size != 1 or given.dtype.kind not in "iu":
        raise ModelError("its axis must be one integer in the file")
    axis = indices.axes([int(given.reshape(()))], len(own) + 1)[0] - 1
    if axis < 0:
        raise ModelError("it adds along the batch; samples must be independent")
    flags = {key: int(bool(call.integer(key, 0))) for key in ("exclusive", "reverse")}
    floats = site.floats(0)

    def real() -> Int:
        x = floats()
        at = x.order.index(axis)
        params = {"outer": math.prod(x.memory[:at]), "inner": math.prod(x.memory[at + 1 :])}
        return step(site.builder, "cumsum", [x], {**params, **flags, "side": own[axis]})

    return floated(site, own, real)


#: Reductions that make none but the numbers that they read.
_EXTREMES = ("reduce_max", "reduce_min")


def _groups(x: Int, axes: set[int]) -> dict[str, int]:
    return groups(x.memory, {x.order.index(axis) for axis in axes})


def _axes(call: OnnxCall, rank: int) -> Optional[set[int]]:
    """Return the axes of a sample that are reduced; None for none at all."""
    named = call.integers("axes", at=1)
    idle = call.integer("noop_with_empty_axes", 0)
    if not named and idle:
        return None
    found = indices.axes(named or list(range(rank)), rank)
    if 0 in found:
        raise ModelError("it reduces the batch; samples must be independent")
    return {axis - 1 for axis in found}


REDUCING: dict[str, Converter] = {
    "ReduceMean": partial(reduce, what="mean"),
    "ReduceSum": partial(reduce, what="sum"),
    "ReduceMax": partial(reduce, what="reduce_max"),
    "ReduceMin": partial(reduce, what="reduce_min"),
    "ReduceL1": partial(reduce, what="sum", first="abs"),
    "ReduceL2": partial(reduce, what="sum", first="square", last="sqrt"),
    "CumSum": cumulate,
    "ReduceSumSquare": partial(reduce, what="sum", first="square"),
}

SEARCHING: dict[str, Converter] = {
    "ArgMax": partial(arg, what="max"),
    "ArgMin": partial(arg, what="min"),
}
