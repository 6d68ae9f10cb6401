"""The base class of operators, and the windows of convolutions and poolings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Optional

import numpy as np

from ..errors import ModelError

#: The shape of one sample, without the batch axis.
Shape = tuple[int, ...]
#: (vertical, horizontal)
Pair = tuple[int, int]
#: Rows above, columns left, rows below, columns right; negative ones crop.
Pads = tuple[int, int, int, int]

LAYOUTS = ("NHWC", "NCHW")


class Operator(ABC):
    """One operator of a float network; subclasses are frozen dataclasses of its attributes.

    Fields are integers, floats, strings, booleans, tuples of these, None, or float arrays. Shapes
    and axes are those of one sample: axis 0 is the first after the batch; axes are not negative.
    """

    @abstractmethod
    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the output; raise ModelError with the reason if the inputs do not
        fit.
        """

    @abstractmethod
    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the output [N, *shape] of inputs [N, *shape], in their own floating type."""


def image(shape: Shape, layout: str) -> tuple[int, int, int]:
    """Return (height, width, channels) of an image's shape."""
    if len(shape) != 3:
        raise ModelError(f"its input has the shape {list(shape)}, but must be an image of 3 axes")
    return shape if layout == "NHWC" else (shape[1], shape[2], shape[0])


def to_layout(height: int, width: int, channels: int, layout: str) -> Shape:
    """Return the inverse of image()."""
    return (height, width, channels) if layout == "NHWC" else (channels, height, width)


def to_nhwc(x: np.ndarray, layout: str) -> np.ndarray:
    """Return images [N, ...] of a layout, channels last."""
    return x if layout == "NHWC" else np.moveaxis(x, 1, -1)


def from_nhwc(x: np.ndarray, layout: str) -> np.ndarray:
    """Return images [N, ...], channels last, in a layout."""
    return x if layout == "NHWC" else np.moveaxis(x, -1, 1)


def windows(size: int, kernel: int, stride: int, pads: Pair, dilation: int, ceil: bool) -> int:
    """Return the number of windows along an axis; ceil: including one that is cut at the end.

    A cut window counts only if it starts before the padding after the image, as in Caffe, ONNX and
    PyTorch.
    """
    before, after = pads
    span = dilation * (kernel - 1) + 1
    spare = size + before + after - span
    if min(kernel, stride, dilation) < 1 or spare < 0:
        raise ModelError(
            f"a window of {kernel} (stride {stride}, dilation {dilation}) is larger than "
            f"{size} elements padded by {before} and {after}"
        )
    if not ceil:
        return spare // stride + 1
    count = -(-spare // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def compute_same_pads(
    size: Pair, kernel: Pair, stride: Pair, dilation: Pair = (1, 1), odd_first: bool = False
) -> Pads:
    """Return padding "same": ceil(size / stride) windows, with the odd cell after the image.

    odd_first: the odd cell is before it (ONNX's SAME_LOWER).
    """
    before, after = [], []
    for length, taps, step, spread in zip(size, kernel, stride, dilation):
        total = max((-(-length // step) - 1) * step + spread * (taps - 1) + 1 - length, 0)
        small, large = total // 2, total - total // 2
        before.append(large if odd_first else small)
        after.append(small if odd_first else large)
    return (before[0], before[1], after[0], after[1])


def pad_images(x: np.ndarray, pads: Pads, value: float = 0.0) -> np.ndarray:
    """Return images NHWC with cells of `value` around them; negative pads crop."""
    top, left, bottom, right = pads
    height, width = x.shape[1:3]
    x = x[:, max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)]
    if max(pads) <= 0:
        return x
    top, left, bottom, right = (max(pad, 0) for pad in pads)
    samples, height, width, channels = x.shape
    result = np.full(
        (samples, top + height + bottom, left + width + right, channels), value, x.dtype
    )
    result[:, top : top + height, left : left + width] = x
    return result


def tap(x: np.ndarray, at: Pair, stride: Pair, count: Pair) -> np.ndarray:
    """Return the cell at `at` of each of count x count windows over padded images NHWC."""
    (y, x0), (down, right) = at, stride
    rows = slice(y, y + (count[0] - 1) * down + 1, down)
    return x[:, rows, x0 : x0 + (count[1] - 1) * right + 1 : right]


def check_array(name: str, value: Optional[np.ndarray], shape: Shape) -> None:
    """Check that an array of an operator has the shape that its other fields require."""
    if value is not None and value.shape != shape:
        raise ModelError(f"{name} has the shape {list(value.shape)}, but must have {list(shape)}")
