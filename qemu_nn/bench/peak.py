"""Peak multiply-accumulates of this host, by instruction set."""

from __future__ import annotations

from dataclasses import dataclass

from .._native import lib
from ..kernels.table import FEATURES, Row

_ROUNDS = 20_000

#: Bits of the factors of a type; q7_q15 multiplies as q15 does.
_BITS = {"q7": 8, "s8": 8, "u8": 8, "s16": 16, "q15": 16, "q7_q15": 16}


@dataclass(frozen=True)
class Peak:
    """Dot products of one instruction set on registers alone, to be timed.

    feature: one of the values of kernels.FEATURES, which the host must have. bits: of the factors,
    8 or 16.
    """

    feature: int
    bits: int

    def __str__(self) -> str:
        name = next(name for name, feature in FEATURES.items() if feature == self.feature)
        return f"peak of {name}, {self.bits} bits"

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run; 0 if the instruction set has none."""
        return int(lib.qn_peak(self.feature, self.bits, 1)) * _ROUNDS

    def run(self) -> None:
        """Run the multiply-accumulates."""
        lib.qn_peak(self.feature, self.bits, _ROUNDS)


def get_peaks(row: Row) -> list[Peak]:
    """Return the peak of the newest instruction set that a row needs; none if there is none
    here.
    """
    needed = [feature for feature in FEATURES.values() if row.cpu & feature]
    if not needed or not row.runs_here() or row.op.type not in _BITS:
        return []
    peak = Peak(needed[-1], _BITS[row.op.type])
    return [peak] if peak.macs else []
