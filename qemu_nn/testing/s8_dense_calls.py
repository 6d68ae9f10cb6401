"""Calls at random of the s8 API's products of matrices and of its recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Callable, Optional

import numpy as np

from ..functions import Function

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
#: Now and then beyond the 512 products that some cores add up in 32 bits.
_DEPTHS = (*_SIZES, 31, 64, 70, 511, 512, 515)


#: Offsets of outputs that are no zero points; Arm's code adds them in 32 bits.
_FAR = (128, -129, 129, 300, -1000, 32767, -32768, 2**30, -(2**30))


def output_offset(rng: Random, low: int, high: int) -> int:
    """Mostly a zero point of the output's type."""
    return rng.randint(low, high) if rng.randrange(8) else rng.choice(_FAR)


def _offsets(rng: Random, function: Function, names: tuple[str, ...]) -> dict[str, int]:
    """Half of the time zero points of 0."""
    low, high = (-127, 128) if rng.randrange(2) else (0, 0)
    return {name: rng.randint(low, high) for name in names if name in function.params}


def _range(rng: Random, dtype: str, low: str = "act_min", high: str = "act_max") -> dict[str, int]:
    limits = np.iinfo(dtype)
    ends = sorted(rng.randint(int(limits.min), int(limits.max)) for _ in range(2))
    return dict(zip((low, high), ends if rng.randrange(2) else (int(limits.min), int(limits.max))))


def _scale(rng: Random, prefix: str, *shifts: int) -> dict[str, int]:
    found = {f"{prefix}multiplier": rng.randint(2**30, 2**31 - 1)}
    return {**found, f"{prefix}shift": rng.randint(*shifts)}


def _matrices(rng: Random, function: Function) -> dict[str, int]:
    """Operands that are as many as each other, or one for all; now and then neither."""
    found = {}
    for axis in "nh":
        count = rng.randint(1, 3)
        found.update({f"{side}_{axis}": rng.choice((count, count, 1)) for side in ("lhs", "rhs")})
    depth = rng.choice(_DEPTHS)
    found.update(lhs_w=rng.choice(_SIZES), rhs_w=rng.choice(_SIZES), lhs_c=depth, rhs_c=depth)
    found.update(adj_x=rng.randrange(2), adj_y=rng.randrange(2))
    found.update(_offsets(rng, function, ("lhs_offset", "rhs_offset")))
    wide = function.type == "s16"
    scale = _scale(rng, "", -22, -8) if wide else _scale(rng, "", -14, 1)
    offset = {"output_offset": output_offset(rng, -128, 127)}
    return {**found, **scale, **offset, **_range(rng, function.output.dtype)}


def _svdf(rng: Random, function: Function) -> dict[str, int]:
    found = {"batches": rng.randint(1, 3), "units": rng.choice(_SIZES), "rank": rng.randint(1, 4)}
    found.update(input_size=rng.choice(_SIZES), time_batches=rng.choice(_SIZES))
    found.update(input_offset=rng.randint(-128, 127), output_offset=output_offset(rng, -128, 127))
    state = function.inputs[1].dtype
    if state == "int8":
        found["state_offset"] = rng.choice((0, rng.randint(-127, 128)))
    found.update(_scale(rng, "in_", -12, 1))
    limits = rng.choice((state, "int16"))  # the latter is what TensorFlow Lite Micro passes
    found.update(_scale(rng, "out_", *((-14, 1) if state == "int8" else (-22, -8))))
    found.update(_range(rng, limits, "in_act_min", "in_act_max"))
    return {**found, **_range(rng, "int8", "out_act_min", "out_act_max")}


def _lstm(rng: Random, function: Function) -> dict[str, int]:
    wide = function.type == "s16"
    found = {name: rng.choice(_SIZES) for name in ("input_size", "hidden_size")}
    if not rng.randrange(4):
        found["input_size"] = rng.choice(_DEPTHS)
    found.update(time_major=rng.randrange(2), batch_size=rng.randint(1, 3))
    found.update(time_steps=rng.randint(1, 4), has_cell_state=rng.randrange(2))
    found["has_hidden_state"] = rng.randrange(1 + found["has_cell_state"])
    found.update(input_offset=rng.randint(-127, 128), cell_clip=rng.choice((0, 32767, 20000)))
    found.update(cell_scale_power=rng.randint(-15, -9), output_offset=output_offset(rng, -128, 127))
    found.update({"forget_to_cell_multiplier": 2**30, "forget_to_cell_shift": -14})
    found.update(_scale(rng, "input_to_cell_", -21, -14))
    found.update(_scale(rng, "output_", *((-20, -15) if wide else (-23, -20))))
    for gate in ("forget", "input_gate", "cell", "output_gate"):
        for half in ("input", "hidden"):
            found.update(_scale(rng, f"{gate}_{half}_", *((-11, -6) if wide else (-4, 1))))
        found[f"{gate}_activation_type"] = rng.randrange(2)
    return found


_PARAMS: Mapping[str, Callable[[Random, Function], dict[str, int]]] = {
    "batch_matmul": _matrices,
    "svdf": _svdf,
    "lstm_unidirectional": _lstm,
}


def random_dense_params(rng: Random, function: Function) -> Optional[dict[str, int]]:
    """Arguments that mostly meet the contract; None where the function is not one of these."""
    make = _PARAMS.get(function.op)
    return make(rng, function) if make else None
