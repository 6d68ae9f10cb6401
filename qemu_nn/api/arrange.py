"""Samples of a user's data, brought into the layout and the type that a network takes."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Optional

import numpy as np

from ..errors import Error
from ..io.arguments import one_of
from ..ir.formats import Format

Shape = tuple[int, ...]


class Arrange:
    """Brings samples from the data's layout into the network's."""

    def __init__(
        self, shape: Shape, layout: Optional[str], given: Optional[str], own: Optional[Format]
    ) -> None:
        if given is not None:
            one_of(("NHWC", "NCHW"), given, "layout")
        self.shape, self.layout, self.given, self.own = shape, layout, given, own

    def image_shape(self, path: Path) -> tuple[int, int, int]:
        """Height, width and channels of the images that the network takes."""
        if self.layout is None:
            raise Error(f"{path} holds images, but the network takes {list(self.shape)}")
        a, b, c = self.shape
        height, width, channels = (a, b, c) if self.layout == "NHWC" else (b, c, a)
        if channels not in (1, 3):
            raise Error(f"images have 1 or 3 channels, but the network takes {channels}")
        return height, width, channels

    def _shapes(self) -> dict[Optional[str], Shape]:
        """Layout of the data -> the shape of samples in it; the network's own comes first."""
        if self.layout is None:
            return {None: self.shape}
        a, b, c = self.shape
        other = {"NHWC": ("NCHW", (c, a, b)), "NCHW": ("NHWC", (b, c, a))}[self.layout]
        shapes: dict[Optional[str], Shape] = {self.layout: self.shape, other[0]: other[1]}
        return shapes if self.given is None else {self.given: shapes[self.given]}

    def of(self, shape: Shape) -> Optional[str]:
        """The layout of such samples; Error if there is none, or more than one."""
        shapes = self._shapes()
        fits = [
            layout
            for layout, wanted in shapes.items()
            if shape in (wanted, *(_dropped(wanted, axis) for axis in (0, -1)))
        ]
        if not fits:
            wanted = " or ".join(f"{list(s)}{f' ({n})' if n else ''}" for n, s in shapes.items())
            raise Error(f"the network takes samples {wanted}, but the data have {list(shape)}")
        if len(fits) > 1 and 1 not in self.shape and self.own is None:  # 1: the same in both
            raise Error(f"images {list(shape)} fit the network as NHWC and as NCHW; give layout=")
        return fits[0]

    def __call__(self, x: np.ndarray, name: Callable[[int], str]) -> np.ndarray:
        """Samples as float32 (float64 stays) in the network's shape; name: what errors call the
        sample of a row."""
        if x.dtype.kind not in "fiub":
            raise Error(f"the data must be real numbers, not {x.dtype}")
        rounded = x.dtype.kind != "f"  # integers are finite
        if self.own is not None and x.dtype == self.own.dtype:
            x = self.own.dequantize(x)
        x = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
        if not rounded and not np.isfinite(x).all():
            bad = int(np.argwhere(~np.isfinite(x.reshape(len(x), -1)).all(1))[0, 0])
            what = "NaN" if np.isnan(x[bad]).any() else "infinite numbers"
            raise Error(f"{name(bad)} contains {what}")
        if self.of(x.shape[1:]) != self.layout and x.ndim == 4:
            x = np.moveaxis(x, 1, -1) if self.layout == "NHWC" else np.moveaxis(x, -1, 1)
        return x.reshape(len(x), *self.shape)


def _dropped(shape: Shape, axis: int) -> Optional[Shape]:
    """The shape without an axis at one of its ends, if that has one element."""
    if not shape or shape[axis] != 1:
        return None
    return shape[1:] if axis == 0 else shape[:-1]
