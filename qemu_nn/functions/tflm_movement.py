"""Functions of TensorFlow Lite Micro that move elements, without a counterpart in CMSIS-NN:
concatenation, slicing, orders of axes, resizing."""

from random import Random

from ..operators import Concat, Gather, Resize, Transpose
from .base import Function
from .float_semantics import FloatCall, Meant
from .random_params import SIZES, Drawn
from .s8_broadcast import make_width_constant
from .s8_movement import pad
from .shapes import DTYPES, Array, Total

_SLICE = {
    **{f"{name}_{i}": n for name in ("input", "output") for i, n in enumerate((1, 1, 24, 24, 16))},
    **{f"begin_{i}": 0 for i in range(5)},
    **{f"stride_{i}": 1 for i in range(5)},
    "output_2": 12,
}
_TRANSPOSE = {
    **{f"{name}_{i}": 1 for name in ("input", "output") for i in range(3)},
    **{"input_3": 24, "input_4": 24, "input_5": 16, "output_3": 16, "output_4": 24, "output_5": 24},
    **{f"perm_{i}": axis for i, axis in enumerate((0, 1, 2, 5, 3, 4))},
}
_RESIZE = {"batches": 1, "input_h": 12, "input_w": 12, "channels": 16, "output_h": 24}
_RESIZE.update(output_w=24, align_corners=0, half_pixel_centers=0)


def _draw_join(rng: Random, function: Function) -> Drawn:
    return {"outer": rng.choice(SIZES), "inner1": rng.randint(1, 70), "inner2": rng.randint(1, 70)}


def _draw_slice(rng: Random, function: Function) -> Drawn:
    p = {}
    for i in range(5):
        side = rng.choice(SIZES[:7])
        first, stride = rng.randrange(side), rng.choice((1, 1, 2, 3, -1, -2))
        reach = side - 1 - first if stride > 0 else first
        output = 1 + rng.randint(0, reach // abs(stride))
        p.update({f"input_{i}": side, f"begin_{i}": first})
        p.update({f"stride_{i}": stride, f"output_{i}": output})
    return p


def _draw_transpose(rng: Random, function: Function) -> Drawn:
    sides, perm = [rng.choice(SIZES[:5]) for _ in range(6)], rng.sample(range(6), 6)
    p = {f"input_{i}": n for i, n in enumerate(sides)}
    p.update({f"output_{i}": sides[axis] for i, axis in enumerate(perm)})
    return {**p, **{f"perm_{i}": axis for i, axis in enumerate(perm)}}


def _draw_resize(rng: Random, function: Function) -> Drawn:
    sides = ("batches", "input_h", "input_w", "channels", "output_h", "output_w")
    flags = ("align_corners", "half_pixel_centers")
    p = {name: rng.choice(SIZES) for name in sides}
    return {**p, **{name: rng.randrange(2) for name in flags}}


def _compute_slice(call: FloatCall) -> Meant:
    takes = []
    for axis in range(5):
        begin, step, count = (call.params[f"{n}_{axis}"] for n in ("begin", "stride", "output"))
        takes.append(Gather(axis, tuple(range(begin, begin + count * step, step))))
    return Meant(tuple(takes), (call.sides[0],))


def _compute_transpose(call: FloatCall) -> Meant:
    return Meant((Transpose(tuple(call.params[f"perm_{i}"] for i in range(6))),), (call.sides[0],))


def _compute_resize(call: FloatCall) -> Meant:
    size = call.params["output_h"], call.params["output_w"]
    corners, centers = (bool(call.params[name]) for name in ("align_corners", "half_pixel_centers"))
    return Meant((Resize("nearest", size, corners, centers),), (call.image,))


def _join(type: str) -> Function:
    dtype = DTYPES[type]
    return Function(
        name=f"tflm_concatenation_{type}",
        op="join",
        type="any",
        fixed=make_width_constant(type),
        params=("outer", "inner1", "inner2"),
        inputs=tuple(Array(f"input{i}", dtype, ("outer", f"inner{i}")) for i in (1, 2)),
        output=Array("output", dtype, ("outer", Total(("inner1", "inner2")))),
        draw=_draw_join,
        cases=({"outer": 576, "inner1": 16, "inner2": 16},),
        meaning=lambda call: Meant((Concat(1),), tuple(call.sides)),
    )


def _slice(type: str) -> Function:
    names = {n: tuple(f"{n}_{i}" for i in range(5)) for n in ("input", "begin", "stride", "output")}
    return Function(
        name=f"tflm_slice_{type}",
        op="slice",
        type="any",
        fixed=make_width_constant(type),
        params=tuple(each for group in names.values() for each in group),
        inputs=(Array("input", DTYPES[type], names["input"]),),
        output=Array("output", DTYPES[type], names["output"]),
        draw=_draw_slice,
        cases=(_SLICE,),
        meaning=_compute_slice,
    )


def _transpose(type: str) -> Function:
    names = {n: tuple(f"{n}_{i}" for i in range(6)) for n in ("input", "output", "perm")}
    return Function(
        name=f"tflm_transpose_{type}",
        op="transpose",
        type="any",
        fixed=make_width_constant(type),
        params=tuple(each for group in names.values() for each in group),
        inputs=(Array("input", DTYPES[type], names["input"]),),
        output=Array("output", DTYPES[type], names["output"]),
        note="Axis k of the output is axis perm_k of the input.",
        draw=_draw_transpose,
        cases=(_TRANSPOSE,),
        meaning=_compute_transpose,
    )


def _resize_nearest(type: str) -> Function:
    return Function(
        name=f"tflm_resize_nearest_{type}",
        op="resize_nearest",
        type="any",
        fixed=make_width_constant(type),
        params=(
            *("batches", "input_h", "input_w", "channels", "output_h", "output_w"),
            *("align_corners", "half_pixel_centers"),
        ),
        inputs=(Array("input", DTYPES[type], ("batches", "input_h", "input_w", "channels")),),
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", "channels")),
        draw=_draw_resize,
        cases=(_RESIZE,),
        meaning=_compute_resize,
    )


FUNCTIONS = (
    *(_join(type) for type in DTYPES),
    *(_slice(type) for type in DTYPES),
    *(_resize_nearest(type) for type in ("s8", "s16", "f32")),
    *(pad(f"tflm_pad_{type}", type) for type in ("s16", "s32", "f32")),
    *(_transpose(type) for type in ("s8", "s16", "f32", "b8")),
)
