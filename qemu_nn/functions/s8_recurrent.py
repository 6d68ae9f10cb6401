"""Layers of the s8 and s16 API that keep a state from call to call."""

from collections.abc import Mapping
from typing import Callable

from .base import Function
from .extents import Array, Either, Extent, Total, joined, stack, vector
from .s8_elementwise import DTYPES

# ---- SVDF ----

_FILTERS: tuple[str, ...] = ("units", "rank")
_SCALES: tuple[str, ...] = ("in_multiplier", "in_shift", "out_multiplier", "out_shift")
_RANGES: tuple[str, ...] = ("in_act_min", "in_act_max", "out_act_min", "out_act_max")


def _svdf_sums(dtype: str) -> Callable[[Mapping[str, int], str], int]:
    """Its input_ctx and output_ctx, and its ctx: the sums of rows of weights."""

    def needed(params: Mapping[str, int], path: str) -> int:
        filters = params["units"] * params["rank"]
        rows = filters if dtype == "int8" and path == "mve" else 0
        return 4 * (params["batches"] * (filters + params["units"]) + rows)

    return needed


def _svdf(name: str, type: str, dtype: str) -> Function:
    """dtype: of the state and of the weights over time."""
    feature = Array("weights_feature", "int8", (_FILTERS, "input_size"))
    time = Array("weights_time", dtype, (_FILTERS, "time_batches"))
    sides = ("batches", "input_size", *_FILTERS, "time_batches")
    summed: tuple[str, ...] = ("state_offset",) if dtype == "int8" else ()
    return Function(
        name=name,
        op="svdf",
        type=type,
        params=(*sides, "input_offset", "output_offset", *_RANGES, *_SCALES, *summed),
        inputs=(
            Array("input", "int8", ("batches", "input_size")),
            Array("state", dtype, ("batches", _FILTERS, "time_batches"), state=True),
        ),
        weights=joined("weights", dtype, feature, time),
        parts=(feature, time),
        bias=Array("bias", "int32", ("units",), optional=True),
        output=Array("output", "int8", ("batches", "units")),
        buffer=_svdf_sums(dtype),
        macs=("batches", _FILTERS, Total(("input_size", "time_batches"))),
        fixed={} if summed else {"state_offset": 0},
        defaults={"state_offset": 0} if summed else {},
        note="input_offset is plus the input's zero point. state: in and out. state_offset: what "
        "arm_vector_sum_s8 gets as rhs_offset, on Helium.",
    )


# ---- LSTM ----

_GATES: tuple[str, ...] = ("forget", "input_gate", "cell", "output_gate")
_HALVES: tuple[str, ...] = ("input", "hidden")

_SIZES: tuple[str, ...] = ("batch_size", "time_steps", "input_size", "hidden_size")
_HAS: tuple[str, ...] = ("has_cell_state", "has_hidden_state")
_CELL: tuple[str, ...] = ("forget_to_cell_multiplier", "forget_to_cell_shift")
_CELL += ("input_to_cell_multiplier", "input_to_cell_shift", "cell_clip", "cell_scale_power")
_OUTPUT: tuple[str, ...] = ("output_multiplier", "output_shift", "output_offset")


def _sequence(width: str) -> tuple[Extent, ...]:
    """The axes of vectors over time."""
    first = Either("time_major", "time_steps", "batch_size")
    return (first, Either("time_major", "batch_size", "time_steps"), width)


def _gate_params(gate: str) -> tuple[str, ...]:
    scales = (f"{gate}_{half}_{part}" for half in _HALVES for part in ("multiplier", "shift"))
    return (*scales, f"{gate}_activation_type")


def _state(name: str, dtype: str) -> Array:
    """A state that C may have none of."""
    batch: Extent = (f"has_{name}", "batch_size")
    return Array(name, dtype, (batch, "hidden_size"), optional=True, state=True)


def _lstm_memory(params: Mapping[str, int], path: str) -> int:
    """Its temp1 and temp2, and a cell state that nobody keeps."""
    return (3 - params["has_cell_state"]) * 2 * params["batch_size"] * params["hidden_size"]


def _weights(gate: str, half: str) -> Array:
    return Array(f"{gate}_{half}_weights", "int8", ("hidden_size", f"{half}_size"))


def _lstm(type: str, bias: str) -> Function:
    weights = tuple(_weights(gate, half) for gate in _GATES for half in _HALVES)
    biases = tuple(
        vector(f"{gate}_{half}_effective_bias", bias, "hidden_size")
        for gate in _GATES
        for half in _HALVES
    )
    gates = tuple(name for gate in _GATES for name in _gate_params(gate))
    return Function(
        name=f"arm_lstm_unidirectional_{type}",
        op="lstm_unidirectional",
        type=type,
        params=("time_major", *_SIZES, *_HAS, "input_offset", *_CELL, *_OUTPUT, *gates),
        inputs=(
            Array("input", DTYPES[type], _sequence("input_size")),
            _state("cell_state", "int16"),
            _state("hidden_state", DTYPES[type]),
        ),
        weights=joined("weights", "int8", *weights),
        parts=weights,
        bias=stack(bias, *biases),
        stack=biases,
        output=Array("output", DTYPES[type], _sequence("hidden_size")),
        buffer=_lstm_memory,
        macs=("batch_size", "time_steps", 4, "hidden_size", Total(("input_size", "hidden_size"))),
        note="Without hidden_state the cell state starts at 0, and the first step has no hidden "
        "term. input_offset is not looked at: the effective biases have it.",
    )


FUNCTIONS = (
    _svdf("arm_svdf_s8", "s8", "int8"),
    _svdf("arm_svdf_state_s16_s8", "s16_s8", "int16"),
    _lstm("s8", "int32"),
    _lstm("s16", "int64"),
)
