"""Budgets of a network on a device: flash, memory, cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ..analysis.layer_cycles import estimate_usual_cycles
from ..errors import Error
from ..firmware.memory import list_buffers
from ..io.arguments import as_count
from ..ir.graph import Graph
from ..ir.stored import weight_bytes
from ..runtime.plan import plan
from ..targets import Profile, resolve
from .schemes import Scheme

#: Cost -> how sentences name it.
WORDS = {"flash": "bytes of weights", "ram": "bytes of memory", "cycles": "cycles"}


@dataclass(frozen=True)
class DeviceBudget:
    """The most that a network may take, by the names of WORDS; core: whose cycles are counted."""

    limits: dict[str, int]
    profile: Profile
    core: str

    @property
    def widens(self) -> bool:
        """True if layers get as many bits as the budget allows, not as few as it requires."""
        return bool({"ram", "cycles"} & self.limits.keys())

    def cost(self, name: str, graph: Graph) -> int:
        """Return what a network takes."""
        if name == "flash":
            return weight_bytes(graph)
        if name == "ram":
            return sum(list_buffers(plan(graph, self.profile)).values())
        return estimate_usual_cycles(graph, self.core, self.profile.cmsis)[0]

    def list_uncounted(self, graph: Graph) -> dict[str, str]:
        """Return layer -> function of those whose cycles are limited, and not known."""
        if "cycles" not in self.limits:
            return {}
        return estimate_usual_cycles(graph, self.core, self.profile.cmsis)[1]

    def compute_costs(self, graph: Graph) -> dict[str, int]:
        """Return what a network takes of each that is limited."""
        return {name: self.cost(name, graph) for name in self.limits}

    def figures(self, graph: Graph) -> list[Optional[int]]:
        """Return all that WORDS names, None for cycles of a core without counts."""
        try:
            return [self.cost(name, graph) for name in WORDS]
        except Error:
            return [*(self.cost(name, graph) for name in WORDS if name != "cycles"), None]

    def compute_excess(self, graph: Graph) -> float:
        """Return the sum of the excesses in shares of their limits; 0 if the network fits."""
        return sum(max(0.0, c / self.limits[n] - 1) for n, c in self.compute_costs(graph).items())


@dataclass(frozen=True)
class AccuracyGoal:
    """The most by which the accuracy may drop, and the cost of WORDS that is to be small."""

    drop: float
    smallest: str
    budget: DeviceBudget


def parse_budget(
    given: Mapping[str, Any], scheme: Scheme, bits: int, target: str
) -> tuple[Optional[DeviceBudget], Optional[AccuracyGoal]]:
    """Return the budget and the accuracy that a user gives, if any. Raises Error for a scheme
    without mixed widths.
    """
    limits = {n: as_count(given[n], n) for n in WORDS if given[n] is not None}
    asked = [*limits, *(["accuracy"] if given["accuracy"] is not None else [])]
    if asked and (scheme.powers or bits != 8):
        raise Error(
            f"{asked[0]}= needs scheme='affine' with bits=8, whose functions alone take one "
            "width in some layers and another in others"
        )
    if given["accuracy"] is None:
        return (DeviceBudget(limits, scheme.profile, resolve(target)) if limits else None), None
    if limits:
        raise Error(
            "accuracy= finds the smallest network by itself: leave out "
            f"{next(iter(limits))}=, or accuracy="
        )
    budget = DeviceBudget({given["smallest"]: 1}, scheme.profile, resolve(target))
    return None, AccuracyGoal(given["accuracy"], given["smallest"], budget)
