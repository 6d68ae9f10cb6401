"""Inputs at random: for a network, and calls of any function with values that hurt."""

from __future__ import annotations

from random import Random

import numpy as np

from ..functions import Function
from ..ir.graph import Graph
from .npu_calls import start_shift
from .s8_calls import is_affine, quantization

#: How the values of an array are chosen.
VALUES = ("random", "lowest", "highest", "alternating", "one_hot", "small")


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
