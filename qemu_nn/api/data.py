"""Calibration and test data of a user, as batches in the layout of the network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error
from ..io import files
from ..io.arguments import as_array, as_path, one_of
from ..io.arrays import map_array, read_npz
from ..io.extras import require
from ..ir.formats import Format
from ..ir.tensors import Tensor

#: Endings of image files in a folder.
_IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm")

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """Samples x, float [n, *shape], of several inputs by name, and their labels y, integers [n], if
    there are any."""

    x: Any
    y: Optional[np.ndarray] = None

    def __len__(self) -> int:
        return len(next(iter(self.x.values())) if isinstance(self.x, Mapping) else self.x)


class Batches:
    """An iterable of Batch, with a len() where it is known, for progress bars."""

    def __init__(self, start: Callable[[], Iterator[Batch]], count: Optional[int]) -> None:
        self._start = start
        self._count = count

    def __iter__(self) -> Iterator[Batch]:
        return self._start()

    def __len__(self) -> int:
        if self._count is None:
            raise TypeError("the data come from a generator, whose length is unknown")
        return self._count


def batches(
    source: Any,
    shape: Shape,
    layout: Optional[str],
    given: Optional[str] = None,
    size: int = 64,
    own: Optional[Format] = None,
) -> Batches:
    """Batches for a network whose samples have `shape`, in `layout` if they are images.

    source: a .npy file, or a .npz with x and perhaps y; a folder of images of the network's size,
    whose sub-folders, if any, are the classes; an array, or a pair of arrays (x, y); or any
    iterable of arrays [n, *shape] or of pairs. Files and generators are read as they are used,
    in memory that does not grow; a generator can be read once. given: the layout of images in the
    data, "NHWC" or "NCHW"; by default the one whose shape fits. own: the format of integers in the
    data, for a network without a float reference.

    Raises Error for other shapes, for images that fit both layouts, for NaN, and for no samples.
    """
    arrange = _Arrange(shape, layout, given, own)
    if isinstance(source, (str, os.PathLike)):
        path = as_path(source, "data")
        try:
            if path.is_dir():
                return _folder(path, arrange, size)
            source = _arrays(path)
        except OSError as error:
            raise Error(f"cannot read {path}: {files.reason(error)}") from None
    if isinstance(source, np.ndarray):
        return _slices(source, None, arrange, size)
    if isinstance(source, tuple) and len(source) == 2:
        x, y = source
        y = None if y is None else as_array(y, "labels")
        return _slices(as_array(x, "the data"), y, arrange, size)
    if not isinstance(source, Iterable):
        raise Error(f"data must be files, arrays or generators, not {type(source).__name__}")
    count = len(source) if isinstance(source, Sequence) else None
    return Batches(lambda: _stream(source, arrange), count)


def batches_by_name(source: Any, tensors: Sequence[Tensor], size: int = 64) -> Batches:
    """Batches for a network of integers with several inputs.

    source: an .npz file, or a dictionary, with an array for each input, by name or x0, x1, ..., of
    real numbers or of the input's own type, and perhaps the labels y. Raises Error as batches().
    """
    if isinstance(source, (str, os.PathLike)):
        source = read_npz(as_path(source, "data"))
    if not isinstance(source, Mapping):
        raise Error(f"the network has {len(tensors)} inputs: give an .npz file or a dictionary")
    arrays = of_inputs([tensor.name for tensor in tensors], source)
    arrange = {t.name: _Arrange(t.shape, None, None, t.format) for t in tensors}
    count = len(next(iter(arrays.values())))
    for name, x in arrays.items():
        if x.ndim == 0 or len(x) != count or not count:
            raise Error(f"the input {name!r} must hold as many samples as the others, 1 or more")
        arrange[name].of(x.shape[1:])
    labels = source.get("y")
    y = None if labels is None else _labels(as_array(labels, "labels"), count)

    def start() -> Iterator[Batch]:
        for i in range(0, count, size):
            part = slice(i, i + size)
            x = {name: arrange[name](array[part], i) for name, array in arrays.items()}
            yield Batch(x, None if y is None else y[part])

    return Batches(start, -(-count // size))


def of_inputs(names: Sequence[str], arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of several inputs by their names, from arrays called so, or x0, x1, ... in order;
    Error where they are missing."""
    for keys in (names, [f"x{number}" for number in range(len(names))]):
        if set(keys) <= set(arrays):
            return {name: as_array(arrays[key], key) for name, key in zip(names, keys)}
    have, quoted = ", ".join(map(str, arrays)) or "no arrays", ", ".join(map(repr, names))
    raise Error(f"the data hold {have}; name the inputs {quoted}, or x0, x1, ... in order")


def arranged(x: np.ndarray, shape: Shape) -> np.ndarray:
    """Real samples [N, ...] for a network that takes `shape`, channels last if that is an image.

    Their channels may come first, or each may be a batch of 1. Raises Error for other shapes, for
    NaN and for infinite numbers.
    """
    layout = "NHWC" if len(shape) == 3 else None
    if x.shape[1:] == (1, *shape):
        x = x.reshape(-1, *shape)
    return _Arrange(shape, layout, layout if x.shape[1:] == shape else None, None)(x, 0)


def _arrays(path: Path) -> tuple[np.ndarray, Optional[np.ndarray]]:
    """x, mapped where the file can be, and y."""
    if path.suffix == ".npy":
        return map_array(path), None
    arrays = read_npz(path)
    if "x" in arrays:
        return arrays["x"], arrays.get("y")
    if len(arrays) == 1:
        return next(iter(arrays.values())), None
    raise Error(f"{path} holds {', '.join(arrays) or 'no arrays'}; name the inputs 'x'")


def _slices(x: np.ndarray, y: Optional[np.ndarray], arrange: _Arrange, size: int) -> Batches:
    if x.ndim == 0 or not len(x):
        raise Error("the data hold no samples: the array is empty")
    arrange.of(x.shape[1:])
    labels = None if y is None else _labels(y, len(x))

    def start() -> Iterator[Batch]:
        for i in range(0, len(x), size):
            part = slice(i, i + size)
            yield Batch(arrange(x[part], i), None if labels is None else labels[part])

    return Batches(start, -(-len(x) // size))


def _stream(source: Iterable, arrange: _Arrange) -> Iterator[Batch]:
    done = 0
    for item in source:
        x, y = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        x = as_array(x, "the data")
        if x.ndim == 0:
            raise Error("the data must be arrays with an axis of samples, not numbers")
        arrange.of(x.shape[1:])
        yield Batch(arrange(x, done), None if y is None else _labels(as_array(y, "labels"), len(x)))
        done += len(x)


def _folder(path: Path, arrange: _Arrange, size: int) -> Batches:
    """Images, of classes if there are sub-folders; values 0..255."""
    image = require("PIL.Image", "images", "reading a folder of images")
    classes = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
    images = [
        (file, label)
        for label, folder in enumerate(classes or ["."])
        for file in sorted((path / folder).iterdir())
        if file.suffix.lower() in _IMAGES
    ]
    if not images:
        raise Error(f"{path} holds no images; an image ends in {', '.join(_IMAGES)}")
    height, width, channels = arrange.image_shape(path)

    def read(file: Path) -> np.ndarray:
        try:
            files.check_regular(file)
            with image.open(file) as opened:
                if opened.size != (width, height):
                    raise Error(
                        f"{file} is {opened.size[0]} x {opened.size[1]} pixels, but the network "
                        f"takes {width} x {height}"
                    )
                pixels = np.asarray(opened.convert("L" if channels == 1 else "RGB"), np.float32)
        except Error:
            raise
        except Exception as error:  # the reader of each format raises its own errors
            reason = files.reason(error) or type(error).__name__
            raise Error(f"cannot read the image {file}: {reason}") from None
        return pixels.reshape(height, width, channels)

    def start() -> Iterator[Batch]:
        left = iter(images)
        while part := list(islice(left, size)):
            x = np.stack([read(file) for file, _ in part])
            y = np.array([label for _, label in part]) if classes else None
            yield Batch(x if arrange.layout == "NHWC" else np.moveaxis(x, -1, 1), y)

    return Batches(start, -(-len(images) // size))


class _Arrange:
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

    def __call__(self, x: np.ndarray, first: int) -> np.ndarray:
        """Samples as float32 (float64 stays) in the network's shape; first: index of the first."""
        if x.dtype.kind not in "fiub":
            raise Error(f"the data must be real numbers, not {x.dtype}")
        if self.own is not None and x.dtype == self.own.dtype:
            x = self.own.dequantize(x)
        x = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
        if not np.isfinite(x).all():
            bad = int(np.argwhere(~np.isfinite(x.reshape(len(x), -1)).all(1))[0, 0])
            what = "NaN" if np.isnan(x[bad]).any() else "infinite numbers"
            raise Error(f"sample {first + bad} of the data contains {what}")
        if self.of(x.shape[1:]) != self.layout and x.ndim == 4:
            x = np.moveaxis(x, 1, -1) if self.layout == "NHWC" else np.moveaxis(x, -1, 1)
        return x.reshape(len(x), *self.shape)


def _dropped(shape: Shape, axis: int) -> Optional[Shape]:
    """The shape without an axis at one of its ends, if that has one element."""
    if not shape or shape[axis] != 1:
        return None
    return shape[1:] if axis == 0 else shape[:-1]


def _labels(y: np.ndarray, count: int) -> np.ndarray:
    if y.shape != (count,) or y.dtype.kind not in "iu":
        raise Error(
            f"labels must be one integer for each of the {count} samples, are {y.dtype} "
            f"{list(y.shape)}"
        )
    return y
