"""Faults that advice names, and remedies that can be tried and measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Optional

import numpy as np

#: Least gain in decibels of a remedy that is named, and most that are named. A network below this
#: many decibels may need a costly remedy; one above that many needs none for what is not certain.
_GAIN, _NAMED, _BAD, GOOD = 3.0, 2, 20.0, 40.0


@dataclass(frozen=True, eq=False)
class Remedy:
    """A change that may help; text: how the user makes it.

    how: arguments of quantize() for a network that has it, calibrated with data of the kind that
    is analyzed. fix: makes inputs of the analyzed data what the network expects. costly: it takes
    memory or time, so a cheaper remedy that helps is named alone.
    """

    text: str
    how: Optional[dict[str, Any]] = None
    fix: Optional[Callable[[np.ndarray], np.ndarray]] = None
    costly: bool = False


@dataclass(frozen=True)
class Fault:
    """A fault and its remedies, best guess first.

    layer: that makes the error. text: a sentence without its end; the layer and figures first.
    certain: advice even if no remedy gains, or none can be measured.
    """

    layer: str
    text: str
    remedies: tuple[Remedy, ...] = ()
    certain: bool = True


def spell_advice(fault: Fault, before: float, after: dict[Remedy, float]) -> Optional[str]:
    """Return the sentence of a fault, or None if it is not certain and nothing helps.

    before: signal-to-noise ratio of the outputs in decibels. after: the same of each remedy that
    was measured.
    """
    told = [each for each in fault.remedies if after.get(each, -math.inf) >= before + _GAIN]
    cheap = [each for each in told if not each.costly]
    if not cheap and (fault.certain or before < _BAD):
        cheap = told
    cheap.sort(key=lambda each: -after[each])
    best = [each for each in cheap[:_NAMED] if after[each] > after[cheap[0]] - _GAIN]
    if best:
        words = ", or ".join(f"{r.text} ({before:.1f} -> {after[r]:.1f} dB)" for r in best)
        return f"{fault.text}: {words}"
    if not fault.certain:
        return None
    unknown = [each.text for each in fault.remedies if each not in after]
    return f"{fault.text}: {', or '.join(unknown)}" if unknown else fault.text
