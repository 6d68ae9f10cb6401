"""Inputs at random: for a network, and calls of any function with values that hurt."""

from __future__ import annotations

from random import Random
from typing import Callable

import numpy as np

from ..functions import Function
from ..ir.graph import Graph
from .npu_calls import random_npu_params, start_shift
from .s8_calls import is_affine, quantization, random_affine_params
from .s8_rest_calls import rest_arrays

#: How the values of an array are chosen.
VALUES = ("random", "lowest", "highest", "alternating", "one_hot", "small")

#: C argument -> what it may be; everything else is one of _SIZES.
_RANGES = {
    "padding": (0, 4),
    "stride": (1, 3),
    "dim_kernel": (1, 5),
    "bias_shift": (0, 31),
    "out_shift": (0, 31),
    "int_width": (0, 3),
    "type": (0, 1),
    "out_lshift": (0, 31),
    "dim_im_in": (1, 11),
    "dim_im_out": (1, 9),
    "nb_batches": (1, 3),
    "batches": (1, 3),
    "input": (1, 11),
    "filter": (1, 5),
    "pad": (0, 4),
    "output": (1, 9),
}
_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)

#: Now and then enough for several vectors of a fast row, with every remainder: the length of
#: functions that take a vector alone, and channels where each is computed for itself.
_LONG = {
    "vector": ("size", "blockSize", "block_size", "length", "dim_vec"),
    "image": ("ch_im_in", "channels"),
}
_LONGEST = {"vector": 2500, "image": 200}


def _values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """An array of one kind; every kind is in the dtype's range."""
    limits = np.iinfo(dtype)
    size = int(np.prod(shape))
    if kind == "random":
        flat = rng.integers(limits.min, limits.max, size, endpoint=True)
    elif kind == "small":
        flat = rng.integers(-8, 8, size)
    elif kind == "one_hot" and size:
        flat = np.zeros(size, np.int64)
        flat[rng.integers(size)] = rng.choice([limits.min, limits.max])
    else:
        flat = np.full(size, limits.max if kind == "highest" else limits.min)
        if kind == "alternating":
            flat[::2] = limits.max
    return flat.astype(dtype).reshape(shape)


def _one_in(rng: Random, n: int) -> bool:
    return rng.randrange(n) == n - 1


def random_params(rng: Random, function: Function) -> dict[str, int]:
    """C arguments of ordinary size; some break a constraint of the function, most do not."""
    params = {}
    for name in function.params:
        stem = name[:-2] if name.endswith(("_x", "_y", "_h", "_w")) else name
        params[name] = rng.randint(*_RANGES[stem]) if stem in _RANGES else rng.choice(_SIZES)
    kind = "image" if {"ch_im_in", "channels"} & set(params) else "vector"
    can_be_long = kind == "vector" or "depthwise" in function.name or "pool" in function.name
    if "num_of_rows" not in params and can_be_long and _one_in(rng, 3):
        long = [name for name in params if name in _LONG[kind]]
        params.update({name: rng.randint(1, _LONGEST[kind]) for name in long})
    if "offset" in params:
        high = 127 if function.type == "q7" else 32767
        params["offset"] = rng.randint(-high - 1, high)
    if "shift" in " ".join(params) and not _one_in(rng, 3):  # keep most results off the rails
        params.update({n: rng.randint(0, 12) for n in params if n.endswith("_shift")})
    if "act_min" in params:
        limits = np.iinfo(function.output.dtype)
        low, high = int(limits.min), int(limits.max)
        if _one_in(rng, 2):
            low, high = sorted((rng.randint(low, high), rng.randint(low, high)))
        params.update(act_min=low, act_max=high)
    _satisfy(rng, function, params)
    return params


def _satisfy(rng: Random, function: Function, params: dict[str, int]) -> None:
    """Meet the constraints of the fast functions, nine times out of ten."""
    if _one_in(rng, 10):
        return
    if "fast" in function.name:
        params["ch_im_in"] = 4 * rng.choice((1, 2, 3, 4, 16, 33))
        params["ch_im_out"] = 2 * rng.choice((1, 2, 3, 4, 5, 9, 17))
    if "RGB" in function.name:
        params["ch_im_in"] = 3
    if "depthwise" in function.name:
        params["ch_im_out"] = params["ch_im_in"]
    if "reordered" in function.name and "ch_im_out" in params:
        params["ch_im_out"] += params["ch_im_out"] % 2
    if "1x1" in function.name:
        for axis in "xy":
            params[f"dim_kernel_{axis}"] = params[f"stride_{axis}"] = 1
            params[f"padding_{axis}"] = 0
    for name in [n for n in params if n.startswith("dim_im_out")]:
        params[name] = _natural(params, name[len("dim_im_out") :], rng)
        if function.type == "q15" and "fast" in function.name:
            params[name] += params[name] % 2
    for axis in ("_h", "_w"):
        if f"filter{axis}" in params:
            params[f"pad{axis}"] = min(params[f"pad{axis}"], params[f"filter{axis}"] - 1)
            room = params[f"input{axis}"] + params[f"pad{axis}"] - 1
            params[f"output{axis}"] = 1 + rng.randint(0, room // params[f"stride{axis}"])


def _natural(params: dict[str, int], axis: str, rng: Random) -> int:
    """The output size that the geometry gives, now and then rounded up."""
    room = params[f"dim_im_in{axis}"] + 2 * params[f"padding{axis}"] - params[f"dim_kernel{axis}"]
    return max(1, room // params[f"stride{axis}"] + 1 + _one_in(rng, 10))


def _random_params_of(function: Function) -> Callable[[Random, Function], dict[str, int]]:
    if function.op.startswith("npu_"):
        return random_npu_params
    return random_affine_params if is_affine(function) else random_params


def random_arguments(rng: Random, function: Function) -> dict[str, object]:
    """All keyword arguments of one call: scalars and arrays."""
    params = _random_params_of(function)(rng, function)
    elements = np.random.default_rng(rng.getrandbits(32))
    arrays = {
        array.name: _values(elements, array.dtype, array.shape(params), rng.choice(VALUES))
        for array in function.arrays
    }
    for array in (*function.stack, *((function.bias,) if is_affine(function) else ())):
        if array is not None and array.name in arrays:
            found = quantization(elements, array, array.shape(params))
            arrays[array.name] = found.astype(array.dtype_in(params))
    arrays.update(rest_arrays(function))
    if "start_shift" in arrays:
        arrays["start_shift"] = start_shift(elements, params["out_c"])
    return {**params, **arrays}


def random_inputs(graph: Graph, count: int) -> np.ndarray:
    """Inputs over the whole range, [count, *shape], always the same.

    [count, 1, *shape] for a recurrent network: one time step.
    """
    limits = np.iinfo(graph.input.dtype)
    steps = (1,) if graph.states else ()
    values = np.random.default_rng(0).integers(
        limits.min, limits.max, (count, *steps, *graph.input.shape), endpoint=True
    )
    return values.astype(graph.input.dtype)
