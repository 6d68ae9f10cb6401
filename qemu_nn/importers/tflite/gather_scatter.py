"""Operators that read or write at indices: gather, lookup, update, mirror; and cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ...functions.tflm_float import bits
from .call import SUFFIXES, Converter, TfliteCall, adopt_format
from .scaling import multiplier
from .shaping import bring, check_shape, check_type, normalize_axis, read_pair
from .values import TfliteValue

_GATHERED = ("INT8", "FLOAT32")

#: Maximum coordinates of an index.
_DEPTH = 5


def _read_indices(call: TfliteCall, index: int, sides: Sequence[int]) -> TfliteValue:
    """Return an input of indices along axes of these sizes; check constant indices."""
    check_type(call, index, ("INT32",))
    numbers = call.tensor(index).data
    if numbers is not None and numbers.size:
        far = (numbers < 0) | (numbers >= np.array(sides))
        if far.any():
            raise ModelError(
                f"its index {numbers[far].flat[0]} is outside of the axes {list(sides)}; it must "
                "be at least 0 and less than the axis"
            )
    return call.value(index, "INT32")


def _gather(
    call: TfliteCall,
    x: TfliteValue,
    places: TfliteValue,
    output: TfliteValue,
    sides: Sequence[int],
    **counts: int,
) -> None:
    """Add the call that gathers blocks; `sides` are the sizes of the indexed axes."""
    x = adopt_format(call, x, output)
    steps = [math.prod(sides[i + 1 :]) for i in range(len(sides))] + [0] * (_DEPTH - len(sides))
    params = {"batches": 1, "outer": 1, "side": math.prod(sides), "depth": len(sides), **counts}
    params.update({f"step_{i}": step for i, step in enumerate(steps)})
    call.put(f"tflm_gather_{SUFFIXES[x.dtype]}", params, [x, places], output)


def gather(call: TfliteCall) -> None:
    """Convert GATHER along one axis, with separate indices for leading batch axes."""
    call.check_counts(2, 2)
    types = check_type(call, 0, _GATHERED)
    options, x, output = (
        call.read_options("GatherOptions"),
        call.value(0, *types),
        call.output(0, *types),
    )
    shape, chosen = x.shape, call.tensor(1).shape
    rank = len(shape)
    axis = normalize_axis(options.integer("Axis", -rank, rank - 1), rank)
    batch = options.integer("BatchDims", -len(chosen), len(chosen)) % max(len(chosen), 1)
    if batch > axis or shape[:batch] != chosen[:batch]:
        raise ModelError(
            f"its input is {list(shape)} and its indices {list(chosen)}; the first {batch} axes "
            f"must be equal, and before axis {axis}"
        )
    check_shape(output, (*shape[:axis], *chosen[batch:], *shape[axis + 1 :]))
    _gather(
        call,
        x,
        _read_indices(call, 1, shape[axis : axis + 1]),
        output,
        shape[axis : axis + 1],
        batches=math.prod(shape[:batch]),
        outer=math.prod(shape[batch:axis]),
        inner=math.prod(shape[axis + 1 :]),
        count=math.prod(chosen[batch:]),
    )


def gather_nd(call: TfliteCall) -> None:
    """Convert GATHER_ND: gather elements, or blocks of trailing axes, by several coordinates."""
    call.check_counts(2, 2)
    types = check_type(call, 0, _GATHERED)
    x, output = call.value(0, *types), call.output(0, *types)
    *lead, depth = call.tensor(1).shape or (0,)
    if not 1 <= depth <= min(len(x.shape), _DEPTH):
        raise ModelError(
            f"its indices have {depth} coordinates; for {len(x.shape)} axes they must have 1 to "
            f"{min(len(x.shape), _DEPTH)}"
        )
    check_shape(output, (*lead, *x.shape[depth:]))
    sides = x.shape[:depth]
    counts = {"inner": math.prod(x.shape[depth:]), "count": math.prod(lead)}
    _gather(call, x, _read_indices(call, 1, sides), output, sides, **counts)


def look_up(call: TfliteCall) -> None:
    """Convert EMBEDDING_LOOKUP: rows of a table, dequantized if the output is float32."""
    call.check_counts(2, 2)
    types = check_type(call, 1, _GATHERED)
    x, count = call.value(1, *types), call.tensor(0).shape
    output = call.output(0, *types, "FLOAT32")
    if len(count) != 1 or len(x.shape) < 2:
        raise ModelError(
            f"its indices are {list(count)} and its table {list(x.shape)}; they must be a list, "
            "and a table with at least two axes"
        )
    check_shape(output, (*count, *x.shape[1:]))
    real = (x.dtype, output.dtype) == ("int8", "float32")
    if output.dtype != x.dtype and not real:
        raise ModelError(
            f"its table is {x.dtype} and its output {output.dtype}; both must have one type, "
            "or be int8 and float32"
        )
    if real and x.zero:
        raise ModelError(f"its table has the zero point {x.zero}; it must be 0")
    rows = replace(x, name=call.builder.make_name(output.name, "rows"), shape=output.shape)
    sides = x.shape[:1]
    counts = {"inner": math.prod(x.shape[1:]), "count": count[0]}
    _gather(call, x, _read_indices(call, 0, sides), rows if real else output, sides, **counts)
    if real:
        params = {"length": output.size, "zero_point": 0, "scale_bits": bits(x.scale)}
        call.put("tflm_dequantize_s8_f32", params, [rows], output)


def _mirror_indices(before: int, side: int, behind: int, offset: int) -> np.ndarray:
    """Return the source index of each element along a mirrored axis."""
    front, back = np.arange(before), np.arange(behind)
    last = side - 1 - offset
    places = np.concatenate(
        [
            np.maximum(before + offset - 1 - front, offset),
            np.arange(side),
            last - np.minimum(back, last),
        ]
    )
    if places.max() >= side or places.min() < 0:
        raise ModelError(
            f"it mirrors {before} and {behind} elements of an axis of {side}; the axis must be "
            "longer"
        )
    return places


def mirror_pad(call: TfliteCall) -> None:
    """Convert MIRROR_PAD: a border of mirrored elements, with or without the edge."""
    x, output = read_pair(call, 2, _GATHERED)
    tensor, borders = call.constant(1, "INT32", "INT64")
    rank = len(x.shape)
    if borders.shape != (rank, 2) or borders.min(initial=0) < 0:
        raise ModelError(
            f"its paddings, {tensor}, are {list(borders.shape)}; they must be two non-negative "
            f"integers for each of {rank} axes"
        )
    check_shape(output, [n + int(a) + int(b) for n, (a, b) in zip(x.shape, borders)])
    options = call.read_options("MirrorPadOptions")
    offset = 1 - options.integer("Mode", 0, 1) if options.given else 0
    own = int(np.max(np.flatnonzero(borders.any(1)), initial=-1)) + 1  # later axes have no border
    places = np.zeros(1, np.int64)
    for side, (before, behind) in zip(x.shape[:own], borders.tolist()):
        places = np.add.outer(places * side, _mirror_indices(before, side, behind, offset)).ravel()
    like = replace(output, shape=places.shape, dtype="int32", scale=1.0, zero=0)
    table = bring(call, "places", like, places.astype(np.int32))
    sides = (math.prod(x.shape[:own]),)
    _gather(call, x, table, output, sides, inner=math.prod(x.shape[own:]), count=places.size)


def update(call: TfliteCall) -> None:
    """Convert DYNAMIC_UPDATE_SLICE; starts are clamped so that the update is inside."""
    call.check_counts(3, 3)
    types = check_type(call, 0, ("INT8", "INT16", "INT32", "FLOAT32"))
    x, part, output = call.value(0, *types), call.value(1, *types), call.output(0, *types)
    rank = len(x.shape)
    x, part = adopt_format(call, x, output), adopt_format(call, part, output)
    check_shape(output, x.shape)
    fits = len(part.shape) == rank and all(n <= side for n, side in zip(part.shape, x.shape))
    if not (fits and 1 <= rank <= 6):
        raise ModelError(
            f"its update is {list(part.shape)} and its input {list(x.shape)}; the update must have "
            "as many axes, 1 to 6, and be no larger"
        )
    params = {"rank": rank}
    for name, shape in (("side", x.shape), ("update", part.shape)):
        whole = (*[1] * (6 - rank), *shape)
        params.update({f"{name}_{i}": side for i, side in enumerate(whole)})
    like = replace(output, shape=(rank,), dtype="int32", scale=1.0, zero=0)
    inputs = [x, part, _clamp_starts(call, like, np.subtract(x.shape, part.shape))]
    call.put(f"tflm_update_{SUFFIXES[x.dtype]}", params, inputs, output)


def _clamp_starts(call: TfliteCall, like: TfliteValue, most: np.ndarray) -> TfliteValue:
    """Return the starts as int32; clamp int64 starts to `most` before taking the low halves."""
    tensor = call.tensor(2)
    if tensor.shape != like.shape:
        raise ModelError(
            f"its starts, {tensor}, are {list(tensor.shape)}; they must be [{like.size}]"
        )
    check_type(call, 2, ("INT32", "INT64"))
    starts, length = call.value(2, "INT32", "INT64"), {"length": like.size}
    if starts.dtype == "int32":
        return starts
    wide = replace(like, dtype="int64")
    for name, ends in (("maximum", np.zeros_like(most)), ("minimum", most)):
        limit = bring(call, name, wide, ends.astype(np.int64))
        starts = call.add_part("starts", wide, f"tflm_{name}_s64", length, [starts, limit])
    return call.add_part("low", like, "tflm_low_s64", length, [starts])


def cumsum(call: TfliteCall) -> None:
    """Convert CUMSUM: cumulative sums along an axis."""
    call.check_counts(2, 2)
    types = check_type(call, 0, _GATHERED)
    options, x, output = (
        call.read_options("CumsumOptions"),
        call.value(0, *types),
        call.output(0, *types),
    )
    axis = normalize_axis(call.integer(1), len(x.shape))
    check_shape(output, x.shape)
    if x.dtype != output.dtype:
        raise ModelError(
            f"its input is {x.dtype}, its output {output.dtype}; both must have one type"
        )
    params = {
        "outer": math.prod(x.shape[:axis]),
        "side": x.shape[axis],
        "inner": math.prod(x.shape[axis + 1 :]),
        **{name.lower(): int(options.flag(name)) for name in ("Exclusive", "Reverse")},
    }
    if x.dtype == "int8":
        params.update(_sum_scales(x, output))
    call.put(f"tflm_cumsum_{SUFFIXES[x.dtype]}", params, [x], output)


def _sum_scales(x: TfliteValue, output: TfliteValue) -> dict[str, int]:
    """Return multipliers and shifts; the kernel halves inputs, then works in steps of 2^-20."""
    half, whole = multiplier(0.5), multiplier(2 * x.scale / (2.0**20 * output.scale))
    if whole[1] > 0:
        raise ModelError(
            f"its input's scale is {x.scale:g} and its output's {output.scale:g}; the kernel's "
            "shift would be positive: give its output a larger scale"
        )
    return {
        **{"input_zero_point": x.zero, "output_zero_point": output.zero},
        **{"input_multiplier": half[0], "input_shift": half[1]},
        **{"output_multiplier": whole[0], "output_shift": whole[1]},
    }


PLACES: dict[str, Converter] = {
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "EMBEDDING_LOOKUP": look_up,
    "MIRROR_PAD": mirror_pad,
    "DYNAMIC_UPDATE_SLICE": update,
    "CUMSUM": cumsum,
}
