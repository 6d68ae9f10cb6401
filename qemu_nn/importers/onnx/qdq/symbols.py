"""Values of names of a quantized file: integers, quantized constants, or floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Callable, Optional, Union

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from ....operators import Shape
from ...arguments import SUFFIXES
from ...tensor import Tensor

#: Order of the axes of an image [C, H, W] in memory: channels last.
LAST = (1, 2, 0)


@dataclass(frozen=True)
class Int:
    """Integers that a call makes, or the network's input.

    name: of the graph's tensor. shape: of one sample, as the file has it. order: which of its axes
    each axis in memory is. element: the file's type of these integers, where it has one.
    """

    name: str
    shape: Shape
    order: tuple[int, ...]
    format: Format
    element: str = ""

    @property
    def memory(self) -> Shape:
        """The shape in memory."""
        return tuple(self.shape[axis] for axis in self.order)

    @property
    def kind(self) -> str:
        """Suffix of functions of its type: s8, s16."""
        return SUFFIXES[self.format.dtype]

    @property
    def size(self) -> int:
        """Elements of one sample."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Real:
    """Real values of integers."""

    integers: Int


@dataclass(frozen=True)
class Fixed:
    """A constant of integers: data - zero, times scale, both for all or along an axis.

    dtype: what data fit, int8 or int16. raw: the file's type, if no DequantizeLinear has read them.
    """

    data: np.ndarray
    scale: np.ndarray
    zero: np.ndarray
    axis: int
    dtype: str = "int8"
    raw: str = ""

    @property
    def real(self) -> np.ndarray:
        """Return the values as float64."""
        found: np.ndarray = (self.data - self.along(self.zero)) * self.along(self.scale)
        return found

    @property
    def symmetric(self) -> np.ndarray:
        """The integers less their zero points."""
        found: np.ndarray = self.data - self.along(self.zero).astype(np.int64)
        return found

    def along(self, numbers: np.ndarray) -> np.ndarray:
        """Return one number, or numbers of the axis, in a shape that broadcasts to the data."""
        numbers = np.asarray(numbers, np.float64)
        if numbers.size == 1:
            return numbers.reshape(())
        shape = [1] * self.data.ndim
        shape[self.axis] = numbers.size
        return numbers.reshape(shape)


#: Makes the integers of a layer: their format, their name, and the real values that they keep.
Emit = Callable[[Format, str, tuple[float, float]], Int]


#: A function of each element, of float32.
Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Curve:
    """A function of the real values of integers, element by element."""

    x: Int
    function: Function


@dataclass(frozen=True)
class Pending:
    """Floats of a layer that no QuantizeLinear has read yet.

    clamps: whether its call clamps. matrix: a product that may still get a bias. curve: the
    function of one tensor that they are. real: adds the calls of float32 that make them.
    """

    emit: Emit
    shape: Shape
    clamps: bool = False
    ends: tuple[float, float] = (-math.inf, math.inf)
    matrix: Union[Callable[[np.ndarray], Emit], None] = field(default=None)
    curve: Optional[Curve] = None
    real: Optional[Callable[[], Int]] = None


@dataclass(frozen=True)
class Outside:
    """Floats that the host computes: before the network's inputs, or after its outputs."""

    tensor: Tensor
    before: bool


@dataclass(frozen=True)
class Refused:
    """An output of a node that is refused."""


#: Value of a name of the file.
Value = Union[Int, Real, Fixed, Pending, Outside, Refused, np.ndarray]


def order_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how the axes of a sample lie in memory: images have their channels last."""
    return LAST if len(shape) == 3 else tuple(range(len(shape)))


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape that all of these broadcast to."""
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        names = " and ".join(str(list(shape)) for shape in shapes)
        raise ModelError(
            f"its inputs have the shapes {names}; they must broadcast to one"
        ) from None
