"""Calls of the s8 and s16 API at random, with values that hurt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

import numpy as np

from ..functions import Array, Function
from ..kernels.table import rows_of
from .s8_dense_calls import output_offset, random_dense_params
from .s8_rest_calls import random_rest_params, rest_arrays

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
#: Channels of a dense layer: several vectors of a fast row, with every remainder.
_WIDTHS = (*_SIZES, 31, 33, 64, 70)
_LONGEST = 200

#: C argument -> what it may be; see random_affine_params() for the rest.
_RANGES = {
    "batches": (1, 3),
    "bias_is_int32": (0, 1),
    "input_offset": (-127, 128),
    "filter_offset": (-127, 128),
    "multiplier": (2**30, 2**31 - 1),
    "shift": (-12, 1),
    "is_per_channel": (0, 1),
}


def is_affine(function: Function) -> bool:
    """Is it of the s8 and s16 API, but for its pooling, which has no quantization?"""
    return rows_of(function.op, function.type)[0].op.arithmetic == "s" and "pool" not in function.op


def random_affine_params(rng: Random, function: Function) -> dict[str, int]:
    """Arguments that mostly meet the contract."""
    for make in (random_rest_params, random_dense_params):
        made = make(rng, function)
        if made is not None:
            return made
    p = {
        name: rng.randint(*_RANGES[name]) if name in _RANGES else rng.choice(_SIZES)
        for name in function.params
    }
    if "output_c" in p:
        p["input_c"] = rng.choice((*_WIDTHS, rng.randint(1, _LONGEST)))
        p["output_c"] = rng.choice(_WIDTHS)
        p["batches"] = rng.choice((1, 2, 3, 17, 34))  # of 16 some rows make a tile
    if rng.randrange(2):
        p.update({name: 0 for name in ("filter_offset",) if name in p})
    p.update(_activation(rng, function, p))
    return p


def _activation(rng: Random, function: Function, p: dict[str, int]) -> dict[str, int]:
    """Offset and range of the output, where the function has them."""
    limits = np.iinfo(function.output.dtype)
    low, high = int(limits.min), int(limits.max)
    found = {name: output_offset(rng, low, high) for name in ("output_offset",) if name in p}
    if "act_min" in p:
        if rng.randrange(2):
            low, high = sorted((rng.randint(low, high), rng.randint(low, high)))
        found.update(act_min=low, act_max=high)
    return found


def quantization(rng: np.random.Generator, array: Array, shape: tuple[int, ...]) -> np.ndarray:
    """Multipliers, shifts or a bias: sums of many sizes land inside of the output's range."""
    if array.name == "multiplier":
        return rng.integers(2**30, 2**31 - 1, shape, endpoint=True).astype(array.dtype)
    if array.name == "shift":
        low = rng.choice([-31, -14, -10, -8])
        return rng.integers(low, min(low + 8, 1), shape, endpoint=True).astype(array.dtype)
    widest = rng.choice([4, 10, 16, 31])
    return rng.integers(-(2**widest), 2**widest - 1, shape, endpoint=True).astype(array.dtype)


def affine_arrays(
    rng: np.random.Generator, function: Function, params: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Weights and bias of a call, by role, that keep the output's signal in its range."""
    found = {}
    if function.weights is not None:
        parts = {}
        for part in function.parts or (function.weights,):
            limits = np.iinfo(part.dtype)
            values = rng.integers(limits.min, limits.max, part.shape(params), endpoint=True)
            parts[part.name] = values.astype(part.dtype)
        weights = function.weights_of(parts)
        assert weights is not None
        found["weights"] = weights
    if function.bias is not None:
        shape = function.bias.shape(params)
        bias = rng.integers(-1000, 1000, shape)
        if "multiplier" in [row.name for row in function.stack]:
            bias[1] = rng.integers(2**30, 2**31 - 1, shape[1:])
            bias[2] = usual_shift(function, params)
            if not params.get("is_per_channel", 1):
                bias[1] = bias[1, 0]
        found["bias"] = bias.astype(function.bias.dtype)
    settled = rest_arrays(function)
    roles = {"weights": function.weights, "bias": function.bias}
    found.update({r: settled[a.name] for r, a in roles.items() if a and a.name in settled})
    return found


def usual_shift(function: Function, params: Mapping[str, int]) -> int:
    """The shift that brings a sum of random products back to 8 bits."""
    assert function.weights is not None
    outputs = function.output.shape(params)[-1]
    terms = math.prod(function.weights.shape(params)) // outputs
    return -math.ceil(math.log2(128 * math.sqrt(terms)))
