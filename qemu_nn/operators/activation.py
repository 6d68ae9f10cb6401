"""Functions of one element, and softmax."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..errors import ModelError
from .base import Operator, Shape


class _Unary(Operator):
    """Operator whose output has the shape of its only input."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        (shape,) = inputs
        return shape


@dataclass(frozen=True)
class Relu(_Unary):
    """max(x, 0), or slope * x below zero; at most `limit` (6 for ReLU6)."""

    slope: float = 0.0
    limit: Optional[float] = None

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        (x,) = inputs
        if self.slope:
            result = np.where(x > 0, x, x * x.dtype.type(self.slope))
        else:
            result = np.maximum(x, 0)
        return result if self.limit is None else np.minimum(result, x.dtype.type(self.limit))


@dataclass(frozen=True)
class Clip(_Unary):
    """min(max(x, low), high); what starts at 0 is a Relu instead."""

    low: float
    high: float

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        (x,) = inputs
        result: np.ndarray = np.clip(x, x.dtype.type(self.low), x.dtype.type(self.high))
        return result


@dataclass(frozen=True)
class PRelu(Operator):
    """x above zero, slope * x below; slope broadcasts to the shape of a sample."""

    slope: np.ndarray = field(repr=False)

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        (shape,) = inputs
        try:
            fits = np.broadcast_shapes(shape, self.slope.shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise ModelError(
                f"its slope has the shape {list(self.slope.shape)}, which does not broadcast to "
                f"the input {list(shape)}"
            )
        return shape

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        (x,) = inputs
        return np.where(x > 0, x, x * self.slope.astype(x.dtype, copy=False))


@dataclass(frozen=True)
class Sigmoid(_Unary):
    """1 / (1 + exp(-x))."""

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Compute the function by exp(-|x|), which cannot overflow."""
        (x,) = inputs
        small = np.exp(-np.abs(x))
        result: np.ndarray = np.where(x >= 0, 1, small) / (1 + small)
        return result


@dataclass(frozen=True)
class Tanh(_Unary):
    """The hyperbolic tangent."""

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        (x,) = inputs
        result: np.ndarray = np.tanh(x)
        return result


@dataclass(frozen=True)
class Softmax(_Unary):
    """exp(x) / sum of exp(x) along an axis; log: the logarithm of it."""

    axis: int = 0
    log: bool = False

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        (shape,) = inputs
        if not 0 <= self.axis < len(shape):
            raise ModelError(f"the shape {list(shape)} has no axis {self.axis}")
        return shape

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Compute the softmax relative to the largest element, which avoids overflow."""
        (x,) = inputs
        x = x - x.max(axis=self.axis + 1, keepdims=True)
        total = np.exp(x).sum(axis=self.axis + 1, keepdims=True)
        result: np.ndarray = x - np.log(total) if self.log else np.exp(x) / total
        return result
