"""Operands that are constants or need broadcasting: copies of them."""

from random import Random

import numpy as np

from .base import Function
from .float_semantics import Constant, FloatCall, Meant
from .random_params import SIZES, Drawn, draw_only_length
from .shapes import DTYPES, Array, vector

_INPUT: tuple[str, ...] = ("input_n", "input_h", "input_w", "input_c")
_OUTPUT: tuple[str, ...] = ("output_n", "output_h", "output_w", "output_c")

#: A number for each channel of an image.
_CASE = {**dict(zip(_INPUT, (1, 1, 1, 16))), **dict(zip(_OUTPUT, (1, 16, 16, 16)))}


def _draw_broadcast(rng: Random, function: Function) -> Drawn:
    sides = {axis: rng.choice(SIZES) for axis in "nhwc"}
    p = {f"input_{axis}": side if rng.randrange(2) else 1 for axis, side in sides.items()}
    return {**p, **{f"output_{axis}": side for axis, side in sides.items()}}


def _define_constant_meaning(call: FloatCall) -> Meant:
    assert call.weights is not None
    steps = call.weights.reshape(call.shape).astype(float) - call.output.zero_point
    return Meant((Constant(call.output.scale * steps),), ())


def _define_broadcast_meaning(call: FloatCall) -> Meant:
    """Return the input in a shape that operators broadcast."""
    sides = call.sides[0]
    return Meant((), (sides[len(sides) - len(call.shape) :],))


def make_width_constant(type: str) -> dict[str, int]:
    """Return the constant with the bytes of an element, for rows of every type."""
    return {"element": np.dtype(DTYPES[type]).itemsize}


def _constant(type: str) -> Function:
    return Function(
        name=f"tflm_constant_{type}",
        op="constant",
        type="any",
        fixed={"width": make_width_constant(type)["element"]},
        params=("length",),
        inputs=(),
        weights=vector("values", DTYPES[type], "length"),
        output=vector("output", DTYPES[type], "length"),
        draw=draw_only_length(),
        cases=({"length": 4096},),
        meaning=_define_constant_meaning,
    )


def _broadcast(type: str) -> Function:
    return Function(
        name=f"tflm_broadcast_{type}",
        op="broadcast",
        type="any",
        fixed=make_width_constant(type),
        params=(*_INPUT, *_OUTPUT),
        inputs=(Array("input", DTYPES[type], _INPUT),),
        output=Array("output", DTYPES[type], _OUTPUT),
        note="A side of the input is the output's, or 1.",
        draw=_draw_broadcast,
        cases=(_CASE,),
        meaning=_define_broadcast_meaning,
    )


FUNCTIONS = tuple(make(type) for make in (_constant, _broadcast) for type in DTYPES)
