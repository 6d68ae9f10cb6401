"""Computed tensors, guards of conditional graphs, and variables that a file's graphs share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...ir.graph import Tensor

#: Types that need no scale and no zero point: the file's name -> numpy's name.
PLAIN = {
    **{"INT32": "int32", "UINT32": "uint32", "INT64": "int64", "UINT64": "uint64"},
    **{"FLOAT32": "float32", "BOOL": "bool"},
}

#: All types that a tensor without scale and zero point may have.
BARE = ("INT8", "UINT8", "INT16", *PLAIN)


@dataclass(frozen=True)
class TfliteValue:
    """A computed tensor.

    An integer q represents scale * (q - zero). Types in PLAIN have scale 1 and zero point 0, except
    INT32 tensors with a scale in the file.

    name: name of the graph's tensor with these elements; the graph's tensor may differ in shape.
    shape: the file's shape, including the batch axis of 1.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero: int

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def tensor(self) -> Tensor:
        """The graph's tensor of one sample, without the leading batch axis of 1."""
        batched = len(self.shape) > 1 and self.shape[0] == 1
        shape = self.shape[batched:] or (1,)
        plain = self.dtype in PLAIN.values() and (self.scale, self.zero) == (1.0, 0)
        if plain or self.scale == 0:  # every element of scale 0 represents 0
            return Tensor(self.name, shape, self.dtype)
        return Tensor(self.name, shape, self.dtype, None, self.scale, self.zero)


@dataclass(frozen=True)
class Guard:
    """The condition of a branch: a boolean tensor, and the value that selects the branch."""

    condition: TfliteValue
    holds: bool


@dataclass(frozen=True)
class GraphContext:
    """The context of a graph that an operator calls.

    graphs: numbers of the calling graphs and of this one in the file. guard: condition of the
    branch, if the graph is one. loops: True if the graph is part of a loop.
    """

    graphs: tuple[int, ...] = ()
    guard: Optional[Guard] = None
    loops: bool = False


@dataclass
class Variables:
    """Variables by name.

    states: state of each variable. resets: values before the first run. assigned: names of the
    variables that some operator assigns. handles: resource tensor of one graph -> variable name.
    """

    states: dict[str, TfliteValue] = field(default_factory=dict)
    resets: dict[str, np.ndarray] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    handles: dict[int, str] = field(default_factory=dict)

    def of_another_graph(self) -> Variables:
        """Return the same variables without handles, because tensor indices differ per graph."""
        return Variables(self.states, self.resets, self.assigned)

    def name(self, index: Optional[int]) -> str:
        """Return the name of the variable that a resource tensor refers to."""
        if index is None or index not in self.handles:
            raise ModelError(
                "its first input is not a variable; an earlier VAR_HANDLE must name it"
            )
        return self.handles[index]


def unpack_int4(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return 4-bit elements, two per byte with the first one low, as int8 in a shape."""
    pairs = data.reshape(-1).view(np.uint8)
    halves = np.stack([pairs << 4, pairs & 0xF0], axis=1).view(np.int8) >> 4
    return halves.reshape(-1)[: math.prod(shape)].reshape(shape)
