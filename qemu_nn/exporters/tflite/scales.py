"""Search for the scales of weights that give a network's multipliers and shifts.

Multipliers have 31 bits and the float32 scales of a file 24. So a scale exists if the multiplier
was computed from float32 scales, and otherwise it may not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np

from ...errors import ModelError
from ...functions.scaling import quantize_multiplier

#: Number of float32 neighbours that the search tries on each side, to allow for rounding.
_NEIGHBOURS = 8


def find_scale(near: float, gives: Callable[[float], Any], wanted: Any, what: str) -> float:
    """Return the float32 nearest to `near` for which `gives` returns `wanted`.

    Raises ModelError with the name `what` if no neighbor does.
    """
    tried = np.float32(near)
    below = above = tried
    if np.isfinite(tried) and tried > 0:
        for _ in range(_NEIGHBOURS + 1):
            for each in dict.fromkeys((below, above)):
                if 0 < each < np.inf and gives(float(each)) == wanted:
                    return float(each)
            below = np.nextafter(below, np.float32(0))
            above = np.nextafter(above, np.float32(np.inf))
    raise ModelError(f"it computes with {what}; no float32 scale gives this")


def compute_multiplier(multiplier: int, shift: int) -> float:
    """Return the float value of a multiplier and its shift."""
    return math.ldexp(multiplier, shift - 31)


def find_weight_scales(
    pairs: Sequence[tuple[int, int]], source: float, output: float, *, product: bool = False
) -> list[float]:
    """Return the weight scale for each (multiplier, shift), given the input's and output's scale.

    product: True if the framework multiplies the scales of input and weights in float32.
    """
    known: dict[tuple[int, int], float] = {}

    def quantize(scale: float) -> tuple[int, int]:
        both = float(np.float32(source) * np.float32(scale)) if product else source * scale
        return quantize_multiplier(both / output)

    for pair in pairs:
        if pair not in known:
            near = (
                compute_multiplier(*pair) if pair[0] else math.ldexp(1.0, -40)
            )  # gives multiplier 0
            what = f"the multiplier {pair[0]} and the shift {pair[1]}"
            known[pair] = find_scale(near * output / source, quantize, pair, what)
    return [known[pair] for pair in pairs]
