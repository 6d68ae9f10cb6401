"""Choice of the fractions of a layer with weights, within the hardware's shifts.

With P = f_in + f_weight, both P - f_out (the sum's shift) and P - f_bias (the bias') are in 0..S,
for every output channel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

#: S, by width.
WIDEST = {8: 15, 16: 31}

ORDERS = ("fwb", "fbw", "wfb", "wbf", "bfw", "bwf")


@dataclass(frozen=True)
class Fractions:
    """Fraction bits of output, products (P) and bias, the last two by channel; None: undecided."""

    out: Optional[int] = None
    products: Optional[np.ndarray] = None
    bias: Optional[np.ndarray] = None


def assign_fractions(order: str, wanted: Fractions, given: Fractions, widest: int) -> Fractions:
    """Return the preferred fractions with the smallest changes that the order of priority allows;
    given ones are kept.

    order: of f (output), w (weights), b (bias), the most important first.
    """
    now = given
    for letter in order:
        if letter == "f" and now.out is None and wanted.out is not None:
            now = replace(now, out=_choose_output(wanted.out, now, widest))
        elif letter == "w" and now.products is None and wanted.products is not None:
            now = replace(now, products=_choose_products(wanted.products, now, widest))
        elif letter == "b" and now.bias is None and wanted.bias is not None:
            now = replace(now, bias=_choose_bias(wanted.bias, now, widest))
    return now


def _choose_output(wanted: int, now: Fractions, widest: int) -> int:
    if now.products is not None:
        return _limit(wanted, int(now.products.max()) - widest, int(now.products.min()))
    if now.bias is not None:
        return _limit(wanted, int(now.bias.max()) - widest, int(now.bias.min()) + widest)
    return wanted


def _choose_products(wanted: np.ndarray, now: Fractions, widest: int) -> np.ndarray:
    others = [np.asarray(fracs) for fracs in (now.bias, now.out) if fracs is not None]
    if others:
        low, high = np.maximum(others[0], others[-1]), np.minimum(others[0], others[-1]) + widest
        wanted = np.clip(wanted, low, high)
    return wanted if now.out is not None else _close(wanted, widest)


def _choose_bias(wanted: np.ndarray, now: Fractions, widest: int) -> np.ndarray:
    fractions: np.ndarray
    if now.products is not None:
        fractions = np.clip(wanted, now.products - widest, now.products)
        return fractions
    if now.out is not None:
        fractions = np.clip(wanted, now.out - widest, now.out + widest)
        return fractions
    return _close(wanted, widest)


def _close(wanted: np.ndarray, widest: int) -> np.ndarray:
    """Return fractions so close that one output serves all channels: the finest are lowered."""
    fractions: np.ndarray = np.minimum(wanted, wanted.min() + widest)
    return fractions


def _limit(value: int, low: int, high: int) -> int:
    return max(min(value, high), low)
