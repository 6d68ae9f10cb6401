"""GRU and LSTM of ESP-DL; the table of all functions is in esp_dl.py."""

from __future__ import annotations

from random import Random

from .base import Function
from .esp_dl import NOT_CALLED
from .random_params import SIZES, Drawn
from .shapes import DTYPES, Array, Total

_TYPES = ("s8", "s16")

#: Rows of a matrix for each element of the state.
_GATES = {"gru": 3, "lstm": 4, "lstm_cell": 4}


def _draw(rng: Random, function: Function) -> Drawn:
    wide = function.type == "s16"
    p = {"time_steps": rng.randint(1, 3), "hidden_size": rng.choice((*SIZES[:4], 8, 16))}
    p.update(input_size=rng.choice((*SIZES[:4], 8, 16)), directions=rng.randint(1, 2))
    p.update({n: rng.randint(-1, 6 + 12 * wide) for n in ("right_shift", "state_right_shift")})
    p.update(gate_exponent=rng.randint(-10, -6), output_exponent=rng.randint(-8, -5) - 7 * wide)
    return {**p, "chip": rng.randrange(3)}


def _recurrent(name: str, type: str) -> Function:
    dtype, gates, is_cell = DTYPES[type], _GATES[name], int(name == "lstm_cell")
    states = ("directions", "hidden_size")
    matrix = ("directions", (gates, "hidden_size"))
    size = ("directions", gates, "hidden_size", Total(("input_size", "hidden_size")))
    shift = 7 if type == "s8" else 15
    sides = {"time_steps": 8, "input_size": 16, "hidden_size": 16, "directions": 1}
    more = {"right_shift": shift, "state_right_shift": shift, "gate_exponent": -8}
    more.update(output_exponent=-shift, chip=0)
    inputs = (
        Array("input", dtype, ("time_steps", "input_size")),
        Array("initial_h", dtype, states),
        *((Array("initial_c", "int16", states),) if name != "gru" else ()),
    )
    sequence = Array("output", dtype, ("time_steps", *states))
    return Function(
        name=f"esp_dl_{name}_{type}",
        op=f"dl_{name.partition('_')[0]}",
        type=type,
        params=(*sides, *more),
        defaults={"chip": 0},
        fixed={"cell": is_cell},
        inputs=inputs,
        weights=Array("w_and_r", dtype, size),
        parts=(
            Array("w", dtype, (*matrix, "input_size")),
            Array("r", dtype, (*matrix, "hidden_size")),
        ),
        bias=Array("bias", "int16", ("directions", (2, gates), "hidden_size")),
        output=Array("output", "int16", states) if is_cell else sequence,
        macs=("time_steps", "directions", gates, "hidden_size", size[-1]),
        note="The output is the last cell state." if is_cell else "",
        not_called=NOT_CALLED,
        draw=_draw,
        cases=({**sides, **more},),
    )


FUNCTIONS = tuple(_recurrent(name, type) for name in _GATES for type in _TYPES)
