"""Arrays that calls read and write, by name: shape, type and number format."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..errors import ModelError
from .formats import BITS, Format, limits, power_of_two

#: Types of elements. Integers without a format have their own values.
DTYPES = (*BITS, "uint8", "uint32", "int64", "uint64", "float32", "bool")

#: The file's axes of an image with channels last, if the file has its channels first.
CHANNELS_LAST = (1, 2, 0)

#: Most bytes of one tensor, and of all of a firmware's buffers: more than any microcontroller has.
MEMORY_LIMIT = 256 * 2**20


def make_free_name(name: str, taken: Container[str]) -> str:
    """Return an unused name: this one, or a similar one."""
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True)
class Tensor:
    """A named array: shape of one sample (HWC for images), dtype and format.

    The format of integers, if known, is a number of fraction bits, or affine: the value of an
    integer q is scale * (q - zero_point). order: the source file's axis of each axis, if the memory
    order differs; () if both are equal.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    frac: Optional[int] = None
    scale: Optional[float] = None
    zero_point: int = 0
    order: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of one sample."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def logical(self) -> tuple[int, ...]:
        """The shape with the source file's order of axes."""
        return tuple(self.shape[self.order.index(a)] for a in range(len(self.order))) or self.shape

    def to_memory(self, x: np.ndarray) -> np.ndarray:
        """Return samples [*axes, *logical] with their axes in memory order."""
        lead = x.ndim - len(self.order)
        return x.transpose(*range(lead), *(lead + a for a in self.order)) if self.order else x

    def from_memory(self, x: np.ndarray) -> np.ndarray:
        """Return the way back."""
        lead = x.ndim - len(self.order)
        back = np.argsort(self.order).tolist()
        return x.transpose(*range(lead), *(lead + a for a in back)) if self.order else x

    @property
    def format(self) -> Format:
        """Format of its integers; plain integers if the format is unknown."""
        if self.scale is not None:
            return Format(self.dtype, self.scale, self.zero_point)
        return power_of_two(self.dtype, self.frac or 0)

    @property
    def spelled(self) -> Optional[str]:
        """Format as text, Q0.7 or int8 0.0235*(q+128); None if unknown."""
        if self.scale is not None:
            return f"{self.dtype} {self.format}"
        return None if self.frac is None else str(self.format)


def check_tensor(where: str, tensor: Tensor) -> None:
    """Raise ModelError, beginning with `where`, for a tensor that is not valid in any network."""
    if tensor.dtype not in DTYPES:
        raise ModelError(f"{where} is {tensor.dtype}; have: {', '.join(DTYPES)}")
    if tensor.frac is not None and abs(tensor.frac) > 64:
        raise ModelError(
            f"{where} has {tensor.frac} fraction bits, but a tensor has -64 to 64: its values are "
            "too small or too large for a power of two; scheme='affine' has scales for them"
        )
    if tensor.scale is not None and not (0 < tensor.scale < math.inf and tensor.frac is None):
        raise ModelError(
            f"{where} has the scale {tensor.scale} and {tensor.frac} fraction bits; it needs "
            "one of them"
        )
    low, high = limits(tensor.dtype) if tensor.scale is not None else (0, 0)
    if not low <= tensor.zero_point <= high:
        raise ModelError(
            f"{where} has the zero point {tensor.zero_point}, which its type {tensor.dtype} "
            "cannot represent"
        )
    if not all(axis > 0 for axis in tensor.shape):
        raise ModelError(
            f"{where} has the shape {list(tensor.shape)}; axes must be integers of 1 or more"
        )
    if tensor.order and sorted(tensor.order) != list(range(len(tensor.shape))):
        raise ModelError(
            f"{where} has the axis order {list(tensor.order)}; it must be a permutation of its "
            f"{len(tensor.shape)} axes"
        )
    if len(tensor.shape) > 8 or tensor.nbytes > MEMORY_LIMIT:
        raise ModelError(
            f"{where} has {len(tensor.shape)} axes and {tensor.nbytes} bytes, more than the limits"
        )
