"""Operators of quantized files that move integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from ....operators import Shape
from ...arguments import sides
from .layers import pad_function
from .site import Converter, Site, moved
from .symbols import Fixed, Int, Pending, order_of

_SLICES = 5


def _plain(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(range(len(shape)))


def _reshaped(site: Site, shape: Shape) -> Pending:
    """Return the same numbers, in the file's order, in another shape."""
    x = site.integers(0)
    if math.prod(shape) != x.size:
        raise ModelError(f"it makes {[1, *shape]} of {[1, *x.shape]}")
    x = site.builder.ordered(x, _plain(x.shape))

    def put(x: Int, name: str) -> Int:
        return replace(x, shape=shape, order=_plain(shape))

    return moved(site, x, shape, put, ())


def _without_batch(site: Site, shape: Sequence[int]) -> Shape:
    if len(shape) < 2 or shape[0] != site.builder.batch:
        raise ModelError(f"it makes {list(shape)}, whose first axis is not the batch")
    return tuple(shape[1:])


def reshape(site: Site) -> Pending:
    """Reshape."""
    x, wanted = site.integers(0), site.call.integers("shape", at=1)
    if wanted is None:
        raise ModelError("its shape must be a constant")
    whole = [site.builder.batch, *x.shape]
    keep = site.call.integer("allowzero", 0) == 0
    shape = [whole[i] if n == 0 and keep and i < len(whole) else n for i, n in enumerate(wanted)]
    if shape.count(-1) == 1:
        rest = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = math.prod(whole) // max(rest, 1)
    if min(shape, default=0) < 1:
        raise ModelError(f"it has the shape {wanted}")
    return _reshaped(site, _without_batch(site, shape))


def flatten(site: Site) -> Pending:
    """Flatten of all axes but the batch."""
    x, axis = site.integers(0), site.call.integer("axis", 1)
    if axis not in (1, -len(x.shape)):
        raise ModelError(f"it flattens from axis {axis} on; only 1 is supported")
    return _reshaped(site, (x.size,))


def squeeze(site: Site) -> Pending:
    """Squeeze."""
    x = site.integers(0)
    whole = [site.builder.batch, *x.shape]
    axes = site.call.integers("axes", at=1)
    axes = [i for i, n in enumerate(whole) if n == 1 and i] if axes is None else axes
    places = {axis % len(whole) for axis in axes}
    if any(whole[place] != 1 for place in places):
        raise ModelError(f"it drops axes {axes} of {whole}")
    return _reshaped(
        site, _without_batch(site, [n for i, n in enumerate(whole) if i not in places])
    )


def unsqueeze(site: Site) -> Pending:
    """Unsqueeze."""
    x, axes = site.integers(0), site.call.integers("axes", at=1) or []
    rank = 1 + len(x.shape) + len(axes)
    places = {axis % rank for axis in axes}
    rest = iter([site.builder.batch, *x.shape])
    return _reshaped(
        site, _without_batch(site, [1 if i in places else next(rest) for i in range(rank)])
    )


def transpose(site: Site) -> Pending:
    """Transpose: another shape of the same bytes, where it undoes their order."""
    x = site.integers(0)
    rank = len(x.shape) + 1
    order = site.call.integers("perm") or list(range(rank))[::-1]
    if sorted(order) != list(range(rank)) or order[0] != 0:
        raise ModelError(f"its order {order} moves the batch, or is no order of {rank} axes")
    places = [axis - 1 for axis in order[1:]]
    shape = tuple(x.shape[place] for place in places)

    def put(x: Int, name: str) -> Int:
        turned = tuple(places.index(axis) for axis in x.order)
        return replace(x, shape=shape, order=turned)

    return moved(site, x, shape, put, ())


def concatenate(site: Site) -> Pending:
    """Concat, each input in the format of the output."""
    call = site.call
    values = site_values(site)
    rank = len(values[0].shape) + 1
    axis = call.integer("axis", 1) % rank - 1
    rests = {(len(v.shape), *v.shape[:axis], *v.shape[axis + 1 :]) for v in values}
    if axis < 0 or len(rests) > 1:
        raise ModelError(f"its inputs differ beside axis {axis + 1}, or that is the batch")
    order = order_of(values[0].shape)
    values = [site.builder.ordered(value, order) for value in values]
    first = values[0].shape
    shape = (*first[:axis], sum(v.shape[axis] for v in values), *first[axis + 1 :])
    place = order.index(axis)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        parts = [
            site.builder.rescaled(value, form, f"{name}/part{i}") for i, value in enumerate(values)
        ]
        outer = math.prod(parts[0].memory[:place])
        joined = parts[0]
        for number, part in enumerate(parts[1:], 1):
            last = number == len(parts) - 1
            sums = (*first[:axis], joined.shape[axis] + part.shape[axis], *first[axis + 1 :])
            made = Int(name if last else f"{name}/first{number}", sums, order, form)
            params = {"outer": outer, "inner1": joined.size // outer, "inner2": part.size // outer}
            joined = site.builder.call(
                f"tflm_concatenation_{joined.kind}", params, [joined, part], made
            )
        return joined

    return Pending(emit, shape)


def site_values(site: Site) -> list[Int]:
    """Return all inputs."""
    if not site.call.inputs:
        raise ModelError("it has no inputs")
    return [site.integers(index) for index in range(len(site.call.inputs))]


def slice_(site: Site) -> Pending:
    """Slice by constants, forwards."""
    call, x = site.call, site.integers(0)
    rank = len(x.shape) + 1
    starts, ends = call.integers("starts", at=1), call.integers("ends", at=2)
    axes = call.integers("axes", at=3) or list(range(len(starts or ())))
    steps = call.integers("steps", at=4) or [1] * len(axes)
    if starts is None or ends is None or not len(starts) == len(ends) == len(axes) == len(steps):
        raise ModelError("its starts, ends, axes and steps must be constants of one length")
    spans = [(0, 1, side) for side in x.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps):
        place = axis % rank - 1
        if place < 0 or step < 1:
            raise ModelError("it slices the batch, or backwards")
        start, end, _ = slice(start, end).indices(x.shape[place])
        spans[place] = (start, step, len(range(start, end, step)))
    return _cut(site, x, spans)


def _cut(site: Site, x: Int, spans: Sequence[tuple[int, int, int]]) -> Pending:
    """Convert Slice: elements of each axis from a start, in steps."""
    shape = tuple(count for _, _, count in spans)
    if min(shape) < 1:
        raise ModelError(f"it leaves nothing of {[1, *x.shape]}")

    def put(x: Int, name: str) -> Int:
        own = [(x.shape[axis], *spans[axis]) for axis in x.order]
        params: dict[str, int] = {}
        for i, numbers in enumerate([(1, 0, 1, 1)] * (_SLICES - len(own)) + own):
            names = (f"input_{i}", f"begin_{i}", f"stride_{i}", f"output_{i}")
            params.update(zip(names, numbers))
        made = replace(x, name=name, shape=shape)
        return site.builder.call(f"tflm_slice_{x.kind}", params, [x], made)

    return moved(site, x, shape, put, ())


def split(site: Site) -> tuple[Pending, ...]:
    """Split along an axis, into equal parts or into parts of given sizes."""
    call, x = site.call, site.integers(0)
    rank, parts = len(x.shape) + 1, len(call.node.outputs)
    axis = call.integer("axis", 0) % rank - 1
    if axis < 0:
        raise ModelError("it splits the batch")
    side = x.shape[axis]
    each = -(-side // parts)
    sizes = call.integers("split", at=1)
    if sizes is None:
        sizes = [min(each, side - each * i) for i in range(parts)]
    if len(sizes) != parts or sum(sizes) != side or min(sizes) < 1:
        raise ModelError(f"it splits {side} into {parts} parts of {sizes}")
    found, start = [], 0
    for size in sizes:
        spans = [(0, 1, n) for n in x.shape]
        spans[axis] = (start, 1, size)
        found.append(_cut(site, x, spans))
        start += size
    return tuple(found)


def pad(site: Site) -> Pending:
    """Pad with a constant."""
    call, x = site.call, site.integers(0)
    if call.text("mode", "constant") != "constant":
        raise ModelError("it pads with something other than a constant")
    pads, rank = call.integers("pads", at=1), len(x.shape) + 1
    if pads is None or len(pads) != 2 * rank or min(pads) < 0 or pads[0] or pads[rank]:
        raise ModelError(f"its pads {pads} must be two numbers from 0 on for each axis")
    value = 0.0
    if call.has(2):
        given: Any = call.value(2)
        number = given.real if isinstance(given, Fixed) else call.floats(2)
        if number.size != 1:
            raise ModelError("it needs one number to pad with")
        value = float(number.reshape(()))
    before, after = pads[1:rank], pads[rank + 1 :]
    shape = tuple(a + n + b for a, n, b in zip(before, x.shape, after))

    def put(x: Int, name: str) -> Int:
        code = int(np.clip(np.rint(value / x.format.scale) + x.format.zero_point, *x.format.limits))
        params = {"pad_value": code, **sides("input", x.memory)}
        for which, numbers in (("pre", before), ("post", after)):
            zeros = (0,) * (4 - len(x.order))
            own = (*zeros, *(numbers[axis] for axis in x.order))
            params.update(sides(which, own))
        made = replace(x, name=name, shape=shape)
        return site.builder.call(pad_function(x), params, [x], made)

    return moved(site, x, shape, put, ())


def same(site: Site) -> Pending:
    """Identity and Dropout."""
    x = site.integers(0)
    return moved(site, x, x.shape, lambda x, name: x, ())


SHAPING: dict[str, Converter] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concatenate,
    "Slice": slice_,
    "Split": split,
    "Pad": pad,
    "Identity": same,
    "Dropout": same,
}
