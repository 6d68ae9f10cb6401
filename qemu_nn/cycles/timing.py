"""Timings of cores, from instructions to cycles, and their validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Least, usual and most.
Range = tuple[float, float, float]

#: Note on cycles that no public figure confirms.
NOT_VALIDATED = "instructions are estimated from counts; cycles are not validated on this core"


@dataclass(frozen=True)
class CoreTiming:
    """Cycles of a core's instructions.

    rate: cycles of an instruction. extra: additional cycles by class of instructions. source: of
    the figures. proven: measurements compared with, or "".
    """

    source: str
    rate: Range = (1.0, 1.0, 1.0)
    extra: Mapping[str, Range] = field(default_factory=dict)
    proven: str = ""


# A load takes two cycles, one after another load or store; a branch refills a pipeline of one to
# three stages; a division ends early.
_LOADS: Range = (0.0, 0.5, 1.0)
_BRANCHES: Range = (1.0, 2.0, 3.0)
_DIVISIONS: Range = (1.0, 5.0, 11.0)
_PIPELINE = {"loads": _LOADS, "branches taken": _BRANCHES, "divides": _DIVISIONS}

_M4 = "Cortex-M4 Technical Reference Manual r0p1, table 3-1"
_NONE_PUBLIC = "Arm publishes no timings of it"

#: Core -> its timing.
TIMINGS: Mapping[str, CoreTiming] = {
    "cortex-m3": CoreTiming(
        "Cortex-M3 Technical Reference Manual r2p1, table 3-1",
        extra={
            **_PIPELINE,
            "multiply-accumulates": (1.0, 1.2, 6.0),  # MLA; SMLAL takes up to 7
            "multiplies": (0.0, 1.0, 4.0),  # MUL; SMULL takes up to 5
        },
    ),
    "cortex-m4": CoreTiming(
        _M4,
        extra=_PIPELINE,
        proven="MLPerf Tiny v1.0, v1.1 on nucleo-l4r5zi (ic, kws, vww, ad): -23 to +13 %",
    ),
    "cortex-m7": CoreTiming(
        f"{_NONE_PUBLIC}; one rate, tuned on conv3 of the CMSIS-NN paper",
        rate=(0.75, 0.917, 1.2),
        proven="arXiv 1801.06601, CIFAR-10 at 216 MHz: conv1 -11 to -9 %, conv2 +8 %",
    ),
    "cortex-m33": CoreTiming(
        f"{_NONE_PUBLIC}; those of the {_M4} are taken",
        extra=_PIPELINE,
        proven="MLPerf Tiny v1.0 on nRF5340 (ic, kws, vww, ad): -17 to -3 %",
    ),
    "cortex-m35p": CoreTiming(f"{_NONE_PUBLIC}; those of the {_M4} are taken", extra=_PIPELINE),
    "cortex-m52": CoreTiming(_NONE_PUBLIC, rate=(1.0, 1.5, 2.0)),
    "cortex-m55": CoreTiming(
        f"{_NONE_PUBLIC}; vector ones take two cycles, or overlap",
        rate=(1.0, 1.25, 2.0),
    ),
    "cortex-m85": CoreTiming(
        f"{_NONE_PUBLIC}; one rate, tuned on ic and ad of MLPerf Tiny",
        rate=(0.7, 0.87, 1.2),
        proven="MLPerf Tiny v1.2 on RA8D1: kws -7 %, vww -13 %",
    ),
}


def compute_cycles(instructions: int, mix: Mapping[str, int], timing: CoreTiming) -> Range:
    """Return least, usual and most cycles of instructions of this `mix`."""
    least, usual, most = (
        timing.rate[at] * instructions
        + sum(extra[at] * mix.get(name, 0) for name, extra in timing.extra.items())
        for at in range(3)
    )
    return (least, usual, most)
