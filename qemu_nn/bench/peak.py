"""The most multiply-accumulates that this host can make with an instruction set, measured."""

from __future__ import annotations

from functools import cache
from typing import Optional

from .._native import lib
from ..kernels import FEATURES, Row
from .stopwatch import race

_ROUNDS = 20_000

#: Bits of the factors of a type; q7_q15 multiplies as q15 does.
_BITS = {"q7": 8, "s8": 8, "q15": 16, "q7_q15": 16}


@cache
def peak(feature: int, bits: int) -> Optional[float]:
    """Multiply-accumulates per second; None if the host or the instruction set has none.

    feature: one of the values of kernels.FEATURES; bits: of the factors, 8 or 16.
    """
    macs = lib.qn_peak(feature, bits, 1)
    if not macs:
        return None
    timing = race({"peak": lambda: lib.qn_peak(feature, bits, _ROUNDS)})["peak"]
    return float(macs * _ROUNDS / timing.low)


def peak_of(row: Row) -> Optional[float]:
    """The peak of the newest instruction set that a row needs; None if it needs none."""
    needed = [feature for feature in FEATURES.values() if row.cpu & feature]
    if not needed or row.op.type not in _BITS:
        return None
    return peak(needed[-1], _BITS[row.op.type])
