"""Calibration and test data of a user, as batches in the layout of the network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..io import files
from ..io.arguments import as_array, as_path
from ..io.images import IMAGES, ImageSource
from ..io.labels import TABLES, read_labels
from ..io.listing import listed
from ..io.mapped import map_npy, map_npz, map_shards, mapped_already
from ..io.selection import Selection
from ..io.sources import Held, Source
from ..ir.formats import Format
from ..ir.tensors import Tensor
from .arrange import Arrange, Shape
from .batches import Batch as Batch
from .batches import Batches as Batches
from .batches import Blocks as Blocks
from .batches import Samples, Stream, check_labels

#: Samples of a batch, if nobody says otherwise.
SIZE = 64


def batches(
    source: Any,
    shape: Shape,
    layout: Optional[str],
    given: Optional[str] = None,
    size: int = SIZE,
    own: Optional[Format] = None,
    *,
    labels: Any = None,
    selection: Optional[Selection] = None,
) -> Batches:
    """Batches for a network whose samples have `shape`, in `layout` if they are images.

    source: a .npy file, or a .npz with x and perhaps y; a folder of .npy files, one behind the
    other; a folder of images of the network's size, whose sub-folders, if any, are the classes; an
    array, or a pair of arrays (x, y); or any iterable of arrays [n, *shape] or of pairs. Files and
    generators are read as they are used, in memory that does not grow; a generator can be read
    once. given: the layout of images in the data, "NHWC" or "NCHW"; by default the one whose shape
    fits. own: the format of integers in the data, for a network without a float reference. labels:
    as read_labels() takes them; they count more than those of the data. selection: which samples.

    Raises Error for other shapes, for images that fit both layouts, for NaN, and for no samples.
    """
    arrange = Arrange(shape, layout, given, own)
    chosen = Selection() if selection is None else selection
    y, classes = (None, ()) if labels is None else read_labels(labels)
    try:
        found = _found(source, arrange)
    except OSError as error:
        raise Error(f"cannot read {source}: {files.reason(error)}") from None
    if found is None:
        if not isinstance(source, Iterable):
            raise Error(f"data must be files, arrays or generators, not {type(source).__name__}")
        return Stream(source, arrange, y, chosen)
    x, own_labels = found
    if not len(x):
        raise Error("the data hold no samples: the array is empty")
    if isinstance(x, ImageSource):  # pixels are real numbers, channels last
        arrange = Arrange(shape, layout, "NHWC", None)
    arrange.of(x.whole[1:])
    if y is None:
        y, classes = own_labels, x.classes
    return _batches({None: (x, arrange)}, y, classes, chosen, size)


def batches_by_name(
    source: Any,
    tensors: Sequence[Tensor],
    size: int = SIZE,
    *,
    labels: Any = None,
    selection: Optional[Selection] = None,
) -> Batches:
    """Batches for a network of integers with several inputs.

    source: an .npz file, or a dictionary, with an array for each input, by name or x0, x1, ..., of
    real numbers or of the input's own type, and perhaps the labels y. labels, selection: as
    batches() takes them. Raises Error as batches().
    """
    if isinstance(source, (str, os.PathLike)):
        path = as_path(source, "data")
        try:
            source = map_npz(path)
        except OSError as error:
            raise Error(f"cannot read {path}: {files.reason(error)}") from None
    if not isinstance(source, Mapping):
        raise Error(f"the network has {len(tensors)} inputs: give an .npz file or a dictionary")
    found = of_inputs([tensor.name for tensor in tensors], source)
    count = len(next(iter(found.values())))
    parts: dict[Optional[str], tuple[Source, Arrange]] = {}
    for tensor in tensors:
        x = found[tensor.name]
        if not x.whole or len(x) != count or not count:
            raise Error(
                f"the input {tensor.name!r} must hold as many samples as the others, 1 or more"
            )
        parts[tensor.name] = x, Arrange(tensor.shape, None, None, tensor.format)
        parts[tensor.name][1].of(x.whole[1:])
    y, classes = (None, ()) if labels is None else read_labels(labels)
    if y is None and "y" in source:
        y = _source(source["y"], "labels")
    return _batches(parts, y, classes, Selection() if selection is None else selection, size)


def of_inputs(names: Sequence[str], arrays: Mapping[str, Any]) -> dict[str, Source]:
    """The arrays of several inputs by their names, from arrays called so, or x0, x1, ... in order;
    Error where they are missing."""
    for keys in (names, [f"x{number}" for number in range(len(names))]):
        if set(keys) <= set(arrays):
            return {name: _source(arrays[key], key) for name, key in zip(names, keys)}
    have, quoted = ", ".join(map(str, arrays)) or "no arrays", ", ".join(map(repr, names))
    raise Error(f"the data hold {have}; name the inputs {quoted}, or x0, x1, ... in order")


def _batches(
    parts: Mapping[Optional[str], tuple[Source, Arrange]],
    labels: Optional[Source],
    classes: tuple[str, ...],
    selection: Selection,
    size: int,
) -> Batches:
    count = len(next(iter(parts.values()))[0])
    if labels is not None:
        check_labels(labels, count)
    return Batches(Blocks(Samples(parts, labels), selection.of(count), size), classes)


def _found(source: Any, arrange: Arrange) -> Optional[tuple[Source, Optional[Source]]]:
    """Samples and labels that can be read by number; None of what comes one after the other."""
    if isinstance(source, (str, os.PathLike)):
        path = as_path(source, "data")
        several = path.is_dir() or path.suffix.lower() in TABLES
        return _files(path, arrange) if several else _file(path)
    if isinstance(source, np.ndarray):
        return _source(source, "the data"), None
    if isinstance(source, tuple) and len(source) == 2:
        x, y = source
        return _source(x, "the data"), None if y is None else read_labels(y)[0]
    return None


def _source(x: Any, what: str) -> Source:
    """What holds the samples of one input."""
    if isinstance(x, Source):
        return x
    return mapped_already(x) or Held(as_array(x, what))


def _file(path: Path) -> tuple[Source, Optional[Source]]:
    """x and y of a file of arrays."""
    if path.suffix.lower() == ".npy":
        return map_npy(path), None
    arrays = map_npz(path)
    if "x" in arrays:
        return arrays["x"], arrays.get("y")
    if len(arrays) == 1:
        return next(iter(arrays.values())), None
    raise Error(f"{path} holds {', '.join(arrays) or 'no arrays'}; name the inputs 'x'")


def _files(path: Path, arrange: Arrange) -> tuple[Source, Optional[Source]]:
    """The shards of a folder, or its images and their classes."""
    if path.is_dir() and any(entry.suffix.lower() == ".npy" for entry in path.iterdir()):
        return map_shards(path), None
    found = ImageSource(listed(path, IMAGES, "images"), arrange.image_shape(path))
    return found, found.labels
