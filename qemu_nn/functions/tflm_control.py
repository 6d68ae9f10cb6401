"""Variables and branches of TensorFlow Lite Micro."""

from random import Random

import numpy as np

from ..operators import Identity
from .base import Function
from .float_semantics import define_operator_meaning
from .random_params import Drawn, draw_length
from .shapes import DTYPES, Array, vector


def _draw(rng: Random, function: Function) -> Drawn:
    return {"length": draw_length(rng)}


def _moves(op: str, type: str, *inputs: Array) -> Function:
    dtype = DTYPES[type]
    return Function(
        name=f"tflm_{op}_{type}",
        op=op,
        type="any",
        params=("length",),
        inputs=inputs,
        output=vector("output", dtype, "length"),
        fixed={"width": np.dtype(dtype).itemsize},
        draw=_draw,
        cases=({"length": 4096},),
        meaning=define_operator_meaning(Identity()) if op == "read_variable" else None,
    )


def _functions(type: str) -> tuple[Function, ...]:
    dtype = DTYPES[type]
    variable = Array("variable", dtype, ("length",), state=True)
    kept = vector("variable", dtype, "length")
    value, other = (vector(name, dtype, "length") for name in ("input", "otherwise"))
    return (
        _moves("read_variable", type, kept),
        _moves("assign_variable", type, variable, value),
        _moves("choose", type, vector("condition", "bool", 1), value, other),
    )


FUNCTIONS = tuple(function for type in DTYPES for function in _functions(type))
