"""Faults that advice names, and remedies that can be tried and measured."""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True)
class Gain:
    """Signal-to-noise ratio of the outputs in decibels, and the share of correct classes if labels
    are known, before and after a remedy.
    """

    before: float
    after: float
    right: Optional[tuple[float, float]] = None

    def __str__(self) -> str:
        words = f"{self.before:.1f} -> {self.after:.1f} dB"
        if self.right is None:
            return words
        return f"{words}, {self.right[0]:.1%} -> {self.right[1]:.1%} right"


def spell_advice(fault: Fault, gains: Mapping[Remedy, Gain]) -> Optional[str]:
    """Return the sentence of a fault, or None if it is not certain and nothing helps.

    gains: of each remedy that was measured. What makes the inputs right is named in any case.
    """
    told = [each for each in fault.remedies if each in gains and _helps(gains[each])]
    cheap = [each for each in told if not each.costly]
    if not cheap and (fault.certain or any(gains[each].before < _BAD for each in told)):
        cheap = told
    cheap.sort(key=lambda each: -gains[each].after)
    best = [r for r in cheap[:_NAMED] if gains[r].after > gains[cheap[0]].after - _GAIN]
    best = best or [r for r in fault.remedies if r.fix is not None and r in gains][:1]
    if best:
        return f"{fault.text}: " + ", or ".join(f"{r.text} ({gains[r]})" for r in best)
    if not fault.certain:
        return None
    unknown = [each.text for each in fault.remedies if each not in gains]
    return f"{fault.text}: {', or '.join(unknown)}" if unknown else fault.text


def _helps(gain: Gain) -> bool:
    return gain.after >= gain.before + _GAIN
