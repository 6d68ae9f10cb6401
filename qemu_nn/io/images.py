"""Images from files, decoded in threads ahead of their use, and kept in a cache."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from ..errors import Error
from . import files
from .listing import FileSource
from .optional_deps import require
from .sample_cache import SampleCache
from .selection import Indices

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: Suffixes of image files.
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm")

#: Most pixels of an image, and the most bytes of a file that is looked up in the cache.
_PIXELS, _FILE = 2**26, 2**26

#: Fewest pixels of an image that is stored: a smaller one is decoded as fast as it is looked up.
_STORED = 2**14

#: Form of the cache's entries: a change of decoding is a new number.
_FORM = 1

#: Starts of Pillow's mode names for more than 8 bits a pixel; conversion would clip these at 255.
_DEEP = ("I", "F")

#: Most threads, images of a task, and most groups of images that are started and not taken.
_THREADS, _PART, _AHEAD = 16, 4, 32


#: An array of images, and the tasks that fill it.
_Decoding = tuple[np.ndarray, list["Future[None]"]]


@dataclass(frozen=True, eq=False)
class ImageSource(FileSource):
    """Images as uint8 [N, height, width, channels]: grey or RGB, values 0..255.

    fit: a Preprocessing that resizes and crops, if it has a size or a crop. store: the cache, if
    one is used.
    """

    shape: tuple[int, int, int]
    fit: Any = None
    store: Optional[SampleCache] = None
    _started: _Started = field(default_factory=lambda: _Started(), init=False, repr=False)

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
        key = bytes(np.asarray(which, np.int64))
        out, parts = self._started.get(key) or self._start(which)
        for part in parts:
            part.result()
        self._started.drop(key)
        return out

    def prepare(self, which: Indices) -> None:
        """Start to decode images that take() will return."""
        self._started.put(bytes(np.asarray(which, np.int64)), lambda: self._start(which))

    def _start(self, which: Indices) -> _Decoding:
        image = require("PIL.Image", "images", "reading images")
        out = np.empty((len(which), *self.shape), np.uint8)
        paths = [self.listing.files[number] for number in which]
        start = b"" if self.store is None else self._key_start
        parts = [slice(first, first + _PART) for first in range(0, len(paths), _PART)]
        submit = _open_pool(os.getpid()).submit
        return out, [submit(self._read, image, paths[part], start, out[part]) for part in parts]

    def _read(self, image: Any, paths: Sequence[Path], start: bytes, out: np.ndarray) -> None:
        """Fill an array with images; start: of their keys in the cache."""
        for path, row in zip(paths, out):
            self._read_one(image, path, start, row)

    def _read_one(self, image: Any, path: Path, start: bytes, out: np.ndarray) -> None:
        """Decode an image into an array, or copy it from the cache."""
        try:
            with files.open_regular(path) as file:
                content = b"" if self.store is None else file.read(_FILE + 1)
                if self.store is None or len(content) > _FILE:
                    file.seek(0)
                    out[...] = self._decode(image, path, file)[0]
                    return
            key = hashlib.sha256(start + content).digest()
            pixels = self.store.read(key, self.shape)
            if pixels is None:
                pixels, size = self._decode(image, path, io.BytesIO(content))
                if size >= _STORED:
                    self.store.write(key, pixels)
            out[...] = pixels
        except Error:
            raise
        except Exception as error:  # each of Pillow's formats raises its own errors
            reason = files.get_reason(error) or type(error).__name__
            if type(error).__name__ == "UnidentifiedImageError":  # which names the memory it reads
                reason = "it has no known format"
            raise Error(f"cannot read the image {path}: {reason}") from None

    def _decode(self, image: Any, path: Path, file: Any) -> tuple[np.ndarray, int]:
        """Return an image of the network's size, and the number of its pixels in the file."""
        with image.open(file) as opened:
            self._check(opened, path)
            grey = self.shape[2] == 1
            picture = opened.convert("L" if grey else "RGB")
        size = picture.size[0] * picture.size[1]
        if self._fits:
            picture = self.fit.resize_picture(picture)
        pixels = np.asarray(picture)
        pixels = pixels.reshape(*pixels.shape[:2], self.shape[2])
        if self._fits:
            pixels = self.fit.crop_image(pixels)
        height, width = pixels.shape[:2]
        if pixels.shape != self.shape:
            has = "becomes" if self._fits else "is"
            raise Error(
                f"{path} {has} {width} x {height} pixels, but the network takes {self.shape[1]} x "
                f"{self.shape[0]}: give a preprocessing with size= or crop="
            )
        return pixels, size

    @property
    def _fits(self) -> bool:
        return self.fit is not None and (self.fit.size or self.fit.crop) is not None

    @property
    def _key_start(self) -> bytes:
        """Start of the keys in the cache: all that decides the pixels, besides the file's bytes."""
        sides = (self.fit.size, self.fit.crop) if self._fits else None
        return json.dumps([_FORM, *_list_decoders(), self.shape, sides]).encode() + b"\n"

    def _check(self, opened: Any, path: Path) -> None:
        """Raise Error for an image that is too large or would lose bits."""
        width, height = opened.size
        if width * height > _PIXELS:
            raise Error(
                f"{path} has {width} x {height} pixels; at most {_PIXELS} are read: make the "
                "image smaller"
            )
        if opened.mode.startswith(_DEEP):
            raise Error(
                f"{path} has more than 8 bits for each channel; 8 are read: convert it, or give "
                "a .npy file"
            )


class _Started:
    """Groups of images that are being decoded, by their numbers; a pickle contains none."""

    def __init__(self) -> None:
        self._groups: dict[bytes, _Decoding] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Started, ()

    def get(self, key: bytes) -> Optional[_Decoding]:
        """Return a group, if it was started."""
        return self._groups.get(key)

    def put(self, key: bytes, start: Callable[[], _Decoding]) -> None:
        """Start a group, unless it is; forget the oldest of too many."""
        with self._lock:
            if key not in self._groups:
                self._groups[key] = start()
            if len(self._groups) > _AHEAD:
                del self._groups[next(iter(self._groups))]

    def drop(self, key: bytes) -> None:
        """Forget a group that was taken."""
        with self._lock:
            self._groups.pop(key, None)


@cache
def _open_pool(process: int) -> ThreadPoolExecutor:
    """Return the threads that decode in a process; Pillow decodes without the GIL."""
    from concurrent.futures import ThreadPoolExecutor  # imported here: few programs need it

    return ThreadPoolExecutor(min(os.cpu_count() or 1, _THREADS), "qemu_nn-images")


@cache
def _list_decoders() -> tuple[str, ...]:
    """Return the versions of the decoders, and the machine that they are compiled for."""
    pillow: Any = require("PIL", "images", "reading images")
    features: Any = require("PIL.features", "images", "reading images")
    return pillow.__version__, str(features.version("jpg")), platform.machine()
