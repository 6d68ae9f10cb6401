"""Operators that move elements and compute nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from . import base
from .base import Operator, Shape


@dataclass(frozen=True)
class Identity(Operator):
    """A copy of the input: dropout in inference, casts, copies."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        (shape,) = inputs
        return shape

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the input itself."""
        (x,) = inputs
        return x


@dataclass(frozen=True)
class Concat(Operator):
    """Tensors side by side along an axis."""

    axis: int

    def shape(self, *inputs: Shape) -> Shape:
        """Return the inputs', summed along the axis."""
        first, axis = inputs[0], _axis(inputs[0], self.axis)
        for shape in inputs[1:]:
            if len(shape) != len(first) or any(
                a != b for i, (a, b) in enumerate(zip(first, shape)) if i != axis
            ):
                raise ModelError(f"{list(first)} and {list(shape)} cannot be joined on axis {axis}")
        return (*first[:axis], sum(shape[axis] for shape in inputs), *first[axis + 1 :])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return all elements, moved."""
        return np.concatenate(inputs, axis=self.axis + 1)


@dataclass(frozen=True)
class Slice(Operator):
    """Elements start, start + step, ... below stop of an axis; 0 <= start < stop, step >= 1."""

    axis: int
    start: int
    stop: int
    step: int = 1

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's, shorter along the axis."""
        (shape,) = inputs
        axis = _axis(shape, self.axis)
        if not (0 <= self.start < self.stop <= shape[axis] and self.step >= 1):
            raise ModelError(
                f"{self.start}:{self.stop}:{self.step} is not within the {shape[axis]} elements "
                f"of axis {axis}"
            )
        count = len(range(self.start, self.stop, self.step))
        return (*shape[:axis], count, *shape[axis + 1 :])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return a view of these elements."""
        (x,) = inputs
        cut = slice(self.start, self.stop, self.step)
        return x[(slice(None),) * (self.axis + 1) + (cut,)]


@dataclass(frozen=True)
class Gather(Operator):
    """Elements of an axis at some places, in any order, each as often as its place is named.

    It represents lookups, repetitions, reversals, and padding by copies of elements.
    """

    axis: int
    places: tuple[int, ...]

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's, with this many places along the axis."""
        (shape,) = inputs
        side = shape[_axis(shape, self.axis)]
        if not self.places or not all(0 <= place < side for place in self.places):
            raise ModelError(
                f"its {len(self.places)} places are not all within the {side} elements of axis "
                f"{self.axis}"
            )
        return (*shape[: self.axis], len(self.places), *shape[self.axis + 1 :])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return these elements."""
        (x,) = inputs
        taken: np.ndarray = np.take(x, self.places, axis=self.axis + 1)
        return taken


@dataclass(frozen=True)
class Pad(Operator):
    """Cells of `value` before and after each axis: pads[axis] = (before, after); negative crop."""

    pads: tuple[tuple[int, int], ...]
    value: float = 0.0

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's, grown."""
        (shape,) = inputs
        if len(self.pads) != len(shape):
            raise ModelError(f"it pads {len(self.pads)} axes of the shape {list(shape)}")
        grown = tuple(n + before + after for n, (before, after) in zip(shape, self.pads))
        if any(n < 1 or n + min(a, 0) + min(b, 0) < 1 for n, (a, b) in zip(shape, self.pads)):
            raise ModelError(f"its padding {list(self.pads)} leaves nothing of {list(shape)}")
        return grown

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Crop, then grow."""
        (x,) = inputs
        crop = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape[1:], self.pads)]
        grow = [(max(a, 0), max(b, 0)) for a, b in self.pads]
        inner = x[tuple([slice(None), *crop])]  # noqa: C409
        return np.pad(inner, [(0, 0), *grow], constant_values=self.value)


@dataclass(frozen=True)
class Reshape(Operator):
    """The same elements in the same order in a new shape, given in full."""

    to: Shape

    def shape(self, *inputs: Shape) -> Shape:
        """Return the new one."""
        (shape,) = inputs
        if math.prod(shape) != math.prod(self.to) or min(self.to, default=1) < 1:
            raise ModelError(
                f"its input {list(shape)} cannot be reshaped to {list(self.to)}: the elements "
                "must be as many"
            )
        return self.to

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return all elements, in order."""
        (x,) = inputs
        return x.reshape(len(x), *self.to)


@dataclass(frozen=True)
class Transpose(Operator):
    """Axes in another order: axis i of the output is axis order[i] of the input."""

    order: tuple[int, ...]

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's, reordered."""
        (shape,) = inputs
        if sorted(self.order) != list(range(len(shape))):
            raise ModelError(f"{list(self.order)} is not an order of the axes of {list(shape)}")
        return tuple(shape[axis] for axis in self.order)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return all elements, moved."""
        (x,) = inputs
        moved: np.ndarray = x.transpose(0, *(axis + 1 for axis in self.order))
        return moved


@dataclass(frozen=True)
class Shuffle(Operator):
    """Channel shuffle: the channels as [groups, n] become [n, groups]."""

    groups: int
    axis: int

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's."""
        (shape,) = inputs
        if self.groups < 1 or shape[_axis(shape, self.axis)] % self.groups:
            raise ModelError(
                f"{self.groups} groups do not divide axis {self.axis} of {list(shape)}"
            )
        return shape

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return all elements, moved along the axis."""
        (x,) = inputs
        channels = x.shape[self.axis + 1]
        order = np.arange(channels).reshape(self.groups, -1).T.ravel()
        moved: np.ndarray = np.take(x, order, axis=self.axis + 1)
        return moved


@dataclass(frozen=True)
class DepthToSpace(Operator):
    """Channels to blocks of block x block pixels.

    blocks_first: channels are [block, block, depth], as in TensorFlow and mode DCR of ONNX; else
    [depth, block, block], as in PyTorch's pixel shuffle.
    """

    block: int
    blocks_first: bool = True
    layout: str = "NHWC"

    def shape(self, *inputs: Shape) -> Shape:
        """Return the larger image."""
        height, width, channels = base.image(inputs[0], self.layout)
        if self.block < 1 or channels % self.block**2:
            raise ModelError(f"blocks of {self.block} do not divide {channels} channels")
        sides = (height * self.block, width * self.block, channels // self.block**2)
        return base.to_layout(*sides, self.layout)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return all elements, moved."""
        x, block = base.to_nhwc(inputs[0], self.layout), self.block
        split, order = self.moves(x.shape[1:])
        moved = x.reshape(len(x), *split).transpose(0, *(axis + 1 for axis in order))
        height, width = x.shape[1:3]
        return base.from_nhwc(moved.reshape(len(x), height * block, width * block, -1), self.layout)

    def moves(self, image: Shape) -> tuple[Shape, tuple[int, ...]]:
        """Return the axes of an image [h, w, c] split into blocks, and their order afterwards."""
        height, width, channels = image
        block, depth = self.block, channels // self.block**2
        if self.blocks_first:
            return (height, width, block, block, depth), (0, 2, 1, 3, 4)
        return (height, width, depth, block, block), (0, 3, 1, 4, 2)


@dataclass(frozen=True)
class SpaceToDepth(Operator):
    """Blocks of block x block pixels to channels; blocks_first: see DepthToSpace, its inverse."""

    block: int
    blocks_first: bool = True
    layout: str = "NHWC"

    def shape(self, *inputs: Shape) -> Shape:
        """Return the smaller image."""
        height, width, channels = base.image(inputs[0], self.layout)
        if self.block < 1 or height % self.block or width % self.block:
            raise ModelError(f"blocks of {self.block} do not divide {height} x {width} pixels")
        sides = (height // self.block, width // self.block, channels * self.block**2)
        return base.to_layout(*sides, self.layout)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return all elements, moved."""
        x, block = base.to_nhwc(inputs[0], self.layout), self.block
        split, order = self.moves(x.shape[1:])
        moved = x.reshape(len(x), *split).transpose(0, *(axis + 1 for axis in order))
        height, width = x.shape[1:3]
        return base.from_nhwc(
            moved.reshape(len(x), height // block, width // block, -1), self.layout
        )

    def moves(self, image: Shape) -> tuple[Shape, tuple[int, ...]]:
        """Return the axes of an image [h, w, c] split into blocks, and their order afterwards."""
        height, width, channels = image
        block = self.block
        split = (height // block, block, width // block, block, channels)
        return split, (0, 2, 1, 3, 4) if self.blocks_first else (0, 2, 4, 1, 3)


def _axis(shape: Shape, axis: int) -> int:
    if not 0 <= axis < len(shape):
        raise ModelError(f"the shape {list(shape)} has no axis {axis}")
    return axis
