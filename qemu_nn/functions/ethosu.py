"""Programs of Arm's Ethos-U as functions on bytes; the names are our own: the NPU has no C API."""

from random import Random

import numpy as np

from .base import Function
from .random_params import Drawn
from .shapes import DTYPES, Array, Total, vector

#: Why no exported network calls one of these.
_WHY = "Arm's Ethos-U computes it: its driver, not a C function, starts the command stream"


def _draw_append(rng: Random, function: Function) -> Drawn:
    return {"length": rng.randint(1, 70), "others": rng.randint(0, 70)}


def _draw_take(rng: Random, function: Function) -> Drawn:
    length, offset = rng.randint(1, 70), rng.randint(0, 70)
    width = function.fixed["width"]
    return {
        "length": length,
        "others": length * width + offset + rng.randint(0, 9),
        "offset": offset,
    }


def _append(type: str) -> Function:
    width = np.dtype(DTYPES[type]).itemsize
    return Function(
        name=f"ethosu_append_{type}",
        op="append_bytes",
        type="any",
        params=("length", "others"),
        inputs=(
            vector("input", DTYPES[type], "length"),
            Array("others", "uint8", ("others",), optional=True),
        ),
        output=vector("output", "uint8", Total(("others", ("length", width)))),
        fixed={"width": width, "offset": 0},
        not_called=_WHY,
        draw=_draw_append,
        cases=({"length": 4096, "others": 4096},),
    )


def _take(type: str) -> Function:
    return Function(
        name=f"ethosu_take_{type}",
        op="take_bytes",
        type="any",
        params=("length", "others", "offset"),
        inputs=(vector("others", "uint8", "others"),),
        output=vector("output", DTYPES[type], "length"),
        fixed={"width": np.dtype(DTYPES[type]).itemsize},
        not_called=_WHY,
        draw=_draw_take,
        cases=({"length": 512, "others": 8192, "offset": 64},),
    )


FUNCTIONS = (
    Function(
        name="ethosu_program",
        op="program",
        type="any",
        params=(
            *("in_bytes", "out_bytes", "command_bytes", "constant_bytes"),
            *("program_bytes", "scratch_bytes", "operations", "macs", "arena_bytes"),
        ),
        inputs=(vector("inputs", "uint8", "in_bytes"),),
        weights=vector("commands", "uint8", "command_bytes"),
        bias=vector("constants", "uint8", "constant_bytes"),
        output=vector("outputs", "uint8", "out_bytes"),
        not_called=_WHY,
        macs="macs",
        buffer=lambda params, path: params["arena_bytes"],
        note="macs is 2^31 - 1 for more. arena_bytes is the memory of the arena and of the fast "
        "memory, which the program says.",
    ),
    *map(_append, DTYPES),
    *map(_take, DTYPES),
)
