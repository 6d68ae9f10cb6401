"""Sums and products: with constants (any form of normalization), and of two tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import ModelError
from .base import Operator, Shape
from .curve import TWO

#: Name -> function of two tensors; see TWO of curve.py.
_KINDS = {name: function for name, function in TWO.items() if name != "power"}


@dataclass(frozen=True)
class Affine(Operator):
    """x * scale + offset, both float arrays that broadcast to the shape of one sample.

    It represents batch normalization, Scale, Bias and arithmetic with constants: scale = gamma /
    sqrt(variance + epsilon), offset = beta - mean * scale.
    """

    scale: np.ndarray = field(repr=False)
    offset: np.ndarray = field(repr=False)

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        (shape,) = inputs
        for name, value in (("scale", self.scale), ("offset", self.offset)):
            if not _fits(value.shape, shape):
                raise ModelError(
                    f"its {name} has the shape {list(value.shape)}, which does not broadcast to "
                    f"the input {list(shape)}"
                )
        return shape

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        (x,) = inputs
        scaled: np.ndarray = x * self.scale.astype(x.dtype) + self.offset.astype(x.dtype)
        return scaled


@dataclass(frozen=True)
class Elementwise(Operator):
    """A function of two tensors, element by element.

    kind: "add", "subtract", "multiply", "divide", "maximum", "minimum"; "greater", "at_least" and
    "equal", which give 1 or 0; "pass_where", the second tensor where the first is 1, else 0.
    """

    kind: str

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape that both broadcast to; both have equally many axes."""
        if self.kind not in _KINDS:
            raise ModelError(f"there is no {self.kind!r}; have: {', '.join(_KINDS)}")
        first, second = inputs
        try:
            if len(first) == len(second):
                return tuple(np.broadcast_shapes(first, second))
        except ValueError:
            pass
        raise ModelError(
            f"its inputs {list(first)} and {list(second)} do not broadcast to one shape"
        )

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        result: np.ndarray = _KINDS[self.kind](*inputs)
        return result


def _fits(part: Shape, whole: Shape) -> bool:
    try:
        return bool(np.broadcast_shapes(part, whole) == tuple(whole))
    except ValueError:
        return False
