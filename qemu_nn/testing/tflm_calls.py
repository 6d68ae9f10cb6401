"""Calls at random of what TensorFlow Lite Micro computes itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Callable

import numpy as np

from ..functions import Function
from ..functions.scaling import (
    logistic_scaling,
    logistic_scaling_s16,
    quantize_multiplier,
    rescale_factors,
)

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
#: Enough for several vectors of a fast row, with every remainder.
_LONGEST = 2500

Params = dict[str, int]


def _length(rng: Random) -> int:
    return rng.randint(1, _LONGEST) if rng.randrange(3) == 2 else rng.choice(_SIZES)


def _limits(dtype: str) -> tuple[int, int]:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _zero_points(rng: Random, function: Function) -> Params:
    ends = {"input": function.inputs[0].dtype, "output": function.output.dtype}
    most = 2**30
    limits = {end: np.clip(_limits(dtype), -most, most) for end, dtype in ends.items()}
    return {f"{end}_zero_point": rng.randint(*map(int, limits[end])) for end in ends}


def _factor(rng: Random, function: Function) -> tuple[int, int]:
    """One that mostly keeps the input's size in the output's range."""
    wide = np.dtype(function.output.dtype).itemsize - np.dtype(function.inputs[0].dtype).itemsize
    return quantize_multiplier(math.exp(rng.uniform(-2, 1)) * 256.0 ** min(wide, 1))


def _requantize(rng: Random, function: Function) -> Params:
    multiplier, shift = _factor(rng, function)
    found = {"length": _length(rng), "multiplier": multiplier, "shift": shift}
    found.update(_zero_points(rng, function))
    if "act_min" in function.params:
        low, high = _limits(function.output.dtype)
        found.update(act_min=rng.randint(low, high), act_max=high)
    return found


def _leaky_relu(rng: Random, function: Function) -> Params:
    found = {"length": _length(rng), **_zero_points(rng, function)}
    for which in ("identity", "alpha"):
        found[f"{which}_multiplier"], found[f"{which}_shift"] = _factor(rng, function)
    return found


def _rescale(rng: Random, function: Function) -> Params:
    return {"length": _length(rng), "output_zero_point": rng.randint(0, 255)}


def _logistic(rng: Random, function: Function) -> Params:
    scale = math.exp(rng.uniform(-7, 0))
    if function.type == "s16":
        names: tuple[str, ...] = ("input_multiplier", "input_left_shift")
        wide = scale / 256 if rng.randrange(4) else 2.0**-12
        numbers: tuple[int, ...] = logistic_scaling_s16(wide, "tanh" in function.name)
    else:
        names = ("input_multiplier", "input_left_shift", "input_range_radius", "input_zero_point")
        numbers = (*logistic_scaling(scale), rng.randint(-128, 127))
    return {"length": _length(rng), **dict(zip(names, numbers))}


def _mean(rng: Random, function: Function) -> Params:
    names = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")
    found = {name: rng.choice(_SIZES) for name in names}
    found["multiplier"], found["shift"] = _factor(rng, function)
    return {**found, **_zero_points(rng, function)}


def _slice(rng: Random, function: Function) -> Params:
    found = {}
    for i in range(5):
        side = rng.choice(_SIZES[:7])
        first, stride = rng.randrange(side), rng.choice((1, 1, 2, 3, -1, -2))
        room = side - 1 - first if stride > 0 else first
        output = 1 + rng.randint(0, room // abs(stride))
        found.update({f"input_{i}": side, f"begin_{i}": first})
        found.update({f"stride_{i}": stride, f"output_{i}": output})
    return found


def _resize_nearest(rng: Random, function: Function) -> Params:
    sides = ("batches", "input_h", "input_w", "channels", "output_h", "output_w")
    flags = ("align_corners", "half_pixel_centers")
    found = {name: rng.choice(_SIZES) for name in sides}
    return {**found, **{name: rng.randrange(2) for name in flags}}


#: Op -> what makes its arguments.
TFLM_PARAMS: Mapping[str, Callable[[Random, Function], Params]] = {
    "requantize": _requantize,
    "leaky_relu": _leaky_relu,
    "rescale": _rescale,
    "logistic": _logistic,
    "tanh": _logistic,
    "mean": _mean,
    "slice": _slice,
    "resize_nearest": _resize_nearest,
}


def tflm_arrays(function: Function) -> dict[str, np.ndarray]:
    """Arrays that are not any numbers, by their names."""
    return {"factors": rescale_factors(0.02, 128, 0.03)} if function.op == "rescale" else {}
