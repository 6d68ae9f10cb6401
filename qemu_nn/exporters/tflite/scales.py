"""Scales of weights, found from the multipliers and shifts that a network holds.

Multipliers have 31 bits and the scales of a file 24, so that a network which was made of such
scales has them back, and one which was not may have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np

from ...errors import ModelError
from ...functions.scaling import quantize_multiplier

#: How many neighbours of the nearest float32 are tried on each side: what is rounded on the way.
_NEIGHBOURS = 8


def found(near: float, gives: Callable[[float], Any], wanted: Any, what: str) -> float:
    """The float32 nearest to a number that gives what is wanted; ModelError if none does."""
    tried = np.float32(near)
    below = above = tried
    if np.isfinite(tried) and tried > 0:
        for _ in range(_NEIGHBOURS + 1):
            for each in dict.fromkeys((below, above)):
                if 0 < each < np.inf and gives(float(each)) == wanted:
                    return float(each)
            below = np.nextafter(below, np.float32(0))
            above = np.nextafter(above, np.float32(np.inf))
    raise ModelError(f"no scale in float32 gives {what} that it computes with")


def factor(multiplier: int, shift: int) -> float:
    """What a multiplier and its shift stand for."""
    return math.ldexp(multiplier, shift - 31)


def weight_scales(
    pairs: Sequence[tuple[int, int]], source: float, output: float, *, product: bool = False
) -> list[float]:
    """The scale of weights for each (multiplier, shift), between an input's and an output's scale.

    product: whether the framework multiplies input's and weights' scale in float32.
    """
    known: dict[tuple[int, int], float] = {}

    def given(scale: float) -> tuple[int, int]:
        both = float(np.float32(source) * np.float32(scale)) if product else source * scale
        return quantize_multiplier(both / output)

    for pair in pairs:
        if pair not in known:
            near = factor(*pair) if pair[0] else math.ldexp(1.0, -40)  # less than any shift holds
            what = f"the multiplier {pair[0]} and the shift {pair[1]}"
            known[pair] = found(near * output / source, given, pair, what)
    return [known[pair] for pair in pairs]
