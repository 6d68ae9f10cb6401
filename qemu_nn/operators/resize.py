"""Images resized by the nearest pixel, or by the four pixels around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from . import base
from .base import Operator, Pair, Shape


@dataclass(frozen=True)
class Resize(Operator):
    """kind "nearest" or "bilinear", to a size (height, width).

    half_pixel: pixel i is centered at i + 1/2 in both images. align_corners: the centers of the
    corner pixels coincide. Neither: their outer corners at the top left do.
    """

    kind: str
    size: Pair
    align_corners: bool = False
    half_pixel: bool = False
    layout: str = "NHWC"

    def shape(self, *inputs: Shape) -> Shape:
        """Return [height, width, channels] in the order of the layout."""
        if self.kind not in ("nearest", "bilinear"):
            raise ModelError(f"there is no resizing {self.kind!r}; have: nearest, bilinear")
        if self.align_corners and self.half_pixel:
            raise ModelError("it has both align_corners and half_pixel; at most one is possible")
        if min(self.size) < 1:
            raise ModelError(f"its size {list(self.size)} must be 1 or more")
        return base.to_layout(*self.size, base.image(inputs[0], self.layout)[2], self.layout)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return rows, then columns."""
        x = base.to_nhwc(inputs[0], self.layout)
        for axis, out in enumerate(self.size, 1):
            flags = (x.shape[axis], out, self.align_corners, self.half_pixel)
            if self.kind == "nearest":
                x = np.take(x, find_nearest(*flags), axis=axis)
            else:
                blended = np.tensordot(x, make_weights(*flags).astype(x.dtype), (axis, 1))
                x = np.moveaxis(blended, -1, axis)
        return base.from_nhwc(x, self.layout)


def find_nearest(size: int, out: int, align_corners: bool, half_pixel: bool) -> tuple[int, ...]:
    """Return the pixel of each output pixel along an axis, as TensorFlow Lite computes it in
    float32.
    """
    inner = int(align_corners and out > 1)
    scale = float(np.float32((size - inner) / (out - inner)))
    places = np.float32((np.arange(out) + 0.5 * half_pixel) * scale).astype(float)
    found = np.floor(places + 0.5 * align_corners).astype(int)
    return tuple(np.minimum(found, size - 1).tolist())


def make_weights(size: int, out: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Return weights [out, size] of the pixels of a bilinear resizing along an axis."""
    inner = int(align_corners and out > 1)
    half = 0.5 * half_pixel
    places = (np.arange(out) + half) * ((size - inner) / (out - inner)) - half
    low = np.clip(np.floor(places).astype(int), 0, size - 1)
    part = np.clip(places - low, 0, 1)
    weights = np.zeros((out, size))
    np.add.at(weights, (np.arange(out), low), 1 - part)
    np.add.at(weights, (np.arange(out), np.minimum(low + 1, size - 1)), part)
    return weights
