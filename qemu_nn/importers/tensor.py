"""A tensor of a file with a batch axis, in terms of one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

import numpy as np

from ..errors import ModelError
from ..operators import Shape


@dataclass(frozen=True)
class Tensor:
    """A tensor that depends on the network's input.

    shape: in the file, for a batch of 1. batched: true if its first axis is the batch. A file may
    merge that axis into others, or drop it: then all of `shape` belongs to one sample.
    """

    name: str
    shape: Shape
    batched: bool

    @property
    def sample(self) -> Shape:
        """The shape of one sample."""
        return self.shape[1:] if self.batched else self.shape

    def axis(self, axis: int) -> int:
        """Return an axis of one sample, from an axis of the file."""
        rank = len(self.shape)
        if not -rank <= axis < rank:
            raise ModelError(f"the shape {list(self.shape)} has no axis {axis}")
        if self.batched and axis % rank == 0:
            raise ModelError("it works on the batch axis; samples must be independent")
        return axis % rank - self.batched


#: Value of a name of the file: a tensor, or a constant.
Value = Union[Tensor, np.ndarray]
