"""Tensors that are computed, and what a file's graphs share: variables, by their names."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...ir.graph import Tensor

#: Types without a format: the file's name -> numpy's.
PLAIN = {
    **{"INT32": "int32", "UINT32": "uint32", "INT64": "int64", "UINT64": "uint64"},
    **{"FLOAT32": "float32", "BOOL": "bool"},
}

#: All types that tensors may hold without a format.
BARE = ("INT8", "UINT8", "INT16", *PLAIN)


@dataclass(frozen=True)
class Value:
    """A tensor of integers that is computed.

    name: of the graph's tensor that holds its numbers, which may have another shape. shape: the
    file's, with the batch of 1. An integer q stands for scale * (q - zero); numbers of the types of
    PLAIN stand for themselves, but for INT32 where the file has a scale.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero: int

    @property
    def size(self) -> int:
        """Its elements."""
        return math.prod(self.shape)

    @property
    def tensor(self) -> Tensor:
        """It as a tensor of one sample, without the batch of 1 that its shape begins with."""
        batched = len(self.shape) > 1 and self.shape[0] == 1
        shape = self.shape[batched:] or (1,)
        plain = self.dtype in PLAIN.values() and (self.scale, self.zero) == (1.0, 0)
        if plain:
            return Tensor(self.name, shape, self.dtype)
        return Tensor(self.name, shape, self.dtype, None, self.scale, self.zero)


@dataclass(frozen=True)
class Guard:
    """The condition behind which a graph is computed: a truth value, and which one it must be."""

    condition: Value
    holds: bool


@dataclass(frozen=True)
class Inside:
    """Where a graph is computed that an operator calls.

    graphs: its number in the file, and those of the graphs that it is in. guard: the condition that
    must hold, if there is one. loops: is it computed again and again?
    """

    graphs: tuple[int, ...] = ()
    guard: Optional[Guard] = None
    loops: bool = False


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
