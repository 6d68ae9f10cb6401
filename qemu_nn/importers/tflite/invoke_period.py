"""Periods of calls after a CIRCULAR_BUFFER: this operator ends some Invokes early."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class InvokePeriods:
    """Invoke periods of the calls of a network.

    bounds: pairs (first call, period): from this call on, calls run once in `period` Invokes.
    unsaid: number of buffers so far without cycles_max in the file.
    """

    bounds: list[tuple[int, int]] = field(default_factory=list)
    unsaid: int = 0

    def period(self, call: int) -> int:
        """Return the number of Invokes between two runs of a call."""
        return max((period for bound, period in self.bounds if bound <= call), default=1)
