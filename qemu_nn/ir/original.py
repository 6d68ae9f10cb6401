"""The network that a compiler of an NPU read, and what the compiler made of its operators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from .graph import Graph

#: Places of an operator: the NPU, the core, part of a neighbour; or not known.
NPU, CORE, MERGED, UNKNOWN = "npu", "core", "merged", "unknown"


@dataclass(frozen=True)
class CompiledOperator:
    """An operator of the original file.

    layer: name of its output. operator: in the file's words, "CONV_2D". place: NPU, CORE, MERGED or
    UNKNOWN. operations: NPU operations that compute it. cycles: the compiler's estimate, if known.
    reason: why the core computes it, in the compiler's words. effect: of a program that is wrong.
    """

    layer: str
    operator: str
    place: str
    operations: int = 0
    cycles: Optional[int] = None
    reason: str = ""
    effect: str = ""


@dataclass(frozen=True)
class Original:
    """A network before it was compiled for an NPU.

    operators: in the order of the file. estimate: figures of the compiler's own estimate, as texts
    under its names. matched: "record" if the compiler's record names the operators, "bytes" if
    operations were found by the bytes that they compute.
    """

    graph: Graph
    operators: tuple[CompiledOperator, ...]
    matched: str
    estimate: Mapping[str, str] = field(default_factory=dict)

    def figure(self, name: str) -> float:
        """Return a figure of the estimate; 0 if it is missing or no number."""
        try:
            value = float(self.estimate.get(name, ""))
        except ValueError:
            return 0.0
        return value if math.isfinite(value) else 0.0
