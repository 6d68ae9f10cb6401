"""What a file's graphs share: variables, which live on until the next run, by their names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

import numpy as np

from ...errors import ModelError

if TYPE_CHECKING:
    from .building import Value


@dataclass(frozen=True)
class Guard:
    """The condition behind which a graph is computed: a truth value, and which one it must be."""

    condition: Value
    holds: bool


@dataclass
class Variables:
    """Variables by name. assigned: those that live on; handles: of the tensors of one graph that
    stand for a variable."""

    states: dict[str, Value] = field(default_factory=dict)
    resets: dict[str, np.ndarray] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    handles: dict[int, str] = field(default_factory=dict)

    def of_another_graph(self) -> Variables:
        """The same variables; tensors have other indices there."""
        return Variables(self.states, self.resets, self.assigned)

    def name(self, index: Optional[int]) -> str:
        """The variable that a tensor stands for."""
        if index is None or index not in self.handles:
            raise ModelError("its first input is no variable that a VAR_HANDLE before it names")
        return self.handles[index]
