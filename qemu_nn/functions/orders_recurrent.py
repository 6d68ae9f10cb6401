"""How C takes the arguments of functions that keep a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from .extents import Extent
from .struct_api import Bytes, Member, Order, Struct, dims, order

# ---- SVDF ----

_FILTERS: Extent = ("units", "rank")


def _range(member: str, name: str) -> dict[str, Member]:
    return {f"{member}.min": f"{name}_act_min", f"{member}.max": f"{name}_act_max"}


def _pair(name: str) -> Struct:
    members = {"multiplier": f"{name}_multiplier", "shift": f"{name}_shift"}
    return Struct("cmsis_nn_per_tensor_quant_params", members)


_SVDF = {
    "svdf_params": Struct(
        "cmsis_nn_svdf_params",
        {
            "rank": "rank",
            "input_offset": "input_offset",
            "output_offset": "output_offset",
            **_range("input_activation", "in"),
            **_range("output_activation", "out"),
        },
    ),
    "input_quant_params": _pair("in"),
    "output_quant_params": _pair("out"),
    "input_dims": dims("batches", "input_size", 1, 1),
    "state_dims": dims("batches", ("units", "rank", "time_batches"), 1, 1),
    "weights_feature_dims": dims(_FILTERS, "input_size", 1, 1),
    "weights_time_dims": dims(_FILTERS, "time_batches", 1, 1),
    "bias_dims": dims("units", 1, 1, 1),
    "output_dims": dims("batches", "units", 1, 1),
}
_SVDF_NAMES = (
    "input_ctx output_ctx svdf_params input_quant_params output_quant_params input_dims input"
    " state_dims state weights_feature_dims weights_feature weights_time_dims weights_time"
    " bias_dims bias output_dims output"
)


def _sums(p: Mapping[str, int], path: str) -> int:
    """Helium wants the sums of the rows of weights."""
    return 4 * p["units"] * p["rank"] if path == "mve" else 0


_SVDF_ROOMS: Mapping[str, Bytes] = {
    "input_ctx": lambda p, path: 4 * p["batches"] * p["units"] * p["rank"],
    "output_ctx": lambda p, path: 4 * p["batches"] * p["units"],
}

# ---- LSTM ----

_GATES = {
    "forget_gate": "forget",
    "input_gate": "input_gate",
    "cell_gate": "cell",
    "output_gate": "output_gate",
}
_OWN = (
    "time_major batch_size time_steps input_size hidden_size input_offset"
    " forget_to_cell_multiplier forget_to_cell_shift input_to_cell_multiplier input_to_cell_shift"
    " cell_clip cell_scale_power output_multiplier output_shift output_offset"
)


def _gate(gate: str, name: str) -> dict[str, Member]:
    parts = ("multiplier", "shift", "weights", "effective_bias")
    members = [f"{half}_{part}" for half in ("input", "hidden") for part in parts]
    return {f"{gate}.{each}": f"{name}_{each}" for each in (*members, "activation_type")}


_LSTM_PARAMS = Struct(
    "cmsis_nn_lstm_params",
    {
        **{name: name for name in _OWN.split()},
        **{
            member: held
            for gate, name in _GATES.items()
            for member, held in _gate(gate, name).items()
        },
    },
)


def _cells(p: Mapping[str, int], path: str) -> int:
    return 2 * p["batch_size"] * p["hidden_size"]


def _lstm(
    has_hidden_state: str, *members: str, in_700: Optional[Order] = None, **absent: str
) -> Order:
    """members: of its context; absent: what is none of these -> C text of it."""
    context = {name: name for name in members}
    return order(
        "input output params buffers",
        {
            "params": _LSTM_PARAMS,
            "buffers": Struct("cmsis_nn_lstm_context", context, variable=True),
        },
        rooms={
            "temp1": _cells,
            "temp2": _cells,
            "cell_state": lambda p, path: 0 if p["has_cell_state"] else _cells(p, path),
        },
        implied={"has_cell_state": "1", "has_hidden_state": has_hidden_state, **absent},
        in_700=in_700,
    )


_CONTEXT_700 = ("temp1", "temp2", "cell_state")
_LSTM_ORDER = _lstm(
    "(buffers->hidden_state != NULL)",
    *_CONTEXT_700,
    "hidden_state",
    in_700=_lstm("0", *_CONTEXT_700, hidden_state="NULL"),
)

ORDERS: Mapping[str, Order] = {
    "arm_svdf_s8": order(
        f"ctx {_SVDF_NAMES}",
        _SVDF,
        rooms={"ctx": _sums, **_SVDF_ROOMS},
        implied={"state_offset": "ctx->buf == NULL ? 0 : *(const int32_t *)ctx->buf"},
        sums=("input_size", _FILTERS, "weights_feature", "-input_offset", "state_offset", "NULL"),
    ),
    "arm_svdf_state_s16_s8": order(_SVDF_NAMES, _SVDF, rooms=_SVDF_ROOMS),
    "arm_lstm_unidirectional_s8": _LSTM_ORDER,
    "arm_lstm_unidirectional_s16": _LSTM_ORDER,
}
