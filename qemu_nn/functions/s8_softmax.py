"""Softmax of the s8 and s16 API, to the base e, and its table activations."""

from random import Random

import numpy as np

from ..operators import Affine, Softmax
from .base import Function, Params
from .c_signature import Struct, order
from .float_semantics import FloatCall, Meant
from .random_params import Drawn, draw_length
from .scaling import scale_softmax, scale_softmax_s16
from .shapes import DTYPES, Array, vector
from .softmax_tables import make_exp_lut, make_one_by_one_lut

_ROWS: tuple[str, ...] = ("num_rows", "row_size")

#: Entries of the tables that softmax of 16 bits reads.
_TABLE = 513

#: Largest distance of beta from 1, because multipliers are rounded.
_CLOSE = 1e-6

_C = order("input num_rows row_size mult shift diff_min output", returns="void")
_ACTIVATION_TYPE = {"type": "arm_nn_activation_type"}
_C_TABLES = Struct(
    "cmsis_nn_softmax_lut_s16", {"exp_lut": "exp_lut", "one_by_one_lut": "one_by_one_lut"}
)


def _draw(rng: Random, function: Function) -> Drawn:
    p = {"num_rows": rng.randint(1, 3), "row_size": draw_length(rng)}
    p["mult"] = rng.randint(2**30, 2**31 - 1)
    if "diff_min" not in function.params:
        return {**p, "shift": rng.randint(-8, 4)}
    shift = rng.randint(13, 31)
    return {**p, "shift": shift, "diff_min": -((31 << 26) >> shift)}


def _draw_activation(rng: Random, function: Function) -> Drawn:
    p = {"size": draw_length(rng), "left_shift": rng.randint(-5, 5)}
    return {**p, "type": rng.randrange(2)}


def _case(size: int) -> Params:
    row = {"num_rows": 1, "row_size": size}
    return {**row, **dict(zip(("mult", "shift", "diff_min"), scale_softmax(1.0, 0.1)))}


def _case_s16(size: int) -> Params:
    row = {"num_rows": 1, "row_size": size}
    return {**row, **dict(zip(("mult", "shift"), scale_softmax_s16(1.0, 0.0005)))}


def _define_meaning(call: FloatCall) -> Meant:
    factor = call.factor("mult", "shift")
    unit = 10 / 65535 if call.function.type == "s16" else 2.0**-26
    beta = factor * unit / call.source.scale
    softmax = Softmax(axis=1)
    if abs(beta - 1) < _CLOSE:
        return Meant((softmax,), (call.sides[0],))
    return Meant((Affine(np.array(beta), np.array(0.0)), softmax), (call.sides[0],))


def _softmax(
    type: str, source: str, target: str, makes: tuple[float, int], *cases: Params
) -> Function:
    return Function(
        name=f"arm_softmax_{type}",
        op="softmax",
        type=type,
        params=(*_ROWS, "mult", "shift", "diff_min"),
        inputs=(Array("input", DTYPES[source], _ROWS),),
        output=Array("output", DTYPES[target], _ROWS),
        note="mult, shift and diff_min: scaling.softmax_scaling().",
        order=_C,
        draw=_draw,
        cases=cases,
        meaning=_define_meaning,
        makes=makes,
    )


FUNCTIONS = (
    _softmax("s8", "s8", "s8", (2.0**-8, -128), _case(10), _case(1000)),
    _softmax("s8_s16", "s8", "s16", (2.0**-16, -32768), _case(10)),
    _softmax("u8", "u8", "u8", (2.0**-8, 0), _case(10)),
    Function(
        name="arm_softmax_s16",
        op="softmax",
        type="s16",
        params=(*_ROWS, "mult", "shift"),
        inputs=(Array("input", "int16", _ROWS),),
        output=Array("output", "int16", _ROWS),
        weights=vector("exp_lut", "int16", _TABLE),
        bias=vector("one_by_one_lut", "int16", _TABLE),
        fixed={"diff_min": 0},
        note="mult and shift: scaling.softmax_scaling_s16(); tables: softmax_tables.",
        order=order(
            "input num_rows row_size mult shift softmax_params output",
            {"softmax_params": _C_TABLES},
        ),
        draw=_draw,
        tables=lambda: {"exp_lut": make_exp_lut(), "one_by_one_lut": make_one_by_one_lut()},
        cases=(_case_s16(1000),),
        meaning=_define_meaning,
        makes=(2.0**-15, 0),
    ),
    Function(
        name="arm_nn_activation_s16",
        op="nn_activation",
        type="s16",
        params=("size", "left_shift", "type"),
        inputs=(vector("input", "int16", "size"),),
        output=vector("output", "int16", "size"),
        note="type: 0 or 'ARM_SIGMOID', 1 or 'ARM_TANH'; left_shift: as an LSTM has it.",
        order=order(
            "input output size left_shift type",
            types=_ACTIVATION_TYPE,
            before={
                "5.0.0": order(
                    "input output size left_shift type", types=_ACTIVATION_TYPE, returns="void"
                )
            },
        ),
        draw=_draw_activation,
        cases=tuple({"size": 4096, "left_shift": 0, "type": type} for type in (0, 1)),
    ),
)
