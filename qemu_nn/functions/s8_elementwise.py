"""Element-wise functions of the s8 and s16 API: two vectors, each with an offset and a scale."""

from collections.abc import Mapping
from typing import Optional

from .base import Function
from .extents import Array, Largest, vector

DTYPES = {"s8": "int8", "s16": "int16", "u8": "uint8", "s32": "int32"}

_INPUTS: tuple[str, ...] = ("input_1_offset", "input_1_mult", "input_1_shift")
_INPUTS += ("input_2_offset", "input_2_mult", "input_2_shift", "left_shift")
_OUTPUT: tuple[str, ...] = ("out_offset", "out_mult", "out_shift", "act_min", "act_max")

#: What a product of one vector is, in the terms of those of several.
_ONE = {"batch_size": 1, "batch_offset": 1}


def combine(name: str, op: str, type: str) -> Function:
    """A sum or a difference."""
    dtype = DTYPES[type]
    return Function(
        name=name,
        op=op,
        type=type,
        params=(*_INPUTS, *_OUTPUT, "block_size"),
        inputs=(vector("input1", dtype, "block_size"), vector("input2", dtype, "block_size")),
        output=vector("output", dtype, "block_size"),
        note="Of 16 bits all offsets are ignored." if type == "s16" else "",
    )


def _mul(
    name: str,
    op: str,
    types: tuple[str, str],
    params: tuple[str, ...],
    fixed: Mapping[str, int],
    weights: Optional[Array] = None,
    note: str = "",
) -> Function:
    wide, narrow = types
    axes = ("block_size",) if "batch_size" in fixed else ("batch_size", "block_size")
    return Function(
        name=name,
        op=op,
        type=wide if wide == narrow else f"{wide}_{narrow}",
        params=params,
        inputs=tuple(Array(f"input{i}", DTYPES[wide], axes) for i in (1, 2)),
        output=Array("output", DTYPES[narrow], axes),
        weights=weights,
        fixed=fixed,
        note=note,
    )


_SIDES = [tuple(f"input{i}_{axis}" for axis in "nhwc") for i in (1, 2)]


def _choose(name: str) -> Function:
    return Function(
        name=f"arm_{name}_s8",
        op=name,
        type="s8",
        params=(*_SIDES[0], *_SIDES[1]),
        inputs=(Array("input1", "int8", _SIDES[0]), Array("input2", "int8", _SIDES[1])),
        output=Array("output", "int8", tuple(Largest(pair) for pair in zip(*_SIDES))),
        note="An axis of one element stands for that element at every place.",
    )


_OFFSETS: tuple[str, ...] = ("input_1_offset", "input_2_offset")
_NO_OFFSETS = dict.fromkeys(_OFFSETS, 0)

FUNCTIONS = (
    *(combine(f"arm_elementwise_add_{type}", "elementwise_add", type) for type in ("s8", "s16")),
    *(
        _mul(
            f"arm_elementwise_mul_{type}",
            "elementwise_mul",
            (type, type),
            (*_OFFSETS, *_OUTPUT, "block_size"),
            _ONE,
            note="Of 16 bits all offsets are ignored." if type == "s16" else "",
        )
        for type in ("s8", "s16")
    ),
    _mul(
        "arm_elementwise_mul_s16_s8",
        "elementwise_mul",
        ("s16", "s8"),
        ("out_offset", "out_mult", "out_shift", "block_size", "batch_size", "batch_offset"),
        {**_NO_OFFSETS, "act_min": -128, "act_max": 127},
    ),
    _mul(
        "arm_elementwise_mul_acc_s16",
        "elementwise_mul_acc",
        ("s16", "s16"),
        ("out_mult", "out_shift", "act_min", "act_max", "block_size"),
        {**_NO_OFFSETS, **_ONE, "out_offset": 0},
        weights=vector("acc_in", "int16", "block_size"),
        note="acc_in: what the output holds before. act_max <= 0: the whole range of int16.",
    ),
    *(_choose(name) for name in ("minimum", "maximum")),
)
