"""Calibration and test data of a user, as batches in the layout of the network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error
from ..evaluation.batches import Batch as Batch
from ..evaluation.batches import Batches as Batches
from ..evaluation.batches import Blocks as Blocks
from ..evaluation.batches import Labels, Reader, Samples, Stream, keys_of
from ..evaluation.sample_transforms import (
    Arrange,
    ByName,
    Coded,
    Reals,
    Shape,
    Take,
    convert_tensor,
)
from ..io import files
from ..io.arguments import as_path, shown
from ..io.images import IMAGES, ImageSource
from ..io.labels import TABLES, read_labels
from ..io.listing import FileSource, listed
from ..io.mapped import map_npy, map_npz, map_shards, mapped_already
from ..io.selection import Index, Selection
from ..io.sources import Held, Shards, Source
from ..io.zarr_dask import Chunked, is_chunked
from ..ir.formats import Format
from ..ir.preprocessing import Preprocessing
from ..ir.tensors import Tensor
from ..runtime.host import Host
from ..runtime.input_checks import tell
from ..runtime.inputs import Inputs
from ..runtime.samples import convert_to_numbers
from .network import Network
from .sound import SOUNDS, SoundSource, as_front_end

#: Samples of a batch, if nobody says otherwise.
SIZE = 64


@dataclass(frozen=True)
class Reading:
    """Options for reading data, common to all functions that take data.

    layout: of images, where their shape does not tell. labels: as read_labels() takes them; they
    count more than those of the data. preprocessing: what raw samples become, instead of what the
    network has. front_end: the chain that makes features of WAV files, or its chain.json.
    selection: which samples. any_labels: labels may be floats, and of any shape.
    """

    layout: Optional[str] = None
    labels: Any = None
    preprocessing: Optional[Preprocessing] = None
    front_end: Any = None
    selection: Selection = field(default_factory=Selection)
    any_labels: bool = False

    @classmethod
    def of(
        cls, limit: Optional[int], index: Index, shuffle: bool, seed: int, **others: Any
    ) -> Reading:
        """Make options from keyword arguments."""
        return cls(**others, selection=Selection(limit, index, shuffle, seed))

    def check_used(self, data: Any, besides: Sequence[str] = ()) -> None:
        """Raise Error where something says how to read the data, and there are none.

        besides: options that have a meaning without data, too.
        """
        if data is not None:
            return
        own = {**vars(self), **vars(self.selection)}
        optional = ("labels", "layout", "preprocessing", "front_end", "limit", "index")
        named = [name for name in optional if own[name] is not None and name not in besides]
        named += [name for name in ("shuffle", "seed") if own[name]]
        if named:
            raise Error(f"{named[0]}= says how data are read, but there are none: give data, too")

    def __post_init__(self) -> None:
        if not isinstance(self.preprocessing, (Preprocessing, type(None))):
            raise Error(f"preprocessing must be a Preprocessing, not {shown(self.preprocessing)}")


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
    preprocessing: Optional[Preprocessing] = None,
    front_end: Any = None,
    any_labels: bool = False,
) -> Batches:
    """Return batches of real samples for a network that takes `shape`, in `layout` if they are
    images.

    source: a .npy file, or a .npz with x and perhaps y; a folder of .npy files, one after the
    other; images, as a folder whose sub-folders, if any, are the classes, or as a table of files
    and labels; WAV files alike, where there is a front end; an array, also of Zarr or Dask, or a
    pair (x, y); or any iterable of arrays [n, *shape] or of pairs. Files are read as they are used,
    in memory that does not grow; a generator can be read once. given: the layout of the data, where
    their shape does not tell. own: the format of integers in the data, for a network without a
    float reference. The others: fields of Reading.

    Raises Error for other shapes, for images that fit both layouts, for NaN, and for no samples.
    """
    how = Reading(given, labels, preprocessing, front_end, selection or Selection(), any_labels)
    return _batches(source, Arrange(shape, layout, given, own, preprocessing), how, size)


def batches_by_name(
    source: Any,
    tensors: Sequence[Tensor],
    size: int = SIZE,
    *,
    labels: Any = None,
    selection: Optional[Selection] = None,
    any_labels: bool = False,
) -> Batches:
    """Return batches of real samples for a network of integers with several inputs.

    source: an .npz file, or a dictionary, with an array for each input, by name or x0, x1, ..., of
    floats or of the input's own type, and perhaps the labels y. The others: fields of
    Reading. Raises Error as batches().
    """
    how = Reading(labels=labels, selection=selection or Selection(), any_labels=any_labels)
    take = ByName({t.name: convert_tensor(t) for t in tensors})
    return _batches(source, take, how, size)


def real_batches(network: Network, source: Any, how: Reading, size: int = SIZE) -> Batches:
    """Return batches of samples as a network's float reference takes them, of several inputs by
    name.
    """
    inputs = network.graph.inputs
    if len(inputs) > 1:
        take: Take = ByName({t.name: convert_tensor(t) for t in inputs})
    else:
        take = Reals(_prepared(network.host, how), how.layout)
    return _batches(source, take, how, size)


def coded_batches(host: Host, source: Any, how: Reading, size: int = SIZE) -> Batches:
    """Return batches of samples as Session.run() takes them, of several inputs by name. The first
    of them are looked at, whether they are scaled as the network expects.
    """
    host = _prepared(host, how)
    return _batches(source, Coded(host, how.layout, _Look(host)), how, size)


def coded(host: Host, source: Any, how: Reading) -> Inputs:
    """Return all samples as Session.run() takes them; lists are arrays, too."""
    batches = isinstance(source, list) and isinstance(next(iter(source), None), Mapping)
    if len(host.graph.inputs) == 1 and isinstance(source, list) and not batches:
        source = convert_to_numbers(source, "the input")
    found = [batch.x for batch in coded_batches(host, source, how)]
    if not found:
        raise Error("the data hold no samples")
    if isinstance(found[0], Mapping):
        return {name: np.concatenate([x[name] for x in found]) for name in found[0]}
    return np.concatenate(found)


def _prepared(host: Host, how: Reading) -> Host:
    """Return a host, with the preprocessing of the data where they have one of their own."""
    return host if how.preprocessing is None else replace(host, preprocessing=how.preprocessing)


class _Look:
    """Tells once what the first samples look like in a network's formats."""

    def __init__(self, host: Host) -> None:
        self._host: Optional[Host] = host

    def __call__(self, x: Any, layout: Optional[str]) -> None:
        if self._host is None:
            return
        gauges = self._host.gauges(x, layout)
        if all(gauge.enough for gauge in gauges):
            self._host = None
            for gauge in gauges:
                tell(gauge)


def _batches(source: Any, take: Take, how: Reading, size: int) -> Batches:
    y, classes = (None, ()) if how.labels is None else read_labels(how.labels)
    if how.front_end is not None and not isinstance(source, (str, os.PathLike)):
        raise Error("front_end= makes features of WAV files: give data= as their path, or no chain")
    source = Reader(source) if hasattr(source, "get_next") else source
    try:
        found = _inputs(source, take) if take.names else _input(source, take, how.front_end)
    except OSError as error:
        raise Error(f"cannot read {source}: {files.reason(error)}") from None
    if found is None:
        if not isinstance(source, Iterable):
            raise Error(f"data must be files, arrays or generators, not {type(source).__name__}")
        labels = None if y is None else Labels(y, how.any_labels)
        return Stream(source, take, labels, how.any_labels, how.selection)
    sources, own = found
    first = next(iter(sources.values()))
    if isinstance(first, FileSource):  # channels last, as pixels come; features as the network's
        take = take.for_layout("NHWC" if isinstance(first, ImageSource) else take.start[1])
        classes = classes or (first.classes if y is None else ())
    sources = _with_samples(sources, take)
    count = _checked(sources, take)
    y = own if y is None else y
    labels = None if y is None else Labels(y, how.any_labels)
    if labels is not None:
        labels.check(count)
    samples = Samples(sources, take, labels)
    return Batches(Blocks(samples, how.selection.of(count), size), classes)


_Sources = Mapping[Optional[str], Source]


def _with_samples(sources: dict[Optional[str], Source], take: Take) -> dict[Optional[str], Source]:
    """Return the data, a single sample as a batch of one."""
    pieces = any(isinstance(source, (FileSource, Shards)) for source in sources.values())
    if pieces or _fits(sources, take, lambda shape: (2, *shape[1:])):
        return sources
    if not _fits(sources, take, lambda shape: (2, *shape)):
        return sources
    return {
        name: Held(source.take(range(len(source)))[np.newaxis], source.label)
        for name, source in sources.items()
    }


def _fits(
    sources: _Sources, take: Take, form: Callable[[tuple[int, ...]], tuple[int, ...]]
) -> bool:
    """True if the network takes arrays of other shapes; form: makes one of the data's shape."""
    x = {n: np.broadcast_to(np.zeros((), s.dtype), form(s.whole)) for n, s in sources.items()}
    try:
        take.without_checks()(x.get(None, x), "sample {} of the data".format)
    except Error:
        return False
    return True


def _checked(sources: _Sources, take: Take) -> int:
    """Return how many samples there are; Error where they do not fit the network."""
    counts = {len(source) for source in sources.values()}
    if len(counts) > 1:
        raise Error("every input must hold as many samples as the others, 1 or more")
    if counts == {0}:
        raise Error("the data hold no samples: the array is empty")
    one = {name: np.zeros((1, *s.whole[1:]), s.dtype) for name, s in sources.items()}
    for x in one.values():
        if x.dtype.kind not in "fiub":
            raise Error(f"the data must be real numbers, not {x.dtype}")
    try:
        take.without_checks()(one.get(None, one), "sample {} of the data".format)
    except Error:  # the same of all samples, whose shape the user knows; this takes no memory
        every = {name: np.broadcast_to(x, sources[name].whole) for name, x in one.items()}
        take.without_checks()(every.get(None, every), "sample {} of the data".format)
        raise
    return counts.pop()


#: Data of each input, and their labels.
_Found = Optional[tuple[dict[Optional[str], Source], Optional[Source]]]


def _inputs(source: Any, take: Take) -> _Found:
    """Return the data of several inputs; None of what comes one after the other."""
    names = take.names
    if isinstance(source, (str, os.PathLike)):
        source = map_npz(as_path(source, "data"))
    if isinstance(source, (list, tuple)) and len(source) == len(names):
        source = dict(zip(names, source))
    if isinstance(source, Mapping):
        labels = source.get("y") if "y" not in names else None
        return _of_inputs(names, source), None if labels is None else _source(labels, "labels")
    if not isinstance(source, Iterable) or isinstance(source, np.ndarray):
        raise Error(f"the network has {len(names)} inputs: give an .npz file or a dictionary")
    return None


def _of_inputs(names: Sequence[str], arrays: Mapping[str, Any]) -> dict[Optional[str], Source]:
    """Return the arrays of several inputs by their names, from arrays called so, or x0, x1, ... in
    order; Error where they are missing.
    """
    keys = keys_of(names, arrays, "the data")
    return {name: _source(arrays[key], key) for name, key in zip(names, keys)}


def _input(source: Any, take: Take, front_end: Any) -> _Found:
    """Return the data of the only input; None of what comes one after the other."""
    labels: Optional[Source] = None
    if isinstance(source, (str, os.PathLike)):
        x, labels = _of_path(as_path(source, "data"), take, front_end)
    elif isinstance(source, tuple) and len(source) == 2:
        x = _source(source[0], "the data")
        labels = None if source[1] is None else read_labels(source[1])[0]
    elif isinstance(source, Mapping):
        x, labels = _of_mapping(source, "the dictionary")
    elif isinstance(source, (Source, np.ndarray)) or is_chunked(source) or _is_tensor(source):
        x = _source(source, "the data")
    else:
        return None
    return {None: x}, labels


def _is_tensor(x: Any) -> bool:
    """True if it is an array of another library, such as PyTorch."""
    return hasattr(x, "__array__") and getattr(x, "ndim", 0) > 0


def source_of_file(path: Path) -> Source:
    """Return the array of a .npy file, or x of a .npz; OSError where it cannot be read."""
    return (
        map_npy(path) if path.suffix.lower() == ".npy" else _of_mapping(map_npz(path), str(path))[0]
    )


def _source(x: Any, what: str) -> Source:
    """Return what holds the samples of one input."""
    if isinstance(x, Source):
        return x
    if is_chunked(x):
        return Chunked(x, what)
    return mapped_already(x) or Held(convert_to_numbers(x, what))


def _of_path(path: Path, take: Take, front_end: Any) -> tuple[Source, Optional[Source]]:
    """Return samples and labels of a file or a folder."""
    ending, front = path.suffix.lower(), as_front_end(front_end)
    found: FileSource
    if front is not None:
        found = SoundSource(path, front, take.start[0], not take.copies)
        return found, found.labels
    if path.is_dir() and any(entry.suffix.lower() == ".npy" for entry in path.iterdir()):
        return map_shards(path), None
    if ending in SOUNDS or (path.is_dir() and _has_sound(path)):
        raise Error(f"{path} holds sound: give front_end=, which makes features of it")
    if path.is_dir() or ending in (*TABLES, *IMAGES):
        found = ImageSource(listed(path, IMAGES, "images"), take.image_shape(), take.preprocessing)
        return found, found.labels
    return (map_npy(path), None) if ending == ".npy" else _of_mapping(map_npz(path), str(path))


def _has_sound(folder: Path) -> bool:
    return any(next(folder.glob(f"{inside}*.wav"), None) for inside in ("", "*/"))


def _of_mapping(arrays: Mapping[str, Any], what: str) -> tuple[Source, Optional[Source]]:
    """x and y among named arrays."""
    (key,) = keys_of((), arrays, what)
    y = arrays.get("y") if key == "x" else None
    return _source(arrays[key], "the data"), None if y is None else _source(y, "labels")
