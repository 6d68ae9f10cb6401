"""Images from files, read on demand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error
from . import files
from .listing import FileSource
from .optional_deps import require
from .selection import Indices

#: Suffixes of image files.
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm")

#: Most pixels of an image.
_PIXELS = 2**26

#: Starts of Pillow's mode names for more than 8 bits a pixel; conversion would clip these at 255.
_DEEP = ("I", "F")


@dataclass(frozen=True, eq=False)
class ImageSource(FileSource):
    """Images as uint8 [N, height, width, channels]: grey or RGB, values 0..255.

    fit: a preprocessing whose resize_image() resizes and crops, if it has a size or a crop.
    """

    shape: tuple[int, int, int]
    fit: Any = None

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return np.dtype(np.uint8)

    @property
    def whole(self) -> tuple[int, ...]:
        """Shape of all samples together."""
        return (len(self), *self.shape)

    def take(self, which: Indices) -> np.ndarray:
        """Return the images with these numbers, [n, height, width, channels]."""
        image = require("PIL.Image", "images", "reading images")
        return np.stack([self._read(image, self.listing.files[number]) for number in which])

    def _read(self, image: Any, path: Path) -> np.ndarray:
        try:
            files.check_regular(path)
            with image.open(path) as opened:
                self._check(opened, path)
                grey = self.shape[2] == 1
                pixels = np.asarray(opened.convert("L" if grey else "RGB"))
            pixels = pixels.reshape(*pixels.shape[:2], self.shape[2])
            if self._fits:
                pixels = self.fit.resize_image(pixels)
        except Error:
            raise
        except Exception as error:  # each of Pillow's formats raises its own errors
            reason = files.get_reason(error) or type(error).__name__
            raise Error(f"cannot read the image {path}: {reason}") from None
        height, width = pixels.shape[:2]
        if pixels.shape != self.shape:
            has = "becomes" if self._fits else "is"
            raise Error(
                f"{path} {has} {width} x {height} pixels, but the network takes {self.shape[1]} x "
                f"{self.shape[0]}: give a preprocessing with size= or crop="
            )
        return pixels

    @property
    def _fits(self) -> bool:
        return self.fit is not None and (self.fit.size or self.fit.crop) is not None

    def _check(self, opened: Any, path: Path) -> None:
        """Raise Error for an image that is too large or would lose bits."""
        width, height = opened.size
        if width * height > _PIXELS:
            raise Error(f"{path} has {width} x {height} pixels; at most {_PIXELS} are read")
        if opened.mode.startswith(_DEEP):
            raise Error(f"{path} has more than 8 bits a pixel: convert it, or give a .npy file")
