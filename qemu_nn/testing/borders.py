"""Sums on the borders between two outputs, found by bisection on the results of a plain row."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Callable, Optional

import numpy as np

from ..functions import Function

#: Arguments of a call -> its output.
Run = Callable[[Mapping[str, Any]], np.ndarray]

#: Magnitudes of the search for a bias; the last ones reach sums that wrap at 32 bits.
_REACH = (2**20, 2**20, 2**24, 2**31 - 1)


def find_moving_array(function: Function) -> Optional[str]:
    """Return the array that moves outputs up or down: biases, or a second operand."""
    names = [array.name for array in function.arrays]
    found = next((name for name in ("start_shift", "bias") if name in names), None)
    twins = len(function.inputs) == 2 and function.inputs[0].axes == function.inputs[1].axes
    return found or (function.inputs[1].name if twins and function.weights is None else None)


def place_on_borders(
    rng: Random, function: Function, arguments: Mapping[str, Any], run: Run
) -> dict[str, Any]:
    """Return arguments with sums at which an output steps to the next one, or one below.

    Each channel has such a sum at one of its outputs; if the second operand moves, each element has
    one.
    """
    name = find_moving_array(function)
    if name is None or arguments[name].dtype.kind not in "iu":
        return dict(arguments)
    array, elements = arguments[name], np.random.default_rng(rng.getrandbits(32))
    moved = array[:, 0] if name == "start_shift" else array
    out = run(arguments).astype(np.int64)
    if moved.shape == out.shape[-1:]:
        at = elements.integers(0, max(1, out.size // out.shape[-1]), out.shape[-1])
    elif moved.shape == out.shape:
        at = None
    else:
        return dict(arguments)

    def is_seen(result: np.ndarray) -> np.ndarray:
        return result if at is None else result.reshape(len(at) and -1, len(at))[at, range(len(at))]

    def place(values: np.ndarray) -> dict[str, Any]:
        other = array.copy()
        (other[:, 0] if name == "start_shift" else other)[...] = values
        return {**arguments, name: other}

    low, high = _get_ends(rng, array.dtype, moved.shape)
    least, most = int(out.min()), int(out.max())
    target = elements.integers(least, most, moved.shape, endpoint=True)
    saturated = elements.random(moved.shape) < 0.25
    target = np.where(saturated, elements.choice((least + 1, most), moved.shape), target)
    while np.any(high - low > 1):
        middle = (low + high) >> 1
        reached = is_seen(run(place(middle))) >= target
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return place(np.where(elements.integers(0, 2, moved.shape), low, high))


def _get_ends(
    rng: Random, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a search, in 64 bits."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    reach = rng.choice(_REACH)
    low, high = max(least, -reach), min(most, reach)
    return np.full(shape, low, np.int64), np.full(shape, high, np.int64)
