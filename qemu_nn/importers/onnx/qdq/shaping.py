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
from .. import indices
from ..call import OnnxCall
from .building import PLACES, REAL
from .float32 import floated
from .layers import pad_function
from .pairs import shift_of
from .site import Converter, Site, moved, once
from .symbols import LAST, Fixed, Int, Outside, Pending, broadcast, order_of

_SLICES = 5


def _plain(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(range(len(shape)))


def _reshaped(site: Site, shape: Shape) -> Pending:
    """Return the same numbers, in the file's order, in another shape."""
    own = site.shape()
    if math.prod(shape) != math.prod(own):
        raise ModelError(
            f"it reshapes {[1, *own]} to {[1, *shape]}; both must have as many elements"
        )

    def put(x: Int, name: str) -> Int:
        return replace(site.builder.ordered(x, _plain(own)), shape=shape, order=_plain(shape))

    return moved(site, shape, put)


def _without_batch(site: Site, shape: Sequence[int]) -> Shape:
    if len(shape) < 2 or shape[0] != site.builder.batch:
        raise ModelError(f"its output is {list(shape)}; the first axis must be the batch")
    return tuple(shape[1:])


def reshape(site: Site) -> Pending:
    """Reshape."""
    wanted = site.call.integers("shape", at=1)
    if wanted is None:
        raise ModelError("its shape must be a constant")
    whole = [site.builder.batch, *site.shape()]
    keep = site.call.integer("allowzero", 0) == 0
    shape = [whole[i] if n == 0 and keep and i < len(whole) else n for i, n in enumerate(wanted)]
    if shape.count(-1) == 1:
        rest = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = math.prod(whole) // max(rest, 1)
    if min(shape, default=0) < 1:
        raise ModelError(f"its shape is {wanted}; axes must be 1 or more, with at most one -1")
    return _reshaped(site, _without_batch(site, shape))


def flatten(site: Site) -> Pending:
    """Flatten of all axes but the batch."""
    own, axis = site.shape(), site.call.integer("axis", 1)
    alone = site.builder.batch == 1 and axis in (0, -len(own) - 1)
    if axis not in (1, -len(own)) and not alone:
        raise ModelError(f"it flattens from axis {axis} on; only 1 is supported")
    return _reshaped(site, (math.prod(own),))


def squeeze(site: Site) -> Pending:
    """Convert Squeeze."""
    whole = [site.builder.batch, *site.shape()]
    axes = site.call.integers("axes", at=1)
    axes = [i for i, n in enumerate(whole) if n == 1 and i] if axes is None else axes
    places = {axis % len(whole) for axis in axes}
    if any(whole[place] != 1 for place in places):
        raise ModelError(f"it removes axes {axes} of {whole}; they must have size 1")
    return _reshaped(
        site, _without_batch(site, [n for i, n in enumerate(whole) if i not in places])
    )


def unsqueeze(site: Site) -> Pending:
    """Convert Unsqueeze."""
    own, axes = site.shape(), site.call.integers("axes", at=1) or []
    rank = 1 + len(own) + len(axes)
    places = {axis % rank for axis in axes}
    rest = iter([site.builder.batch, *own])
    return _reshaped(
        site, _without_batch(site, [1 if i in places else next(rest) for i in range(rank)])
    )


def transpose(site: Site) -> Pending:
    """Transpose: another shape of the same bytes, where it undoes their order."""
    own = site.shape()
    rank = len(own) + 1
    order = site.call.integers("perm") or list(range(rank))[::-1]
    if sorted(order) != list(range(rank)) or order[0] != 0:
        raise ModelError(
            f"its order is {order}; it must be a permutation of {rank} axes that keeps the "
            "batch first"
        )
    places = [axis - 1 for axis in order[1:]]
    shape = tuple(own[place] for place in places)

    def put(x: Int, name: str) -> Int:
        turned = tuple(places.index(axis) for axis in x.order)
        return replace(x, shape=shape, order=turned)

    return moved(site, shape, put)


def concatenate(site: Site) -> Pending:
    """Convert Concat, each input in the format of the output."""
    call = site.call
    values = site_values(site)
    rank = len(values[0].shape) + 1
    axis = call.integer("axis", 1) % rank - 1
    rests = {(len(v.shape), *v.shape[:axis], *v.shape[axis + 1 :]) for v in values}
    if axis < 0 or len(rests) > 1:
        raise ModelError(
            f"its inputs differ on axes other than {axis + 1}, or that axis is the batch; they "
            "must be equal there"
        )
    first = values[0].shape
    shape = (*first[:axis], sum(v.shape[axis] for v in values), *first[axis + 1 :])

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        parts = [
            site.builder.rescaled(value, form, f"{name}/part{i}") for i, value in enumerate(values)
        ]
        return _joined(site, parts, axis, name)

    return Pending(emit, shape)


def _joined(site: Site, parts: Sequence[Int], axis: int, name: str) -> Int:
    """Return tensors of one format side by side along an axis."""
    order = order_of(parts[0].shape)
    parts = [site.builder.ordered(part, order) for part in parts]
    place, first, joined = order.index(axis), parts[0].shape, parts[0]
    outer = math.prod(joined.memory[:place])
    for number, part in enumerate(parts[1:], 1):
        last = number == len(parts) - 1
        sums = (*first[:axis], joined.shape[axis] + part.shape[axis], *first[axis + 1 :])
        made = Int(name if last else f"{name}/first{number}", sums, order, joined.format)
        params = {"outer": outer, "inner1": joined.size // outer, "inner2": part.size // outer}
        function = f"tflm_concatenation_{joined.kind}"
        joined = site.builder.call(function, params, [joined, part], made)
    return joined


def site_values(site: Site) -> list[Int]:
    """Return all inputs."""
    if not site.call.inputs:
        raise ModelError("it has no inputs")
    return [site.integers(index) for index in range(len(site.call.inputs))]


def slice_(site: Site) -> Pending:
    """Slice by constants, forwards."""
    call, own = site.call, site.shape()
    rank = len(own) + 1
    starts, ends = call.integers("starts", at=1), call.integers("ends", at=2)
    axes = call.integers("axes", at=3) or list(range(len(starts or ())))
    steps = call.integers("steps", at=4) or [1] * len(axes)
    if starts is None or ends is None or not len(starts) == len(ends) == len(axes) == len(steps):
        raise ModelError("its starts, ends, axes and steps must be constants of one length")
    spans = [(0, 1, side) for side in own]
    for start, end, axis, step in zip(starts, ends, axes, steps):
        place = axis % rank - 1
        if place < 0 or step < 1:
            raise ModelError(
                "it slices the batch, or backwards; it must slice axes of a sample, with "
                "positive steps"
            )
        start, end, _ = slice(start, end).indices(own[place])
        spans[place] = (start, step, len(range(start, end, step)))
    return _cut(site, spans)


def _cut(site: Site, spans: Sequence[tuple[int, int, int]]) -> Pending:
    """Convert Slice: elements of each axis from a start, in steps."""
    shape = tuple(count for _, _, count in spans)
    if min(shape) < 1:
        raise ModelError(
            f"its slice of {[1, *site.shape()]} is empty; it must keep at least one element"
        )

    return moved(site, shape, lambda x, name: sliced(site, x, spans, name))


def sliced(site: Site, x: Int, spans: Sequence[tuple[int, int, int]], name: str) -> Int:
    """Return elements of each axis: from a start, in steps, so many."""
    own = [(x.shape[axis], *spans[axis]) for axis in x.order]
    params: dict[str, int] = {}
    for i, numbers in enumerate([(1, 0, 1, 1)] * (_SLICES - len(own)) + own):
        names = (f"input_{i}", f"begin_{i}", f"stride_{i}", f"output_{i}")
        params.update(zip(names, numbers))
    made = replace(x, name=name, shape=tuple(count for _, _, count in spans))
    return site.builder.call(f"tflm_slice_{x.kind}", params, [x], made)


def split(site: Site) -> tuple[Pending, ...]:
    """Split along an axis, into equal parts or into parts of given sizes."""
    call, own = site.call, site.shape()
    rank, parts = len(own) + 1, call.integer("num_outputs", len(call.node.outputs))
    axis = call.integer("axis", 0) % rank - 1
    if axis < 0:
        raise ModelError("it splits the batch; samples must be independent")
    side = own[axis]
    each = -(-side // parts)
    sizes = call.integers("split", at=1)
    if sizes is None:
        sizes = [min(each, side - each * i) for i in range(parts)]
    if len(sizes) != parts or sum(sizes) != side or min(sizes) < 1:
        raise ModelError(
            f"it splits {side} elements into {parts} parts of {sizes}; these must be positive, "
            f"with the sum {side}"
        )
    found, start = [], 0
    for size in sizes:
        spans = [(0, 1, n) for n in own]
        spans[axis] = (start, 1, size)
        found.append(_cut(site, spans))
        start += size
    return tuple(found)


def pad(site: Site) -> Pending:
    """Pad with a constant, or with elements of the axis."""
    call, own = site.call, site.shape()
    mode = call.text("mode", "constant")
    before, after = _sides(call, len(own) + 1)
    if mode != "constant":
        return _mirrored(site, mode, list(zip(before, after)))
    on_integers = isinstance(call.value(0), Int)
    value = _padding(call, on_integers)
    shape = tuple(a + n + b for a, n, b in zip(before, own, after))

    def put(x: Int, name: str) -> Int:
        if on_integers:
            code = int(value) + shift_of(x.element)
        else:
            code = int(np.rint(value / x.format.scale) + x.format.zero_point)
        low, high = x.format.limits
        params = {"pad_value": min(max(code, low), high), **sides("input", x.memory)}
        for which, numbers in (("pre", before), ("post", after)):
            zeros = (0,) * (4 - len(x.order))
            along = (*zeros, *(numbers[axis] for axis in x.order))
            params.update(sides(which, along))
        made = replace(x, name=name, shape=shape)
        return site.builder.call(pad_function(x), params, [x], made)

    return moved(site, shape, put)


def _mirrored(site: Site, mode: str, around: list[tuple[int, int]]) -> Pending:
    """Return an axis after the other with elements of its own before and after it."""
    own = site.shape()
    places = [_beyond(mode, side, *pair) for side, pair in zip(own, around)]
    shape = tuple(len(place) for place in places)

    def put(x: Int, name: str) -> Int:
        for axis, place in enumerate(places):
            if len(place) > own[axis]:
                x = picked(site, x, axis, place, f"{name}/axis{axis}")
        return x

    return moved(site, shape, put)


def _beyond(mode: str, side: int, before: int, after: int) -> list[int]:
    """Return which element of an axis each one of the padded axis is."""
    if mode not in ("reflect", "edge", "wrap"):
        raise ModelError(f"it pads by {mode!r}; have: constant, reflect, edge, wrap")
    if mode == "reflect" and max(before, after) >= side:
        raise ModelError(
            f"it pads {side} elements by {before} and {after} by reflection; the axis must be "
            "longer"
        )
    places = range(-before, side + after)
    if mode == "reflect":
        return [side - 1 - abs(side - 1 - abs(place)) for place in places]
    if mode == "edge":
        return [min(max(place, 0), side - 1) for place in places]
    return [place % side for place in places]


def picked(site: Site, x: Int, axis: int, places: list[int], name: str) -> Int:
    """Return elements of an axis: by one call, or by a call for all neighbours."""
    if x.kind in ("s8", "f32"):
        return _gathered(site, x, axis, places, name)
    runs: list[list[int]] = []
    for place in places:
        if not runs or place != runs[-1][-1] + 1:
            runs.append([])
        runs[-1].append(place)
    if len(runs) > _RUNS:
        raise ModelError(
            f"it gathers {len(runs)} ranges of an axis of 16 bits; at most {_RUNS} are supported"
        )
    parts = []
    for number, run in enumerate(runs):
        spans = [(0, 1, side) for side in x.shape]
        spans[axis] = (run[0], 1, len(run))
        own = name if len(runs) == 1 else f"{name}/part{number}"
        whole = len(run) == x.shape[axis]
        parts.append(x if whole else sliced(site, x, spans, own))
    return _joined(site, parts, axis, name)


def _gathered(site: Site, x: Int, axis: int, places: list[int], name: str) -> Int:
    at, count = x.order.index(axis), len(places)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    flat = Int(f"{name}/places", (count,), (0,), PLACES)
    numbers = np.array(places, np.int32)
    index = site.builder.call("tflm_constant_s32", {"length": count}, [], flat, numbers)
    params = {"batches": 1, "outer": math.prod(x.memory[:at]), "side": x.shape[axis], "depth": 1}
    params.update(inner=math.prod(x.memory[at + 1 :]), count=count, step_0=1)
    params.update({f"step_{i}": 0 for i in range(1, 5)})
    made = replace(x, name=name, shape=shape)
    return site.builder.call(f"tflm_gather_{x.kind}", params, [x, index], made)


def gather(site: Site) -> Pending:
    """Convert Gather of elements that the file names, or of rows of a table that an input names."""
    table: Any = site.call.value(0)
    if isinstance(table, (Fixed, np.ndarray)):
        return _looked_up(site, table)
    own, index = site.shape(), site.call.array(1)
    rank = len(own) + 1
    axis = site.call.integer("axis", 0) % rank - 1
    if index.dtype.kind not in "iu" or axis < 0 or index.size < 1:
        raise ModelError(
            "its indices are of the batch axis, or no integers; they must be integers, for an "
            "axis of a sample"
        )
    side = own[axis]
    places = [int(place) for place in index.reshape(-1)]
    if not all(-side <= place < side for place in places):
        raise ModelError(f"an index is outside of the {side} elements of axis {axis + 1}")
    shape = (*own[:axis], *index.shape, *own[axis + 1 :])

    def put(x: Int, name: str) -> Int:
        made = picked(site, x, axis, [place % side for place in places], name)
        return replace(site.builder.ordered(made, _plain(own)), shape=shape, order=_plain(shape))

    return moved(site, shape, put)


def _looked_up(site: Site, table: Any) -> Pending:
    """Return rows of a constant table: of 8 bits if it has one scale, of float32 otherwise."""
    call, builder, index = site.call, site.builder, site.call.value(1)
    data = table.data if isinstance(table, Fixed) else call.floats(0)
    if not isinstance(index, Outside) or call.integer("axis", 0) or data.ndim < 2:
        raise ModelError(
            "it gathers elements of a constant; only rows by an input of the file are supported"
        )
    places = builder.places(index)
    shape = (*places.shape, *data.shape[1:])
    params = {"batches": 1, "outer": 1, "side": len(data), "inner": data[0].size, "depth": 1}
    params.update(count=places.size, step_0=1, **{f"step_{i}": 0 for i in range(1, 5)})

    def rows(form: Format, numbers: np.ndarray, name: str) -> Int:
        whole = Int(f"{name}/table", data.shape, _plain(data.shape), form)
        flat = numbers.reshape(-1).astype(form.dtype)
        held = builder.call(f"tflm_constant_{whole.kind}", {"length": flat.size}, [], whole, flat)
        made = Int(name, shape, _plain(shape), form)
        return builder.call(f"tflm_gather_{held.kind}", params, [held, places], made)

    def real() -> Int:
        numbers = table.real if isinstance(table, Fixed) else data
        return rows(REAL, numbers, f"{call.node.outputs[0]}/rows")

    single = isinstance(table, Fixed) and table.scale.size == 1 and table.dtype == "int8"
    if not single:
        return floated(site, shape, real)
    own = Format("int8", float(table.scale.reshape(())), int(table.zero.reshape(())))

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        made = rows(own, table.data, name if form == own else f"{name}/rows")
        return builder.rescaled(made, form, name)

    return Pending(emit, shape, real=once(real))


def expand(site: Site) -> Pending:
    """Expand to a shape that the file names."""
    wanted = site.call.integers("shape", at=1)
    if wanted is None:
        raise ModelError("its shape must be a constant")
    whole = [site.builder.batch, *site.shape()]
    shape = list(broadcast(tuple(whole), tuple(wanted)))
    if len(shape) != len(whole) or shape[0] != whole[0]:
        raise ModelError(f"it expands {whole} to {shape}; the batch must remain")

    def put(x: Int, name: str) -> Int:
        return site.builder.spread(x, tuple(shape[1:]))

    return moved(site, tuple(shape[1:]), put)


def tile(site: Site) -> Pending:
    """Convert Tile by numbers that the file names."""
    own, counts = site.shape(), site.call.integers("repeats", at=1)
    if counts is None or len(counts) != len(own) + 1 or counts[0] != 1 or min(counts) < 1:
        raise ModelError(f"its repeats {counts} must be one for the batch, and 1 or more for axes")
    shape = tuple(side * count for side, count in zip(own, counts[1:]))

    def put(x: Int, name: str) -> Int:
        for axis, count in enumerate(counts[1:]):
            if count > 1:
                x = picked(site, x, axis, [*range(own[axis])] * count, f"{name}/axis{axis}")
        return x

    return moved(site, shape, put)


#: Most parts of an axis that are picked one by one, as each takes a call.
_RUNS = 64


def _sides(call: OnnxCall, rank: int) -> tuple[list[int], list[int]]:
    """Return the elements before and after each axis but the batch."""
    pads, named = call.integers("pads", at=1), call.integers("axes", at=3)
    axes = indices.axes(list(range(rank)) if named is None else named, rank)
    if pads is None or len(pads) != 2 * len(axes) or min(pads) < 0:
        raise ModelError(f"its pads {pads} must be two numbers from 0 on for each axis")
    around = {axis: (pads[i], pads[i + len(axes)]) for i, axis in enumerate(axes)}
    if any(around.get(0, ())):
        raise ModelError("it pads the batch; samples must be independent")
    pairs = [around.get(axis, (0, 0)) for axis in range(1, rank)]
    return [before for before, _ in pairs], [after for _, after in pairs]


def _padding(call: OnnxCall, on_integers: bool) -> float:
    """Return the number to pad with: of the file's integers, or a float."""
    if not call.has(2):
        return call.number("value", 0.0)
    given: Any = call.value(2)
    number = given.real if isinstance(given, Fixed) else call.array(2)
    kind = "iu" if on_integers else "f"
    if number.size != 1 or number.dtype.kind not in kind or not np.isfinite(number).all():
        raise ModelError("its padding value must be one number of its input's type")
    return float(number.reshape(()))


def depth_to_space(site: Site) -> Pending:
    """Convert DepthToSpace of an image, in both orders of the channels."""
    (depth, height, width), side = _image(site), _block(site)
    mode, rest = site.call.text("mode", "DCR"), depth // side**2
    if depth % side**2 or mode not in ("DCR", "CRD"):
        raise ModelError(
            f"its input has {depth} channels; they must be a multiple of {side} x {side}"
        )
    own, to = {
        "DCR": ((side, side, rest, height, width), (3, 0, 4, 1, 2)),
        "CRD": ((rest, side, side, height, width), (3, 1, 4, 2, 0)),
    }[mode]
    shape = (rest, height * side, width * side)
    return _blocks(site, own, (3, 4, 0, 1, 2), to, shape)


def space_to_depth(site: Site) -> Pending:
    """Convert SpaceToDepth of an image."""
    (depth, height, width), side = _image(site), _block(site)
    if height % side or width % side:
        raise ModelError(
            f"its input has {height} x {width} pixels; both must be multiples of {side}"
        )
    own = (depth, height // side, side, width // side, side)
    shape = (depth * side**2, height // side, width // side)
    return _blocks(site, own, (1, 2, 3, 4, 0), (1, 3, 2, 4, 0), shape)


def _image(site: Site) -> Shape:
    shape = site.shape()
    if len(shape) != 3:
        raise ModelError(f"its input is {[1, *shape]}; it must be an image [N, C, H, W]")
    return shape


def _block(site: Site) -> int:
    side = site.call.integer("blocksize", 0)
    if side < 1:
        raise ModelError(f"its blocksize is {side}; it must be 1 or more")
    return side


def _blocks(
    site: Site, own: Shape, order: tuple[int, ...], to: tuple[int, ...], shape: Shape
) -> Pending:
    """Return an image, taken as five axes in an order in memory, with these in another order."""

    def put(x: Int, name: str) -> Int:
        blocks = replace(site.builder.ordered(x, LAST), shape=own, order=order)
        return replace(site.builder.ordered(blocks, to), shape=shape, order=LAST)

    return moved(site, shape, put)


def same(site: Site) -> Pending:
    """Convert Identity."""
    return moved(site, site.shape(), lambda x, name: x)


def dropout(site: Site) -> Pending:
    """Convert Dropout, which does nothing but in training."""
    site.call.ignore("ratio", "seed", "is_test")
    if site.call.has(1):
        site.call.array(1)
    if site.call.has(2) and site.call.array(2).any():
        raise ModelError("it drops elements at random (training_mode); export for inference")
    return same(site)


def cast(site: Site) -> Pending:
    """Cast of floats to floats."""
    if site.call.integer("to", 0) != 1:
        raise ModelError("it converts to something other than float32")
    site.call.ignore("saturate", "round_mode")
    return same(site)


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
    "Dropout": dropout,
    "Cast": cast,
    "Gather": gather,
    "Expand": expand,
    "Tile": tile,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
}
