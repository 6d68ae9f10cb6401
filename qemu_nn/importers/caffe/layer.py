"""One layer of Caffe with all inputs of its conversion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import FloatNode
from ...operators import Operator, Shape
from .net import Step


@dataclass(frozen=True)
class CaffeLayer:
    """A step of a net, the shapes of its inputs, and its learned arrays."""

    step: Step
    shapes: tuple[Shape, ...]
    learned: Sequence[np.ndarray]

    @property
    def shape(self) -> Shape:
        """Return the shape of one sample of the first input."""
        return self.shapes[0]

    def parameters(self, name: str) -> Any:
        """Return the protobuf message of its type's own fields."""
        return getattr(self.step.fields, name)

    def axis(self, axis: int) -> int:
        """Return an axis of the first input, counted without the batch."""
        behind = axis - 1 if axis >= 0 else axis + len(self.shape)
        if not 0 <= behind < len(self.shape):
            raise ModelError(
                f"axis {axis} is the batch or not one of the {len(self.shape) + 1} axes"
            )
        return behind

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """Return the learned arrays; a file may declare additional leading axes of one element."""
        if len(self.learned) != len(shapes):
            raise ModelError(f"its weights are {len(self.learned)} arrays; it needs {len(shapes)}")
        for array, shape in zip(self.learned, shapes):
            if _drop_ones(array.shape) != _drop_ones(shape):
                raise ModelError(f"its weights are {list(array.shape)}; it needs {list(shape)}")
        return [array.reshape(shape) for array, shape in zip(self.learned, shapes)]

    def weights_and_bias(
        self, weights: Shape, bias: Shape, has_bias: bool
    ) -> tuple[np.ndarray, Optional[np.ndarray]]:
        """Return the two arrays of these shapes; None for a missing bias."""
        if not has_bias:
            return self.arrays(weights)[0], None
        first, second = self.arrays(weights, bias)
        return first, second

    def node(self, operator: Operator, *reads: str, part: str = "") -> FloatNode:
        """Return a node with the layer's name, or that of a part of it."""
        name = f"{self.step.name}/{part}" if part else self.step.name
        return FloatNode(name, operator, reads or self.step.reads)


def finite(value: float) -> float:
    """Return the number; raise ModelError if it is not finite."""
    if not math.isfinite(value):
        raise ModelError(f"{value} is not a finite number")
    return value


def _drop_ones(shape: Shape) -> Shape:
    return tuple(dropwhile(lambda size: size == 1, shape))
