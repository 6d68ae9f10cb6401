"""LSTM of the s8 and s16 API, optionally with states kept between calls."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random

from .base import Function, Params
from .c_signature import Member, Order, Struct, order
from .random_params import SIZES, draw_output_offset, draw_scale
from .s8_matmul import DEPTHS
from .s8_windows import DTYPES
from .shapes import Array, Either, Extent, Total, get_extent, join_arrays, stack, vector

_GATES: tuple[str, ...] = ("forget", "input_gate", "cell", "output_gate")
_HALVES: tuple[str, ...] = ("input", "hidden")

_SIZES: tuple[str, ...] = ("batch_size", "time_steps", "input_size", "hidden_size")
_HAS: tuple[str, ...] = ("has_cell_state", "has_hidden_state")
_CELL: tuple[str, ...] = ("forget_to_cell_multiplier", "forget_to_cell_shift")
_CELL += ("input_to_cell_multiplier", "input_to_cell_shift", "cell_clip", "cell_scale_power")
_OUTPUT: tuple[str, ...] = ("output_multiplier", "output_shift", "output_offset")


# ---- C ----

_C_GATES = {
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
            for gate, name in _C_GATES.items()
            for member, held in _gate(gate, name).items()
        },
    },
)


#: Bytes of the values of all cells.
_CELLS = (2, "batch_size", "hidden_size")


def _order(
    has_hidden_state: str, *members: str, before: Mapping[str, Order] = {}, **absent: str
) -> Order:
    """Return the order; members: of its context; absent: missing arguments -> their C text."""
    context = {name: name for name in members}
    return order(
        "input output params buffers",
        {
            "params": _LSTM_PARAMS,
            "buffers": Struct("cmsis_nn_lstm_context", context, variable=True),
        },
        scratch_buffers={
            "temp1": _CELLS,
            "temp2": _CELLS,
            "cell_state": lambda p, path: 0 if p["has_cell_state"] else get_extent(_CELLS, p),
        },
        implied={"has_cell_state": "1", "has_hidden_state": has_hidden_state, **absent},
        before=before,
    )


_CONTEXT_700 = ("temp1", "temp2", "cell_state")
_LSTM_ORDER = _order(
    "(buffers->hidden_state != NULL)",
    *_CONTEXT_700,
    "hidden_state",
    before={"6d9d61d8": _order("0", *_CONTEXT_700, hidden_state="NULL")},
)


# ---- random arguments, cases ----


def _draw(rng: Random, function: Function) -> dict[str, int]:
    wide = function.type == "s16"
    params = {name: rng.choice(SIZES) for name in ("input_size", "hidden_size")}
    if not rng.randrange(4):
        params["input_size"] = rng.choice(DEPTHS)
    params.update(time_major=rng.randrange(2), batch_size=rng.randint(1, 3))
    params.update(time_steps=rng.randint(1, 4), has_cell_state=rng.randrange(2))
    params["has_hidden_state"] = rng.randrange(1 + params["has_cell_state"])
    params.update(input_offset=rng.randint(-127, 128), cell_clip=rng.choice((0, 32767, 20000)))
    params.update(
        cell_scale_power=rng.randint(-15, -9), output_offset=draw_output_offset(rng, -128, 127)
    )
    params.update({"forget_to_cell_multiplier": 2**30, "forget_to_cell_shift": -14})
    params.update(draw_scale(rng, "input_to_cell_", -21, -14))
    params.update(draw_scale(rng, "output_", *((-20, -15) if wide else (-23, -20))))
    for gate in _GATES:
        for half in _HALVES:
            params.update(draw_scale(rng, f"{gate}_{half}_", *((-11, -6) if wide else (-4, 1))))
        params[f"{gate}_activation_type"] = rng.randrange(2)
    return params


def _case(features: int, hidden: int, steps: int, gate: int, output: int) -> Params:
    """gate, output: shifts that keep gates and outputs off their ends."""
    p = {"time_major": 0, "batch_size": 1, "time_steps": steps, "input_size": features}
    p.update(hidden_size=hidden, has_cell_state=0, has_hidden_state=0, input_offset=0)
    p.update(cell_clip=0, cell_scale_power=-11, output_offset=0)
    scales = {"forget_to_cell": -14, "input_to_cell": -18, "output": output}
    for name in _GATES:
        scales.update({f"{name}_{half}": gate for half in _HALVES})
        p[f"{name}_activation_type"] = int(name == "cell")
    for name, shift in scales.items():
        p.update({f"{name}_multiplier": 2**30 + 12345, f"{name}_shift": shift})
    return p


# ---- declarations ----


def _sequence(width: str) -> tuple[Extent, ...]:
    """Return the axes of vectors over time."""
    first = Either("time_major", "time_steps", "batch_size")
    return (first, Either("time_major", "batch_size", "time_steps"), width)


def _gate_params(gate: str) -> tuple[str, ...]:
    scales = (f"{gate}_{half}_{part}" for half in _HALVES for part in ("multiplier", "shift"))
    return (*scales, f"{gate}_activation_type")


def _state(name: str, dtype: str) -> Array:
    """Return a state that C may have none of."""
    batch: Extent = (f"has_{name}", "batch_size")
    return Array(name, dtype, (batch, "hidden_size"), optional=True, state=True)


def _lstm_memory(params: Mapping[str, int], path: str) -> int:
    """Return the bytes of temp1 and temp2, and of a temporary cell state."""
    return (3 - params["has_cell_state"]) * 2 * params["batch_size"] * params["hidden_size"]


def _weights(gate: str, half: str) -> Array:
    return Array(f"{gate}_{half}_weights", "int8", ("hidden_size", f"{half}_size"))


def _lstm(type: str, bias: str, case: Params) -> Function:
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
        weights=join_arrays("weights", "int8", *weights),
        parts=weights,
        bias=stack(bias, *biases),
        stack=biases,
        output=Array("output", DTYPES[type], _sequence("hidden_size")),
        buffer=_lstm_memory,
        macs=("batch_size", "time_steps", 4, "hidden_size", Total(("input_size", "hidden_size"))),
        note="Without hidden_state the cell state starts at 0, and the first step has no hidden "
        "term. input_offset is not looked at: the effective biases have it.",
        order=_LSTM_ORDER,
        draw=_draw,
        cases=(case,),
    )


def _draw_of(params: tuple[str, ...], rng: Random, function: Function) -> dict[str, int]:
    drawn = _draw(rng, function)
    return {name: drawn[name] for name in params}


def _count_kept_bytes(arm: Function) -> Function:
    """Return the bytes of TensorFlow Lite Micro's own kernels, whose states persist."""
    params = tuple(name for name in arm.params if name not in _HAS)
    states = (("cell_state", "int16"), ("hidden_state", DTYPES[arm.type]))
    kept = (Array(n, dtype, ("batch_size", "hidden_size"), state=True) for n, dtype in states)
    return replace(
        arm,
        name=f"tflm_lstm_{arm.type}",
        params=params,
        inputs=(arm.inputs[0], *kept),
        parts=(),
        stack=(),
        fixed={"has_cell_state": 1, "has_hidden_state": 2},
        buffer=None,
        note="As arm_lstm_unidirectional with both states, in every release; each term of a sum "
        "saturates to 16 bits.",
        order=None,
        draw=partial(_draw_of, params),
        cases=tuple({name: case[name] for name in params} for case in arm.cases),
    )


_ARM = (
    _lstm("s8", "int32", _case(28, 20, 28, -3, -21)),
    _lstm("s16", "int64", _case(28, 20, 28, -10, -15)),
)

FUNCTIONS = (*_ARM, *map(_count_kept_bytes, _ARM))
