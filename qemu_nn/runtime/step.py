"""One call of a planned network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ..ir.graph import Node, Tensor
from ..kernels.table import Row, Sizes
from .split import Part


@dataclass(frozen=True)
class Step:
    """One call: its row, its C parameters, and byte offsets into the arena.

    spare: offset of a copy of the first input, if the call would destroy an input that is needed.
    relu: the next rectifier, if the row applies it. folds: earlier calls fused into this one. why:
    reason for the row. sign_flipped: C flags for an image or an output with flipped sign bits.
    cost: estimated microseconds. parts: parts that several threads compute, each with part_scratch
    bytes.
    """

    node: Node
    row: Row
    params: Any
    sizes: Sizes
    inputs: tuple[int, ...]
    output: int
    scratch: int = 0
    spare: Optional[int] = None
    relu: Optional[Step] = None
    folds: tuple[Node, ...] = ()
    why: str = ""
    sign_flipped: int = 0
    cost: float = 0.0
    parts: tuple[Part, ...] = ()
    part_scratch: int = 0

    @property
    def scratch_bytes(self) -> int:
        """Scratch bytes of the call, whole or in parts."""
        return max(self.row.scratch(self.params), len(self.parts) * self.part_scratch)

    @property
    def result(self) -> Tensor:
        """Tensor at `output` in the arena after this step."""
        return self.relu.result if self.relu else self.node.output
