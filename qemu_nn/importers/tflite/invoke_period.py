"""How often a network gets past operators that end an Invoke."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Pace:
    """bounds: calls of a network from which on only every so many-th Invoke gets, as pairs; unsaid:
    buffers so far whose files do not say how often they let an Invoke go on."""

    bounds: list[tuple[int, int]] = field(default_factory=list)
    unsaid: int = 0

    def period(self, call: int) -> int:
        """Invokes from one that gets to a call to the next."""
        return max((period for bound, period in self.bounds if bound <= call), default=1)
