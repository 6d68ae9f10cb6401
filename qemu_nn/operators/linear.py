"""Convolutions of all kinds, fully connected layers, and products of two tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..errors import ModelError
from . import base
from .base import Operator, Pads, Pair, Shape

#: Most channels of a convolution computed as one matrix product, and most cells of that product (4
#: MiB of float64). More channels use a matrix product for each tap.
_FEW, _CELLS = 32, 1 << 19


#: Most elements of an image with zeros between its pixels.
_MOST_SPREAD = 1 << 26


@dataclass(frozen=True)
class Conv(Operator):
    """A convolution; weights [out, y, x, in / groups], bias [out].

    groups = in channels makes it depthwise: output channel c * multiplier + m is computed from
    channel c. pads: cells of zero around the image. layout: of the image.
    """

    weights: np.ndarray = field(repr=False)
    bias: Optional[np.ndarray] = field(default=None, repr=False)
    stride: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    layout: str = "NHWC"

    @property
    def kernel(self) -> Pair:
        """Rows and columns of the kernel."""
        return (self.weights.shape[1], self.weights.shape[2])

    @property
    def depthwise(self) -> bool:
        """True if each output channel reads one input channel of several."""
        return self.groups > 1 and self.weights.shape[3] == 1

    def shape(self, *inputs: Shape) -> Shape:
        """Return [height, width, out] in the order of the layout."""
        if self.weights.ndim != 4:
            raise ModelError(
                f"its weights have the shape {list(self.weights.shape)}, but must have 4 axes"
            )
        height, width, channels = base.image(inputs[0], self.layout)
        out, _, _, depth = self.weights.shape
        if self.groups < 1 or depth * self.groups != channels or out % self.groups:
            raise ModelError(
                f"its weights {list(self.weights.shape)} [out, y, x, in / groups] in {self.groups} "
                f"groups do not fit an image of {channels} channels"
            )
        base.check_array("its bias", self.bias, (out,))
        return base.to_layout(*self._windows(height, width), out, self.layout)

    def _windows(self, height: int, width: int) -> Pair:
        top, left, bottom, right = self.pads
        (tall, wide), (down, along), (dy, dx) = self.kernel, self.stride, self.dilation
        return (
            base.windows(height, tall, down, (top, bottom), dy, ceil=False),
            base.windows(width, wide, along, (left, right), dx, ceil=False),
        )

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Compute by matrix products: of all taps at once, or tap by tap for many channels."""
        x = base.to_nhwc(inputs[0], self.layout)
        count = self._windows(*x.shape[1:3])
        x = base.pad_images(x, self.pads)
        weights = self.weights.astype(x.dtype, copy=False)
        at_once = self.groups == 1 and x.shape[3] <= _FEW
        result = (self._of_windows if at_once else self._of_channels)(x, weights, count)
        if self.bias is not None:
            rows = result.reshape(len(result), math.prod(result.shape[1:]))
            rows += np.tile(self.bias.astype(x.dtype, copy=False), math.prod(count))
        return base.from_nhwc(result, self.layout)

    def _of_windows(self, x: np.ndarray, weights: np.ndarray, count: Pair) -> np.ndarray:
        """Return each window as a row of a matrix, some samples at a time."""
        out, rows = len(weights), self._taps(x, count)
        columns = weights.reshape(out, -1).T
        result = np.empty((len(x), *count, out), x.dtype)
        step = max(_CELLS // max(rows[:1].size, 1), 1)
        for i in range(0, len(x), step):
            part = rows[i : i + step].reshape(-1, len(columns))
            np.matmul(part, columns, result[i : i + step].reshape(-1, out))
        return result

    def _taps(self, x: np.ndarray, count: Pair) -> np.ndarray:
        """Return a view of the cells of each window [N, *count, y, x, in]."""
        span = tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel))
        rows = sliding_window_view(x, span, (1, 2))
        rows = rows[:, :: self.stride[0], :: self.stride[1]][:, : count[0], : count[1]]
        rows = rows[..., :: self.dilation[0], :: self.dilation[1]]
        taps: np.ndarray = rows.transpose(0, 1, 2, 4, 5, 3)
        return taps

    def _of_channels(self, x: np.ndarray, weights: np.ndarray, count: Pair) -> np.ndarray:
        """Return a product of matrices for each tap and, unless a group is one channel, each
        group.
        """
        out, tall, wide, depth = weights.shape
        weights = weights.reshape(self.groups, -1, tall, wide, depth).transpose(2, 3, 0, 4, 1)
        total = np.zeros((*x.shape[:1], *count, self.groups, out // self.groups), x.dtype)
        for i in range(tall):
            for j in range(wide):
                at = (i * self.dilation[0], j * self.dilation[1])
                cells = base.tap(x, at, self.stride, count)
                cells = cells.reshape(*cells.shape[:3], self.groups, depth)
                if depth == 1:
                    total += cells * weights[i, j, :, 0]
                elif self.groups == 1:
                    total[..., 0, :] += self._product(cells[..., 0, :], weights[i, j, 0])
                else:
                    total += self._product(cells[..., None, :], weights[i, j])[..., 0, :]
        return total.reshape(*total.shape[:3], out)

    def _product(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.asarray(np.matmul(x, weights))


@dataclass(frozen=True)
class ConvTranspose(Operator):
    """A transposed convolution; weights [out, y, x, in / groups], bias [out].

    Pixel (y, x) of the input adds its products to the output from (y * stride, x * stride) on. pads
    crop this output; negative ones extend it, as output padding does.
    """

    weights: np.ndarray = field(repr=False)
    bias: Optional[np.ndarray] = field(default=None, repr=False)
    stride: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    layout: str = "NHWC"

    @property
    def kernel(self) -> Pair:
        """Rows and columns of the kernel."""
        return (self.weights.shape[1], self.weights.shape[2])

    def shape(self, *inputs: Shape) -> Shape:
        """Return [height, width, out] in the order of the layout."""
        height, width, channels = base.image(inputs[0], self.layout)
        spread = ((height - 1) * self.stride[0] + 1, (width - 1) * self.stride[1] + 1, channels)
        if min(self.stride) < 1 or math.prod(spread) > _MOST_SPREAD:
            raise ModelError(
                f"its stride {list(self.stride)} must be 1 or more, and its image {list(spread)} "
                f"between strides may have at most {_MOST_SPREAD} elements"
            )
        rows, columns, out = self._forward().shape(spread)
        return base.to_layout(rows, columns, out, self.layout)

    def _forward(self) -> Conv:
        """Return the convolution over the image with zeros between its pixels."""
        if self.weights.ndim != 4 or min(self.dilation) < 1:
            raise ModelError(
                f"its weights {list(self.weights.shape)} must have 4 axes, and its dilation "
                f"{list(self.dilation)} must be 1 or more"
            )
        reach = [(side - 1) * step for side, step in zip(self.kernel, self.dilation)]
        top, left, bottom, right = self.pads
        pads = (reach[0] - top, reach[1] - left, reach[0] - bottom, reach[1] - right)
        turned = self.weights[:, ::-1, ::-1]
        return Conv(turned, self.bias, (1, 1), pads, self.dilation, self.groups)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Compute as a convolution over the image with zeros between its pixels."""
        x = base.to_nhwc(inputs[0], self.layout)
        samples, height, width, channels = x.shape
        down, along = self.stride
        spread = ((height - 1) * down + 1, (width - 1) * along + 1)
        cells = np.zeros((samples, *spread, channels), x.dtype)
        cells[:, ::down, ::along] = x
        return base.from_nhwc(self._forward().evaluate(cells), self.layout)


@dataclass(frozen=True)
class MatMul(Operator):
    """Product of two tensors over their last two axes; axes before these broadcast.

    transposed: the second tensor is [..., out, in] instead of [..., in, out].
    """

    transposed: bool = False

    def shape(self, *inputs: Shape) -> Shape:
        """Return [..., rows, out]; both inputs have equally many axes."""
        first, second = inputs
        if len(first) == len(second) >= 2:
            depth, columns = second[::-1][:2] if self.transposed else second[-2:]
            try:
                outer = np.broadcast_shapes(first[:-2], second[:-2])
                if first[-1] == depth:
                    return (*outer, first[-2], columns)
            except ValueError:
                pass
        raise ModelError(
            f"its inputs have the shapes {list(first)} and {list(second)}, which cannot be "
            "multiplied: the inner axes must be equal"
        )

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the products."""
        first, second = inputs
        right = np.swapaxes(second, -1, -2) if self.transposed else second
        return np.asarray(np.matmul(first, right))


@dataclass(frozen=True)
class Dense(Operator):
    """A fully connected layer over the last axis; weights [out, in], bias [out]."""

    weights: np.ndarray = field(repr=False)
    bias: Optional[np.ndarray] = field(default=None, repr=False)

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's, with `out` elements on the last axis."""
        (shape,) = inputs
        if self.weights.ndim != 2 or not shape or shape[-1] != self.weights.shape[1]:
            raise ModelError(
                f"its weights {list(self.weights.shape)} must be [out, in] with as many "
                f"inputs as the last axis of {list(shape)}"
            )
        base.check_array("its bias", self.bias, self.weights.shape[:1])
        return (*shape[:-1], self.weights.shape[0])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return one product of matrices."""
        (x,) = inputs
        result = np.asarray(np.matmul(x, self.weights.T.astype(x.dtype, copy=False)))
        return result if self.bias is None else result + self.bias.astype(x.dtype, copy=False)
