"""Gather and scatter, circular buffers and cumulative sums of TensorFlow Lite Micro."""

from dataclasses import dataclass
from random import Random

import numpy as np

from ..operators import Operator, Shape
from .base import Function
from .float_semantics import FloatCall, Meant
from .random_params import SIZES, Drawn, draw_length, draw_only_length, draw_scale, get_limits
from .s8_broadcast import make_width_constant
from .shapes import DTYPES, Array, Extent, vector

_STEPS: tuple[str, ...] = tuple(f"step_{i}" for i in range(5))
_SIDES: tuple[str, ...] = tuple(f"side_{i}" for i in range(6))
_UPDATES: tuple[str, ...] = tuple(f"update_{i}" for i in range(6))
_SCALES: tuple[str, ...] = ("input_multiplier", "input_shift", "output_multiplier", "output_shift")
_ZEROS: tuple[str, ...] = ("input_zero_point", "output_zero_point")

#: Positions of random calls: count along an axis.
_BELOW = 8

_GATHER = {"batches": 1, "outer": 24, "side": 24, "inner": 16, "count": 12, "depth": 1}
_GATHER.update({name: int(name == "step_0") for name in _STEPS})
_UPDATE = {**dict(zip(_SIDES, (1, 1, 1, 24, 24, 16))), **dict(zip(_UPDATES, (1, 1, 1, 8, 24, 16)))}
_UPDATE["rank"] = 3
_PART = {**dict(zip(_SIDES, (1, 1, 1, 31, 31, 23))), **dict(zip(_UPDATES, (1, 1, 1, 24, 24, 16)))}
_PART["rank"] = 3
_CUMSUM = {"outer": 24, "side": 24, "inner": 16, "exclusive": 0, "reverse": 0}
_CUMSUM_S8 = {**_CUMSUM, "input_zero_point": 3, "output_zero_point": -4}
_CUMSUM_S8.update(zip(_SCALES, (2**30, 0, 2**30, -18)))

# ---- random arguments ----


def _draw_gather(rng: Random, function: Function) -> Drawn:
    """Return all places are inside."""
    p = {name: rng.choice(SIZES[:5]) for name in ("batches", "outer", "inner", "count")}
    depth = rng.randint(1, 5)
    steps = [rng.randint(0, 3) if i < depth else 0 for i in range(5)]
    side = 1 + (_BELOW - 1) * sum(steps) + rng.randint(0, 3)
    return {**p, "side": side, "depth": depth, **dict(zip(_STEPS, steps))}


def _draw_update(rng: Random, function: Function) -> Drawn:
    rank = rng.randint(1, 6)
    sides = [1] * (6 - rank) + [rng.choice(SIZES[:5]) for _ in range(rank)]
    updates = [rng.randint(1, side) for side in sides]
    return {**dict(zip(_SIDES, sides)), **dict(zip(_UPDATES, updates)), "rank": rank}


def _draw_part(rng: Random, function: Function) -> Drawn:
    """Return all starts are inside."""
    rank = rng.randint(1, 3)
    updates = [1] * (6 - rank) + [rng.randint(1, 4) for _ in range(rank)]
    sides = [1] * (6 - rank) + [n + _BELOW - 1 + rng.randint(0, 2) for n in updates[6 - rank :]]
    return {**dict(zip(_SIDES, sides)), **dict(zip(_UPDATES, updates)), "rank": rank}


def _draw_circular(rng: Random, function: Function) -> Drawn:
    return {name: rng.choice(SIZES) for name in ("slots", "depth", "period")}


def _draw_hold(rng: Random, function: Function) -> Drawn:
    return {"length": draw_length(rng), "period": rng.randint(1, 3)}


def _draw_cumsum(rng: Random, function: Function) -> Drawn:
    p = {name: rng.choice(SIZES) for name in ("outer", "side", "inner")}
    p.update(exclusive=rng.randrange(2), reverse=rng.randrange(2))
    if function.type == "f32":
        return p
    p.update({name: rng.randint(*get_limits("int8")) for name in _ZEROS})
    return {**p, **draw_scale(rng, "input_", -1, 0), **draw_scale(rng, "output_", -20, -14)}


# ---- meaning ----


@dataclass(frozen=True)
class _Gather(Operator):
    """Blocks [batches][outer][side][inner] at positions [batches][count][depth], whose numbers
    count in steps of this many blocks.
    """

    steps: tuple[int, ...]

    def shape(self, *inputs: Shape) -> Shape:
        """Return the first input's shape with one block for each position."""
        (batches, outer, _, inner), (_, count, _) = inputs
        return (batches, outer, count, inner)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the block at each position."""
        x, places = inputs
        chosen = (places.astype(int) * self.steps).sum(-1)
        return np.take_along_axis(x, chosen[:, :, None, :, None], axis=3)


@dataclass(frozen=True)
class _Sums(Operator):
    """Sums so far along the second axis."""

    exclusive: bool
    reverse: bool

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        return inputs[0]

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Draw a cumulative sum from either end, with or without the element itself."""
        x = inputs[0][:, :, ::-1] if self.reverse else inputs[0]
        sums = np.cumsum(x, axis=2) - (x if self.exclusive else 0)
        return sums[:, :, ::-1] if self.reverse else sums


@dataclass(frozen=True)
class _Part(Operator):
    """Elements along each axis from the starts in the second input."""

    sides: Shape

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the part."""
        return self.sides

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the part for each sample."""
        x, starts = inputs[0], inputs[1].astype(int)
        first = [0] * (len(self.sides) - starts.shape[1])
        chosen = ((*first, *row) for row in starts.tolist())
        spans = (tuple(map(slice, own, np.add(own, self.sides))) for own in chosen)
        return np.stack([sample[span] for sample, span in zip(x, spans)])


def _compute_gather(call: FloatCall) -> Meant:
    return Meant((_Part(tuple(call.params[name] for name in _UPDATES)),), tuple(call.sides))


def _compute_gather_nd(call: FloatCall) -> Meant:
    steps = tuple(call.params[name] for name in _STEPS[: call.params["depth"]])
    return Meant((_Gather(steps),), tuple(call.sides))


def _compute_sums(call: FloatCall) -> Meant:
    ends = (bool(call.params[name]) for name in ("exclusive", "reverse"))
    return Meant((_Sums(*ends),), (call.sides[0],))


# ---- declarations ----


def _gather(type: str) -> Function:
    around: tuple[Extent, ...] = ("batches", "outer")
    return Function(
        name=f"tflm_gather_{type}",
        op="gather",
        type="any",
        fixed=make_width_constant(type),
        params=("batches", "outer", "side", "inner", "count", "depth", *_STEPS),
        inputs=(
            Array("input", DTYPES[type], (*around, "side", "inner")),
            Array("places", "int32", ("batches", "count", "depth"), below=_BELOW),
        ),
        output=Array("output", DTYPES[type], (*around, "count", "inner")),
        note="Blocks of `inner` elements; a place's numbers count in steps of so many blocks. The "
        "call fails for a place outside of the input.",
        draw=_draw_gather,
        cases=(_GATHER,),
        meaning=_compute_gather_nd,
    )


def _update(type: str) -> Function:
    return Function(
        name=f"tflm_update_{type}",
        op="update",
        type="any",
        fixed=make_width_constant(type),
        params=(*_SIDES, *_UPDATES, "rank"),
        inputs=(
            Array("input", DTYPES[type], _SIDES),
            Array("update", DTYPES[type], _UPDATES),
            vector("starts", "int32", "rank"),
        ),
        output=Array("output", DTYPES[type], _SIDES),
        note="The input, with the update at the starts, or as near as it fits.",
        draw=_draw_update,
        cases=(_UPDATE,),
    )


def _part(type: str) -> Function:
    return Function(
        name=f"tflm_part_{type}",
        op="part",
        type="any",
        fixed=make_width_constant(type),
        params=(*_SIDES, *_UPDATES, "rank"),
        inputs=(
            Array("input", DTYPES[type], _SIDES),
            Array("starts", "int32", ("rank",), below=_BELOW),
        ),
        output=Array("output", DTYPES[type], _UPDATES),
        note="As many elements of the input as `update` says, from the starts on. The call fails "
        "where these are not inside of the input.",
        draw=_draw_part,
        cases=(_PART,),
        meaning=_compute_gather,
    )


def _hold(type: str) -> Function:
    return Function(
        name=f"tflm_hold_{type}",
        op="hold",
        type="any",
        fixed=make_width_constant(type),
        params=("length", "period"),
        inputs=(
            vector("input", DTYPES[type], "length"),
            Array("kept", DTYPES[type], ("length",), state=True),
            Array("calls", "int32", (1,), state=True),
        ),
        output=vector("output", DTYPES[type], "length"),
        note="Every period-th input, until the next of these.",
        draw=_draw_hold,
        cases=({"length": 4096, "period": 2},),
    )


def _cumsum(type: str, more: tuple[str, ...], case: dict[str, int]) -> Function:
    sides: tuple[Extent, ...] = ("outer", "side", "inner")
    names = ("outer", "side", "inner", "exclusive", "reverse")
    return Function(
        name=f"tflm_cumsum_{type}",
        op="cumsum",
        type=type,
        fixed={name: 0 for name in (*_ZEROS, *_SCALES) if name not in more},
        params=(*names, *more),
        inputs=(Array("input", DTYPES[type], sides),),
        output=Array("output", DTYPES[type], sides),
        draw=_draw_cumsum,
        cases=(case,),
        meaning=_compute_sums,
    )


FUNCTIONS = (
    *(_gather(type) for type in ("s8", "f32")),
    *(_update(type) for type in ("s8", "s16", "s32", "f32")),
    *(_part(type) for type in ("s8", "s16", "s32", "f32", "b8")),
    Function(
        name="tflm_low_s64",
        op="low",
        type="s64",
        params=("length",),
        inputs=(vector("input", "int64", "length"),),
        output=vector("output", "int32", "length"),
        note="The low 32 bits, which the framework takes of places of 64.",
        draw=draw_only_length(),
        cases=({"length": 4096},),
    ),
    Function(
        name="tflm_circular_buffer_s8",
        op="circular_buffer",
        type="s8",
        params=("slots", "depth", "period"),
        inputs=(
            vector("input", "int8", "depth"),
            Array("kept", "int8", ("slots", "depth"), state=True),
            Array("calls", "int32", (1,), state=True),
        ),
        output=Array("output", "int8", ("slots", "depth")),
        note="The last inputs, of every period-th call, the latest last.",
        draw=_draw_circular,
        cases=({"slots": 8, "depth": 512, "period": 1},),
    ),
    *(_hold(type) for type in DTYPES),
    _cumsum("s8", (*_ZEROS, *_SCALES), _CUMSUM_S8),
    _cumsum("f32", (), _CUMSUM),
)
