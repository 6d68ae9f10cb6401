"""Maximum and average over windows of an image, or over all of it (global pooling)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from . import base
from .base import Operator, Pads, Pair, Shape


@dataclass(frozen=True)
class Pool(Operator):
    """kind "max" or "average" over windows.

    ceil: a window that is cut at the end counts too. count_pads: the divisor of an average counts
    the cells of `pads` that a window covers (never what lies beyond them); otherwise only cells
    of the image. A global pooling has a kernel as large as the image.
    """

    kind: str
    kernel: Pair
    stride: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    ceil: bool = False
    count_pads: bool = False
    layout: str = "NHWC"

    def shape(self, *inputs: Shape) -> Shape:
        """Return [height, width, channels] in the order of the layout."""
        if self.kind not in ("max", "average"):
            raise ModelError(f"there is no pooling {self.kind!r}; have: max, average")
        height, width, channels = base.image(inputs[0], self.layout)
        for kernel, before, after in zip(self.kernel, self.pads[:2], self.pads[2:]):
            if not (0 <= before < kernel and 0 <= after < kernel):
                raise ModelError(
                    f"its padding {before} and {after} is not below its kernel {kernel}"
                )
        return base.to_layout(*self._windows(height, width), channels, self.layout)

    def _windows(self, height: int, width: int) -> Pair:
        top, left, bottom, right = self.pads
        (tall, wide), (down, along) = self.kernel, self.stride
        return (
            base.windows(height, tall, down, (top, bottom), 1, self.ceil),
            base.windows(width, wide, along, (left, right), 1, self.ceil),
        )

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Tap by tap; cells outside the image are lowest (max) or zero (average)."""
        x = base.to_nhwc(inputs[0], self.layout)
        count = self._windows(*x.shape[1:3])
        if self.kind == "max":
            result = self._over_taps(np.maximum, self._take_cells(x, count, -np.inf), count)
        else:
            cells = np.ones((1, *x.shape[1:3], 1), x.dtype)
            if self.count_pads:
                cells = base.pad_images(cells, self.pads, 1.0)
                outer = self._take_cells(cells, count, 0.0, inside=self.pads)
            else:
                outer = self._take_cells(cells, count, 0.0)
            total = self._over_taps(np.add, self._take_cells(x, count, 0.0), count)
            result = total / self._over_taps(np.add, outer, count)
        return base.from_nhwc(result, self.layout)

    def _take_cells(
        self, x: np.ndarray, count: Pair, value: float, inside: Pads = (0, 0, 0, 0)
    ) -> np.ndarray:
        """Return all cells that a window touches; inside: padding that x already has."""
        top, left = self.pads[0] - inside[0], self.pads[1] - inside[1]
        reach = [(n - 1) * s + k for n, s, k in zip(count, self.stride, self.kernel)]
        bottom = max(reach[0] - top - x.shape[1], 0)
        right = max(reach[1] - left - x.shape[2], 0)
        return base.pad_images(x, (top, left, bottom, right), value)

    def _over_taps(self, ufunc: np.ufunc, x: np.ndarray, count: Pair) -> np.ndarray:
        taps = [(i, j) for i in range(self.kernel[0]) for j in range(self.kernel[1])]
        total: np.ndarray = base.tap(x, taps[0], self.stride, count).copy()
        for at in taps[1:]:
            ufunc(total, base.tap(x, at, self.stride, count), out=total)
        return total
