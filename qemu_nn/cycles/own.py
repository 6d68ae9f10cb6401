"""Instructions of calls of functions that exports bring along, fitted by the sizes of arrays."""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from .model import STANDS_FOR, CallEstimate

#: Coefficients, which benchmarks/count_own.py writes.
DATA = Path(__file__).with_name("own.json.xz")

#: Build that is counted: the Makefile of an export.
_BUILD = ("-O2", "hard")

#: Core -> classes of instructions as shares, which these counts do not tell: the medians of Arm's
#: functions at -O2.
_SHARES: Mapping[str, Mapping[str, float]] = {
    "cortex-m3": {"loads": 0.283, "multiply-accumulates": 0.082, "branches taken": 0.084},
    "cortex-m4": {"loads": 0.219, "multiply-accumulates": 0.081, "branches taken": 0.059},
    "cortex-m55": {"loads": 0.165, "multiply-accumulates": 0.003, "branches taken": 0.04},
}


def estimate_own(
    function: str, sizes: Sequence[int], core: str, cmsis: str
) -> Optional[CallEstimate]:
    """Return the estimate of a call; None if the function has no counts for the core.

    sizes: elements of the output and of all inputs, and multiplications.
    """
    counted_on = STANDS_FOR.get(core, core)
    values = read_own().get(counted_on, {}).get(function)
    if values is None:
        return None
    *factors, margin = values
    count = sum(factor * size for factor, size in zip(factors, (1, *sizes)))
    mix = {name: round(share * count) for name, share in _SHARES[counted_on].items()}
    return CallEstimate(
        function, core, counted_on, cmsis, *_BUILD, max(round(count), 1),
        int(count * (1 - margin)), int(count * (1 + margin)) + 1, mix,
    )  # fmt: skip


@functools.cache
def read_own() -> dict[str, dict[str, Sequence[float]]]:
    """Return core -> function -> instructions of a call, of each size, and the largest error."""
    loaded: dict[str, dict[str, Sequence[float]]] = json.loads(lzma.decompress(DATA.read_bytes()))
    return loaded
