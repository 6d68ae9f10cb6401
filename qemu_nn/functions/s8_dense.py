"""Fully connected layers and products of matrices of the s8 and s16 API."""

from collections.abc import Mapping
from typing import Callable

from .base import Function
from .extents import Array, Either, Extent, Half, Largest, stack, vector
from .s8_elementwise import DTYPES

_OFFSETS: tuple[str, ...] = ("input_offset", "filter_offset", "output_offset")
_RANGE: tuple[str, ...] = ("act_min", "act_max")
_PAIR: tuple[str, ...] = ("multiplier", "shift")
_DENSE: tuple[str, ...] = ("batches", "input_c", "output_c", *_OFFSETS, *_RANGE)


def _row_sums(rows: str) -> Callable[[Mapping[str, int], str], int]:
    """Scratch memory for the sums of so many rows of weights, which Helium wants in advance."""
    return lambda params, path: 4 * params[rows] if path == "mve" else 0


_FILTER = Array("filter", "int8", ("output_c", "input_c"))
_PACKED = vector("filter_packed_s4", "int8", Half(("output_c", "input_c")))


def _dense(
    name: str, type: str, dtype: str, filter: Array, bias: str = "int32", note: str = ""
) -> Function:
    """One multiplier and shift for all outputs."""
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
        buffer=_row_sums("output_c") if type == "s8" else None,
        macs=("batches", "output_c", "input_c"),
        note=note,
    )


def _scaled(name: str, pairs: Extent, own: tuple[str, ...], fixed: Mapping[str, int]) -> Function:
    """pairs: how many multipliers and shifts the arrays have."""
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
        buffer=_row_sums("output_c"),
        macs=("batches", "output_c", "input_c"),
    )


_LHS: tuple[str, ...] = ("lhs_n", "lhs_h", "lhs_w", "lhs_c")
_RHS: tuple[str, ...] = ("rhs_n", "rhs_h", "rhs_w", "rhs_c")
_PRODUCTS = (Largest(("lhs_n", "rhs_n")), Largest(("lhs_h", "rhs_h")))


def _batch_matmul(type: str) -> Function:
    dtype = DTYPES[type]
    offsets = ("lhs_offset", "rhs_offset", "output_offset")
    ignored = " All offsets are ignored." if type == "s16" else ""
    return Function(
        name=f"arm_batch_matmul_{type}",
        op="batch_matmul",
        type=type,
        params=(*_LHS, *_RHS, "adj_x", "adj_y", *offsets, *_RANGE, *_PAIR),
        inputs=(Array("lhs", dtype, _LHS), Array("rhs", dtype, _RHS)),
        output=Array("output", dtype, (*_PRODUCTS, "lhs_w", "rhs_w")),
        buffer=_row_sums("rhs_w") if type == "s8" else None,
        macs=(*_PRODUCTS, "lhs_w", "rhs_w", "lhs_c"),
        note="rhs is stored transposed; adj_x and adj_y say what the caller has done." + ignored,
    )


FUNCTIONS = (
    _dense("arm_fully_connected_s8", "s8", "int8", _FILTER),
    _dense(
        "arm_fully_connected_s16",
        "s16",
        "int16",
        _FILTER,
        "int64",
        note="All offsets are ignored.",
    ),
    _dense(
        "arm_fully_connected_s4",
        "s4",
        "int8",
        _PACKED,
        note="filter_packed_s4: [output_c, input_c], two in a byte, the low half first. "
        "filter_offset is ignored.",
    ),
    _scaled("arm_fully_connected_per_channel_s8", "output_c", (), {"is_per_channel": 1}),
    _scaled(
        "arm_fully_connected_wrapper_s8",
        Either("is_per_channel", "output_c", 1),
        ("is_per_channel",),
        {},
    ),
    *(_batch_matmul(type) for type in ("s8", "s16")),
)
