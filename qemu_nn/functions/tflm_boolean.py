"""Boolean operators of TensorFlow Lite Micro: comparisons, logic, and the choice between two
tensors.
"""

import math
from random import Random

from .base import Function
from .random_params import Drawn, draw_length
from .scaling import compare_scaling
from .shapes import DTYPES, vector

#: Comparisons, in the order of the struct's `kind`.
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")

_INPUTS: tuple[str, ...] = ("input_1_offset", "input_1_mult", "input_1_shift")
_INPUTS += ("input_2_offset", "input_2_mult", "input_2_shift")


def _draw_compare(rng: Random, function: Function) -> Drawn:
    p = {"length": draw_length(rng)}
    if function.type == "b8":
        return p
    offsets = {name: rng.randint(-127, 128) for name in ("input_1_offset", "input_2_offset")}
    scales = (math.exp(rng.uniform(-7, -0.01)) for _ in range(2))
    return {**p, **offsets, **compare_scaling(*scales)}


def _compare(name: str, type: str) -> Function:
    none = dict.fromkeys(_INPUTS, 0)
    case = {**none, **compare_scaling(0.05, 0.04)} if type == "s8" else {}
    return Function(
        name=f"tflm_{name}_{type}",
        op="compare",
        type=type,
        params=("length", *(_INPUTS if type == "s8" else ())),
        inputs=tuple(vector(f"input{i}", DTYPES[type], "length") for i in (1, 2)),
        output=vector("output", "bool", "length"),
        fixed={"kind": COMPARISONS.index(name), **({} if type == "s8" else none)},
        draw=_draw_compare,
        cases=({"length": 4096, **case},),
    )


def _logical(name: str, count: int = 2) -> Function:
    names = ("input",) if count == 1 else ("input1", "input2")
    return Function(
        name=f"tflm_{name}_b8",
        op=name,
        type="b8",
        params=("length",),
        inputs=tuple(vector(each, "bool", "length") for each in names),
        output=vector("output", "bool", "length"),
        draw=lambda rng, function: {"length": draw_length(rng)},
        cases=({"length": 4096},),
    )


def _select(type: str) -> Function:
    values = (vector(name, DTYPES[type], "length") for name in ("x", "y"))
    return Function(
        name=f"tflm_select_{type}",
        op="select",
        type=type,
        params=("length",),
        inputs=(vector("condition", "bool", "length"), *values),
        output=vector("output", DTYPES[type], "length"),
        note="x where the condition holds, else y.",
        draw=lambda rng, function: {"length": draw_length(rng)},
        cases=({"length": 4096},),
    )


FUNCTIONS = (
    *(_compare(name, "s8") for name in COMPARISONS),
    *(_compare(name, "b8") for name in COMPARISONS[:2]),
    *(_logical("logical_and"), _logical("logical_or"), _logical("logical_not", 1)),
    *(_select(type) for type in ("s8", "s16", "f32", "s32")),
)
