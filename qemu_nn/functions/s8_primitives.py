"""Primitive steps of the s8 and s16 API, on vectors of 32-bit integers."""

from .base import Function
from .random_params import draw_only_length
from .shapes import vector

_WHY = "it computes a single number"
_CASE = {"length": 4096}


def _step(name: str, op: str, *inputs: str) -> Function:
    """Declare a step; each array has one of the inputs' names, in C order; the third is the row's
    weights.
    """
    arrays = [vector(each, "int32", "length") for each in inputs]
    return Function(
        name=name,
        op=op,
        type="s32",
        params=("length",),
        inputs=tuple(arrays[:2]),
        weights=arrays[2] if len(arrays) > 2 else None,
        output=vector("output", "int32", "length"),
        not_called=_WHY,
        draw=draw_only_length(),
        cases=(_CASE,),
    )


FUNCTIONS = (
    _step("arm_nn_requantize", "nn_requantize", "a", "b", "c"),
    Function(
        name="arm_nn_requantize_s64",
        op="nn_requantize",
        type="s64",
        params=("length",),
        inputs=(vector("b", "int32", "length"), vector("c", "int32", "length")),
        weights=vector("a64", "int64", "length"),
        output=vector("output", "int32", "length"),
        not_called=_WHY,
        draw=draw_only_length(),
        cases=(_CASE,),
        note="b: the upper 16 bits of a multiplier, rounded.",
    ),
    *(
        _step(f"arm_nn_{name}", f"nn_{name}", "a", "b")
        for name in (
            "doubling_high_mult",
            "doubling_high_mult_no_sat",
            "divide_by_power_of_two",
            "mult_by_power_of_two",
        )
    ),
    _step("arm_nn_exp_on_negative_values", "nn_exp_on_negative_values", "a"),
    _step("arm_nn_one_over_one_plus_x_for_x_in_0_1", "nn_one_over_one_plus_x", "a"),
)
