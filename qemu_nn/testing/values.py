"""Elements of random arrays: named generators of values of one type."""

from __future__ import annotations

import math
from random import Random
from typing import Callable

import numpy as np

from ..ir.formats import draw_numbers, limits

#: An array of a type and shape.
Values = Callable[[np.random.Generator, str, tuple[int, ...]], np.ndarray]


def get_ends(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest value that generators use."""
    return (-(2**20), 2**20) if dtype == "float32" else limits(dtype)


def uniform(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draw from the whole range of the type."""
    return draw_numbers(rng, dtype, shape)


def small(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draw from -8 to 7, so that sums are small and halves are frequent."""
    return rng.integers(-8, 8, shape).astype(dtype)


def constant(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Repeat one value of the range."""
    return np.full(shape, draw_numbers(rng, dtype, (1,)), dtype)


def lowest(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Repeat the least value."""
    return np.full(shape, get_ends(dtype)[0], dtype)


def highest(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Repeat the greatest value."""
    return np.full(shape, get_ends(dtype)[1], dtype)


def alternating(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Alternate the greatest and the least value."""
    flat = lowest(rng, dtype, (math.prod(shape),))
    flat[::2] = get_ends(dtype)[1]
    return flat.reshape(shape)


def one_hot(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Place one end of the range among zeros."""
    flat = np.zeros(math.prod(shape), dtype)
    if flat.size:
        flat[rng.integers(flat.size)] = get_ends(dtype)[rng.integers(2)]
    return flat.reshape(shape)


def ends(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draw each element from both ends of the range."""
    return np.array(get_ends(dtype), dtype)[rng.integers(0, 2, shape)]


def every(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draw one element from each of equal parts of the range: 256 elements meet all bytes."""
    (low, high), count = get_ends(dtype), math.prod(shape)
    size = int(high) - int(low) + 1
    within = rng.integers(0, max(1, min(size // max(1, count), 2**31)), count).tolist()
    flat = [int(low) + size * i // count + more for i, more in enumerate(within)]
    return np.array(flat, dtype).reshape(shape)


_ALL = (uniform, small, constant, lowest, highest, alternating, one_hot, ends, every)

VALUES: dict[str, Values] = {f.__name__: f for f in _ALL}

#: Names in the order in which random choices meet them: most arrays are uniform.
_USUAL = ("uniform",) * 5 + ("small", "small", "alternating", "one_hot", "ends", "every")


def random_name(rng: Random) -> str:
    """Return the name of a generator."""
    return rng.choice(_USUAL)
