"""Reductions over axes, and normalizations by statistics of the sample itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from .base import Operator, Shape

_KINDS: dict[str, Callable[..., np.ndarray]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
}


def check_axes(shape: Shape, axes: tuple[int, ...]) -> None:
    """Raise ModelError unless axes are axes of a shape, each once and at least one."""
    if not axes or len(set(axes)) < len(axes) or not all(0 <= axis < len(shape) for axis in axes):
        raise ModelError(f"{list(axes)} are not axes of the shape {list(shape)}")


@dataclass(frozen=True)
class Reduce(Operator):
    """kind "mean", "sum", "max" or "min" over axes; these remain, with one element each."""

    kind: str
    axes: tuple[int, ...]

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's, with one element along each of the axes."""
        (shape,) = inputs
        if self.kind not in _KINDS:
            raise ModelError(f"there is no reduction {self.kind!r}; have: {', '.join(_KINDS)}")
        check_axes(shape, self.axes)
        return tuple(1 if axis in self.axes else n for axis, n in enumerate(shape))

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the reduction of each sample."""
        (x,) = inputs
        axes = tuple(axis + 1 for axis in self.axes)
        return np.asarray(_KINDS[self.kind](x, axis=axes, keepdims=True), x.dtype)


@dataclass(frozen=True)
class ArgMax(Operator):
    """Index of the first largest element of an axis; the axis remains, with one element.

    least: of the first smallest one.
    """

    axis: int
    least: bool = False

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's, with one element along the axis."""
        (shape,) = inputs
        check_axes(shape, (self.axis,))
        return (*shape[: self.axis], 1, *shape[self.axis + 1 :])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return whole numbers, in the type of the input."""
        (x,) = inputs
        find = np.argmin if self.least else np.argmax
        return np.expand_dims(find(x, axis=self.axis + 1), self.axis + 1).astype(x.dtype)


@dataclass(frozen=True)
class Normalize(Operator):
    """(x - mean) / sqrt(variance + epsilon) over axes, for each place of the further axes.

    centered: without it the mean is not subtracted, and the variance is the mean of squares. It
    represents layer, instance, group and RMS normalization, before their scales and offsets.
    """

    axes: tuple[int, ...]
    epsilon: float = 1e-5
    centered: bool = True

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        (shape,) = inputs
        check_axes(shape, self.axes)
        if not (self.epsilon >= 0 and math.isfinite(self.epsilon)):
            raise ModelError(f"its epsilon is {self.epsilon}; it must be 0 or more, and finite")
        return shape

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        (x,) = inputs
        axes = tuple(axis + 1 for axis in self.axes)
        away = x - x.mean(axis=axes, keepdims=True) if self.centered else x
        variance = (away * away).mean(axis=axes, keepdims=True)
        result: np.ndarray = away / np.sqrt(variance + x.dtype.type(self.epsilon))
        return result
