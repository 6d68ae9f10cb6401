"""Softmax of the s8 and s16 API, to the base e, and its table activations."""

from .base import Function
from .extents import Array, vector
from .s8_elementwise import DTYPES

_ROWS: tuple[str, ...] = ("num_rows", "row_size")

#: Entries of the tables that softmax of 16 bits reads.
_TABLE = 513


def _softmax(name: str, type: str, source: str, target: str) -> Function:
    return Function(
        name=name,
        op="softmax",
        type=type,
        params=(*_ROWS, "mult", "shift", "diff_min"),
        inputs=(Array("input", DTYPES[source], _ROWS),),
        output=Array("output", DTYPES[target], _ROWS),
        note="mult, shift and diff_min: scaling.softmax_scaling().",
    )


FUNCTIONS = (
    _softmax("arm_softmax_s8", "s8", "s8", "s8"),
    _softmax("arm_softmax_s8_s16", "s8_s16", "s8", "s16"),
    _softmax("arm_softmax_u8", "u8", "u8", "u8"),
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
        note="mult and shift: scaling.softmax_scaling_s16(); tables: layers.softmax_tables.",
    ),
    Function(
        name="arm_nn_activation_s16",
        op="nn_activation",
        type="s16",
        params=("size", "left_shift", "type"),
        inputs=(vector("input", "int16", "size"),),
        output=vector("output", "int16", "size"),
        note="type: 0 or 'ARM_SIGMOID', 1 or 'ARM_TANH'; left_shift: as an LSTM has it.",
    ),
)
