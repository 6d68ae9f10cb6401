"""Operands that are constants, or smaller than what they are combined with: copies of them."""

from .base import Function
from .extents import Array, vector
from .s8_elementwise import DTYPES

_INPUT: tuple[str, ...] = ("input_n", "input_h", "input_w", "input_c")
_OUTPUT: tuple[str, ...] = ("output_n", "output_h", "output_w", "output_c")


def _constant(type: str) -> Function:
    return Function(
        name=f"tflm_constant_{type}",
        op="constant",
        type=type,
        params=("length",),
        inputs=(),
        weights=vector("values", DTYPES[type], "length"),
        output=vector("output", DTYPES[type], "length"),
    )


def _broadcast(type: str) -> Function:
    return Function(
        name=f"tflm_broadcast_{type}",
        op="broadcast",
        type=type,
        params=(*_INPUT, *_OUTPUT),
        inputs=(Array("input", DTYPES[type], _INPUT),),
        output=Array("output", DTYPES[type], _OUTPUT),
        note="A side of the input is the output's, or 1.",
    )


FUNCTIONS = tuple(make(type) for make in (_constant, _broadcast) for type in ("s8", "s16", "u8"))
