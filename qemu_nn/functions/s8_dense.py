"""Fully connected layers of the s8 and s16 API."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Callable, Optional

import numpy as np

from ..operators import Dense, Operator, Shape
from .base import Function, Params
from .c_signature import Member, Struct, dims
from .float_semantics import FloatCall, Meant, make_real_layer
from .random_params import MOST_CHANNELS, WIDTHS, Drawn
from .s8_weighted import (
    OFFSETS,
    PER_CHANNEL,
    PER_TENSOR,
    RANGE,
    SUMS,
    draw_weighted,
    make_filter,
    make_weighted_order,
    unpack_weights,
)
from .s8_windows import DTYPES
from .shapes import Array, Either, Extent, stack, vector

_ZEROS: tuple[str, ...] = ("input_offset", "filter_offset", "output_offset")
_ENDS: tuple[str, ...] = ("act_min", "act_max")
_PAIR: tuple[str, ...] = ("multiplier", "shift")
_DENSE: tuple[str, ...] = ("batches", "input_c", "output_c", *_ZEROS, *_ENDS)


def count_row_sum_bytes(rows: str) -> Callable[[Mapping[str, int], str], int]:
    """Return scratch memory for the sums of so many rows of weights, which Helium wants in
    advance.
    """
    return lambda params, path: 4 * params[rows] if path == "mve" else 0


_FILTER = make_filter("s8", ("output_c", "input_c"))
_PACKED = make_filter("s4", ("output_c", "input_c"))


_STRUCTS = {
    "fc_params": Struct(
        "cmsis_nn_fc_params", {**OFFSETS, "filter_offset": "filter_offset", **RANGE}
    ),
    "quant_params": PER_TENSOR,
    "input_dims": dims("batches", 1, 1, "input_c"),
    "filter_dims": dims("input_c", 1, 1, "output_c"),
    "bias_dims": dims(1, 1, 1, "output_c"),
    "output_dims": dims("batches", 1, 1, "output_c"),
}
_EITHER: dict[str, Member] = {name: name for name in ("multiplier", "shift", "is_per_channel")}


def _draw(rng: Random, function: Function) -> Drawn:
    input_c = rng.choice((*WIDTHS, rng.randint(1, MOST_CHANNELS)))
    batches = (1, 2, 3, 17, 34)  # of 16 some rows make a tile
    return {
        "input_c": input_c,
        "output_c": rng.choice(WIDTHS),
        "batches": rng.choice(batches),
    }


def _case(columns: int, rows: int, shift: Optional[int] = None, **own: int) -> Params:
    """shift: of the multiplier, where all outputs share one."""
    sides = {"batches": 1, "input_c": columns, "output_c": rows, "filter_offset": 0}
    ends = {"input_offset": 128, "output_offset": -128, "act_min": -128, "act_max": 127}
    pair = {} if shift is None else {"multiplier": 2**30 + 12345, "shift": shift}
    return {**sides, **ends, **pair, **own}


def _product(filter: Array, params: Params, weights: np.ndarray) -> Dense:
    return Dense(unpack_weights(filter, params, weights) + params["filter_offset"])


def _define_meaning(call: FloatCall) -> Meant:
    assert call.function.product is not None
    assert call.weights is not None
    own = make_real_layer(call, call.function.product(call.params, call.weights))
    return Meant((own,), ((*call.shape[:-1], call.params["input_c"]),))


def _dense(
    name: str,
    type: str,
    filter: Array,
    *cases: Params,
    bias: str = "int32",
    sums: tuple[Extent, ...] = (),
    note: str = "",
) -> Function:
    """Return one multiplier and shift for all outputs."""
    dtype, own = DTYPES[type.split("_")[0]], name.startswith("tflm_")
    return Function(
        name=name,
        op="fully_connected",
        type=type,
        params=(*_DENSE, *_PAIR),
        inputs=(Array("input", dtype, ("batches", "input_c")),),
        weights=filter,
        bias=Array("bias", bias, ("output_c",), optional=True),
        output=Array("output", dtype, ("batches", "output_c")),
        fixed={"is_per_channel": 0},
        buffer=count_row_sum_bytes("output_c") if type == "s8" else None,
        macs=("batches", "output_c", "input_c"),
        note=note,
        order=None if own else make_weighted_order("fc_params", _STRUCTS, filter, sums=sums),
        draw=draw_weighted(_draw),
        cases=cases,
        product=partial(_product, filter),
        meaning=_define_meaning,
    )


def _make_scaled(
    name: str,
    pairs: Extent,
    own: tuple[str, ...],
    fixed: Params,
    scales: Struct,
    *cases: Params,
) -> Function:
    """pairs: how many multipliers and shifts the arrays have; scales: the struct of these."""
    rows = (
        Array("bias", "int32", ("output_c",), optional=True),
        vector("multiplier", "int32", pairs),
        vector("shift", "int32", pairs),
    )
    return Function(
        name=name,
        op="fully_connected_per_channel",
        type="s8",
        params=(*_DENSE, *own),
        inputs=(Array("input", "int8", ("batches", "input_c")),),
        weights=_FILTER,
        bias=stack("int32", *rows),
        stack=rows,
        output=Array("output", "int8", ("batches", "output_c")),
        fixed={"multiplier": 0, "shift": 0, **fixed},
        buffer=count_row_sum_bytes("output_c"),
        macs=("batches", "output_c", "input_c"),
        order=make_weighted_order(
            "fc_params", {**_STRUCTS, "quant_params": scales}, _FILTER, sums=SUMS
        ),
        draw=draw_weighted(_draw),
        cases=cases,
        product=partial(_product, _FILTER),
        meaning=_define_meaning,
    )


@dataclass(frozen=True)
class _Products(Operator):
    """Rows times those of a second matrix, and the third operand added."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the rows of both matrices."""
        return (inputs[0][0], inputs[1][0])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the argument for each sample."""
        x, filter, bias = inputs
        sums: np.ndarray = np.matmul(x, np.swapaxes(filter, -1, -2)) + bias[:, None]
        return sums


def _tensor(type: str, bias: str, case: Params) -> Function:
    """Return filter and bias are computed."""
    dtype = DTYPES[type.split("_")[0]]
    return Function(
        name=f"tflm_fully_connected_tensor_{type}",
        op="fully_connected_tensor",
        type=type,
        params=(*_DENSE, *_PAIR),
        inputs=(
            Array("input", dtype, ("batches", "input_c")),
            Array("filter", "int8", ("output_c", "input_c")),
            vector("bias", bias, "output_c"),
        ),
        output=Array("output", dtype, ("batches", "output_c")),
        fixed={"is_per_channel": 0},
        macs=("batches", "output_c", "input_c"),
        note="" if type == "s8" else "All offsets are ignored.",
        draw=draw_weighted(_draw),
        cases=(case,),
        meaning=lambda call: Meant((_Products(),), tuple(call.sides)),
    )


_NO_OFFSETS = {"input_offset": 0, "output_offset": 0}
_WIDE = {**_NO_OFFSETS, "act_min": -32768, "act_max": 32767}

FUNCTIONS = (
    _dense(
        "arm_fully_connected_s8",
        "s8",
        _FILTER,
        _case(64, 10, -10),
        _case(256, 256, -10),
        sums=SUMS,
    ),
    _dense(
        "arm_fully_connected_s16",
        "s16",
        _FILTER,
        _case(256, 256, -9, **_WIDE),
        bias="int64",
        note="All offsets are ignored.",
    ),
    _dense(
        "tflm_fully_connected_s16_s32",
        "s16_s32",
        _FILTER,
        _case(256, 256, -9, **_WIDE),
        note="All offsets are ignored; bias and sums have 32 bits.",
    ),
    _dense(
        "arm_fully_connected_s4",
        "s4",
        _PACKED,
        _case(256, 256, -7, **_NO_OFFSETS),
        note="filter_packed_s4: [output_c, input_c], two in a byte, the low half first. "
        "filter_offset is ignored.",
    ),
    _make_scaled(
        "arm_fully_connected_per_channel_s8",
        "output_c",
        (),
        {"is_per_channel": 1},
        PER_CHANNEL,
        _case(256, 256),
    ),
    _make_scaled(
        "arm_fully_connected_wrapper_s8",
        Either("is_per_channel", "output_c", 1),
        ("is_per_channel",),
        {},
        Struct("cmsis_nn_quant_params", _EITHER, "(int32_t *)"),
    ),
    _tensor("s8", "int32", _case(64, 10, -10)),
    _tensor("s16", "int64", _case(64, 10, -9, **_WIDE)),
    _tensor("s16_s32", "int32", _case(64, 10, -9, **_WIDE)),
)
