"""Reductions of TensorFlow Lite Micro that need no scales, and the axes of all of them."""

from dataclasses import dataclass
from random import Random

import numpy as np

from ..operators import ArgMax, Operator, Resize, Shape
from .base import Function
from .float_semantics import FloatCall, Meaning, Meant
from .random_params import SIZES, Drawn
from .s8_broadcast import make_width_constant
from .shapes import DTYPES, Array, Extent

#: Alternating kept and reduced axes.
KEPT: tuple[Extent, ...] = ("kept_0", "kept_1", "kept_2")
AXES: tuple[str, ...] = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")

#: Height and width of an image, in a case.
IMAGE = dict(zip(AXES, (1, 49, 1, 1, 64)))

#: The axis of ARG_MAX and ARG_MIN.
_ONE = AXES[:3]

#: Fields of the struct, common to means and sums.
_NO_SCALES = dict.fromkeys(("input_zero_point", "output_zero_point", "multiplier", "shift"), 0)


def draw_axes(rng: Random, function: Function) -> Drawn:
    """Return some elements along each axis."""
    return {name: rng.choice(SIZES) for name in AXES if name in function.params}


@dataclass(frozen=True)
class _Reduced(Operator):
    """numpy's function of a name over some axes."""

    kind: str
    axes: tuple[int, ...]

    def shape(self, *inputs: Shape) -> Shape:
        """Return the axes that are left."""
        (shape,) = inputs
        return tuple(side for axis, side in enumerate(shape) if axis not in self.axes)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the reduction of each sample."""
        (x,) = inputs
        found: np.ndarray = getattr(np, self.kind)(x, axis=tuple(axis + 1 for axis in self.axes))
        return found


def define_reduction(kind: str) -> Meaning:
    """Return the meaning of a function equal to numpy's function of this name."""
    return lambda call: Meant((_Reduced(kind, (1, 3)),), (call.sides[0],))


def _reduce(kind: str, type: str, dtype: str, meaning: str) -> Function:
    """Declare a reduction; meaning: the name of numpy's function; "" for booleans."""
    return Function(
        name=f"tflm_reduce_{kind}_{type}",
        op=f"reduce_{kind}",
        type=type,
        params=AXES,
        fixed=_NO_SCALES,
        inputs=(Array("input", dtype, AXES),),
        output=Array("output", dtype, KEPT),
        draw=draw_axes,
        cases=(IMAGE,),
        meaning=define_reduction(meaning) if meaning else None,
    )


def _arg(kind: str, type: str) -> Function:
    return Function(
        name=f"tflm_arg_{kind}_{type}",
        op=f"arg_{kind}",
        type=type,
        params=_ONE,
        inputs=(Array("input", DTYPES[type], _ONE),),
        output=Array("output", "int32", KEPT[:2]),
        fixed={**_NO_SCALES, "reduced_1": 1, "kept_2": 1},
        draw=draw_axes,
        cases=({"kept_0": 1, "reduced_0": 64, "kept_1": 49},),
        meaning=lambda call: Meant((ArgMax(1, kind == "min"),), (call.sides[0],)),
    )


# ---- resizing ----

_SIDES: tuple[str, ...] = ("batches", "input_h", "input_w", "channels", "output_h", "output_w")
_FLAGS: tuple[str, ...] = ("align_corners", "half_pixel_centers")


def _draw_bilinear(rng: Random, function: Function) -> Drawn:
    flags = rng.choice(((0, 0), (1, 0), (0, 1)))
    return {**{name: rng.choice(SIZES) for name in _SIDES}, **dict(zip(_FLAGS, flags))}


def _blend_pixels(call: FloatCall) -> Meant:
    """Return the resizing with exact weights; the device rounds them to steps of 1/1024."""
    size = call.params["output_h"], call.params["output_w"]
    corners, centers = (bool(call.params[name]) for name in _FLAGS)
    return Meant((Resize("bilinear", size, corners, centers),), (call.image,))


_BILINEAR = Function(
    name="tflm_resize_bilinear_s8",
    op="resize_bilinear",
    fixed=make_width_constant("s8"),
    type="s8",
    params=(*_SIDES, *_FLAGS),
    inputs=(Array("input", "int8", ("batches", "input_h", "input_w", "channels")),),
    output=Array("output", "int8", ("batches", "output_h", "output_w", "channels")),
    draw=_draw_bilinear,
    cases=(dict(zip((*_SIDES, *_FLAGS), (1, 12, 12, 16, 24, 24, 0, 1))),),
    meaning=_blend_pixels,
)

FUNCTIONS = (
    *(_reduce(kind, "s8", "int8", kind) for kind in ("max", "min")),
    _reduce("all", "b8", "bool", ""),
    *(_arg(kind, type) for type in ("s8", "f32") for kind in ("max", "min")),
    _BILINEAR,
)
