"""Random calls of any function, with values that hurt."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from ..functions import Function
from ..ir.formats import drawn, limits
from .s8_calls import is_affine, quantization
from .wuqi_calls import start_shift

#: How the values of an array are chosen.
VALUES = ("random", "lowest", "highest", "alternating", "one_hot", "small")


def _values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """An array of one kind; every kind is in the dtype's range."""
    low, high = (-(2**20), 2**20) if dtype == "float32" else limits(dtype)
    size = math.prod(shape)
    if kind == "random":
        return drawn(rng, dtype, shape)
    if kind == "small":
        flat = rng.integers(-8, 8, size)
    elif kind == "one_hot" and size:
        flat = np.zeros(size, dtype)
        flat[rng.integers(size)] = (low, high)[rng.integers(2)]
    else:
        flat = np.full(size, high if kind == "highest" else low, dtype)
        if kind == "alternating":
            flat[::2] = high
    return flat.astype(dtype).reshape(shape)


def random_params(rng: Random, function: Function) -> dict[str, int]:
    """Scalar C arguments of ordinary size; some break a constraint of the function."""
    assert function.draw is not None, f"{function.name} has no random arguments"
    return function.draw(rng, function)


def random_arguments(rng: Random, function: Function) -> dict[str, object]:
    """All keyword arguments of one call: scalars and arrays."""
    params = random_params(rng, function)
    elements = np.random.default_rng(rng.getrandbits(32))
    arrays = {
        array.name: elements.integers(array.below, size=array.shape(params), dtype=array.dtype)
        if array.below
        else _values(elements, array.dtype, array.shape(params), rng.choice(VALUES))
        for array in function.arrays
    }
    for array in (*function.stack, *((function.bias,) if is_affine(function) else ())):
        if array is not None and array.name in arrays:
            found = quantization(elements, array, array.shape(params))
            arrays[array.name] = found.astype(array.dtype_in(params))
    arrays.update(function.tables() if function.tables else {})
    if "start_shift" in arrays:
        arrays["start_shift"] = start_shift(elements, params["out_c"])
    return {**params, **arrays}
