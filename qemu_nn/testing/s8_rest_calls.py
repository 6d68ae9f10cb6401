"""Calls at random of the s8 and s16 API's functions without weights."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Callable, Optional

import numpy as np

from ..functions import Function, softmax_tables
from ..functions.drawing import output_offset
from .tflm_calls import TFLM_PARAMS, tflm_arrays

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
#: Enough for several vectors of a fast row, with every remainder.
_LONGEST = 2500

#: C argument -> what it may be.
_RANGES = {
    "left_shift": (0, 21),
    "input_1_shift": (-6, 0),
    "input_2_shift": (-6, 0),
    "out_shift": (-20, -2),
}

#: Element type -> smallest and largest zero point.
_ZERO_POINTS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


def _length(rng: Random) -> int:
    return rng.randint(1, _LONGEST) if rng.randrange(3) == 2 else rng.choice(_SIZES)


def _scaled(rng: Random, function: Function) -> dict[str, int]:
    """Offsets, multipliers, shifts and the range of the output, of the function's types."""
    source, target = function.inputs[0].dtype, function.output.dtype
    found: dict[str, int] = {}
    for name in function.params:
        if name.endswith("_mult"):
            found[name] = rng.randint(2**30, 2**31 - 1)
        elif name.startswith("input_") and name.endswith("_offset"):
            found[name] = -rng.randint(*_ZERO_POINTS[source])
        elif name == "out_offset":
            draw = rng.randint if target == "uint8" else partial(output_offset, rng)
            found[name] = draw(*_ZERO_POINTS[target])
        elif name in _RANGES:
            found[name] = rng.randint(*_RANGES[name])
    return {**found, **_activation(rng, function)}


def _activation(rng: Random, function: Function) -> dict[str, int]:
    if "act_min" not in function.params:
        return {}
    limits = np.iinfo(function.output.dtype)
    low, high = int(limits.min), int(limits.max)
    if rng.randrange(2):
        low, high = sorted((rng.randint(low, high), rng.randint(low, high)))
    return {"act_min": low, "act_max": high}


def _sum(rng: Random, function: Function) -> dict[str, int]:
    """Now and then left_shift is what TFLite has: then most sums are inside of the range."""
    found = {**_scaled(rng, function), "block_size": _length(rng)}
    most = 15 if function.type == "s16" else 20
    if rng.randrange(4):
        found.update(left_shift=most, out_shift=-rng.randint(most - 4, most))
    found["left_shift"] = min(found["left_shift"], most)
    return found


def _product(rng: Random, function: Function) -> dict[str, int]:
    found = {**_scaled(rng, function), "block_size": _length(rng)}
    if "batch_size" in function.params:
        found.update(batch_size=rng.randint(1, 3), batch_offset=1)
    return found


def _softmax(rng: Random, function: Function) -> dict[str, int]:
    found = {"num_rows": rng.randint(1, 3), "row_size": _length(rng)}
    found["mult"] = rng.randint(2**30, 2**31 - 1)
    if "diff_min" not in function.params:
        return {**found, "shift": rng.randint(-8, 4)}
    shift = rng.randint(13, 31)
    return {**found, "shift": shift, "diff_min": -((31 << 26) >> shift)}


def _broadcast(rng: Random, function: Function) -> dict[str, int]:
    sides = {axis: rng.choice(_SIZES) for axis in "nhwc"}
    found = {f"input_{axis}": side if rng.randrange(2) else 1 for axis, side in sides.items()}
    return {**found, **{f"output_{axis}": side for axis, side in sides.items()}}


def _activation_s16(rng: Random, function: Function) -> dict[str, int]:
    found = {"size": _length(rng), "left_shift": rng.randint(-5, 5)}
    return {**found, "type": rng.randrange(2)}


def _minmax(rng: Random, function: Function) -> dict[str, int]:
    """Some axes of one input, or of both, have one element."""
    found = {}
    for axis in "nhwc":
        side = rng.choice(_SIZES)
        for i, kept in zip((1, 2), rng.choice(((1, 1), (1, 1), (0, 1), (1, 0)))):
            found[f"input{i}_{axis}"] = side if kept else 1
    return found


def _sides(rng: Random) -> dict[str, int]:
    return {f"input_{axis}": rng.choice(_SIZES) for axis in "nhwc"}


def _concatenation(rng: Random, function: Function) -> dict[str, int]:
    axis = function.name[-1]
    found = {f"input_{a}": rng.choice(_SIZES) for a in "xyzw"}
    before, behind = rng.randint(0, 5), rng.randint(0, 5)
    return {**found, f"output_{axis}": before + found[f"input_{axis}"] + behind, "offset": before}


def _join(rng: Random, function: Function) -> dict[str, int]:
    return {"outer": rng.choice(_SIZES), "inner1": rng.randint(1, 70), "inner2": rng.randint(1, 70)}


def _pad(rng: Random, function: Function) -> dict[str, int]:
    found = {f"{end}_{axis}": rng.randint(0, 3) for end in ("pre", "post") for axis in "nhwc"}
    limits = np.iinfo(function.output.dtype)
    return {**_sides(rng), **found, "pad_value": rng.randint(int(limits.min), int(limits.max))}


def _transpose(rng: Random, function: Function) -> dict[str, int]:
    dims = rng.randint(1, 4)
    perm = [*rng.sample(range(dims), dims), *range(dims, 4)]
    sides = [rng.choice(_SIZES) if i < dims else 1 for i in range(4)]
    found = {f"input_{axis}": n for axis, n in zip("nhwc", sides)}
    found.update({f"output_{axis}": sides[i] for axis, i in zip("nhwc", perm)})
    perm[dims:] = [rng.randrange(4) for _ in perm[dims:]]  # nothing looks at these
    return {**found, "num_dims": dims, **{f"perm_{i}": axis for i, axis in enumerate(perm)}}


def _one(name: str) -> Callable[[Random, Function], dict[str, int]]:
    """Functions whose one argument is a length."""
    return lambda rng, function: {name: _length(rng)}


_PRIMITIVES = (
    *("requantize", "doubling_high_mult", "doubling_high_mult_no_sat", "divide_by_power_of_two"),
    *("mult_by_power_of_two", "exp_on_negative_values", "one_over_one_plus_x"),
)

_PARAMS: Mapping[str, Callable[[Random, Function], dict[str, int]]] = {
    "elementwise_add": _sum,
    "elementwise_sub": _sum,
    "elementwise_mul": _product,
    "elementwise_mul_acc": _product,
    "softmax": _softmax,
    "constant": lambda rng, function: {"length": _length(rng)},
    "broadcast": _broadcast,
    "nn_activation": _activation_s16,
    "minimum": _minmax,
    "maximum": _minmax,
    "reshape": _one("total_size"),
    "concatenation": _concatenation,
    "join": _join,
    "pad": _pad,
    "transpose": _transpose,
    **{f"nn_{name}": _one("length") for name in _PRIMITIVES},
    **TFLM_PARAMS,
}


def random_rest_params(rng: Random, function: Function) -> Optional[dict[str, int]]:
    """Arguments that mostly meet the contract; None where the function is not one of these."""
    make = _PARAMS.get(function.op)
    return make(rng, function) if make else None


def rest_arrays(function: Function) -> dict[str, np.ndarray]:
    """Arrays that are not any numbers, by their C names."""
    if function.name == "arm_softmax_s16":
        tables = (softmax_tables.exp_lut(), softmax_tables.one_by_one_lut())
        return dict(zip(("exp_lut", "one_by_one_lut"), tables))
    return tflm_arrays(function)
