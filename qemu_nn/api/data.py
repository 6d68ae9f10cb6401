"""Calibration and test data of a user, as batches in the layout of the network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error, InputWarning
from ..evaluation.batches import Batch as Batch
from ..evaluation.batches import Batches as Batches
from ..evaluation.batches import Blocks as Blocks
from ..evaluation.batches import Labels, Reader, Samples, Stream, keys_of
from ..evaluation.class_numbers import count_classes, order_names
from ..evaluation.codes_or_floats import Meaning
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
from ..io.arguments import as_flag, as_path, format_value
from ..io.feature_tables import (
    Features,
    fit_shape,
    frame_features,
    is_feature_table,
    is_frame,
    read_features,
)
from ..io.images import IMAGES, ImageSource
from ..io.labels import TABLES, read_classes, read_labels
from ..io.listing import FileSource, list_files
from ..io.mapped import map_npy, map_npz, map_shards, reuse_mapping
from ..io.sample_cache import open_cache
from ..io.selection import Index, Selection
from ..io.sources import MemorySource, Shards, Source
from ..io.warn import warn
from ..io.wav import SOUNDS
from ..io.zarr_dask import Chunked, is_chunked
from ..ir.float_graph import FloatGraph
from ..ir.formats import Format
from ..ir.preprocessing import Preprocessing
from ..ir.tensors import Tensor
from ..runtime.host import Host
from ..runtime.input_checks import take_few, tell
from ..runtime.inputs import Inputs
from ..runtime.samples import convert_to_numbers
from .network import Network

#: Samples of a batch, if nobody says otherwise.
SIZE = 64


@dataclass(frozen=True, init=False, eq=False)
class Dataset:
    """Samples, their labels, and what to do with them; every function that takes data takes one.

    The source alone does as well: `data="test.npz"`.

    Parameters
    ----------
    source : str or Path, ndarray, tuple, mapping or iterable, or None
        Samples, as docs/data.md lists them: a .npy file; a .npz with x and perhaps y; a folder of
        .npy files or of images, whose sub-folders are the classes; a table of files and labels; an
        array, also of Zarr or Dask, or a pair (x, y); an iterable of arrays or of pairs; of several
        inputs a .npz file or a mapping by their names. None, where a function has random inputs.
    labels : array_like or str or Path, optional
        The label of every sample, where the source does not hold it: classes, or values.
    layout : {"NHWC", "NCHW"}, optional
        The layout of images in the data, where their shape does not tell.
    preprocessing : Preprocessing, optional
        What raw samples become; default: what the network says.
    front_end : Chain or EdgeImpulseMfe or EdgeImpulseMfcc or str or Path, optional
        What makes the network's features of WAV files: a chain, its chain.json, a front end of
        Edge Impulse, or "micro-frontend", "edge-impulse-mfe", "edge-impulse-mfcc".
    limit : int, optional
        Use so many samples at most.
    index : int, str, slice or sequence of int, optional
        Use these samples: numbers from 0, or text such as "0,5,10:20".
    shuffle : bool, default False
        Put the samples into random order.
    seed : int, default 0
        The seed of that order.
    classes : sequence of str, str or Path, optional
        The names of all classes in the order of the network's outputs, for labels that are names;
        or a file with a name in each line, or a folder with a folder for each. Default: the names
        that the network's file has.
    codes : bool, optional
        True: integers are the network's own codes. False: they are floats, or raw samples for the
        preprocessing. Default: as their type says, where it can mean one of these only.
    cache : bool, default True
        Keep decoded and resized images in a cache for later runs. The environment has its folder
        and size: QEMU_NN_CACHE, QEMU_NN_CACHE_SIZE.

    Raises
    ------
    Error
        An option has another type or is out of range.

    Examples
    --------
    >>> qemu_nn.evaluate("net.qnz", Dataset("photos", limit=1000, shuffle=True))
    """

    source: Any
    labels: Any
    layout: Optional[str]
    preprocessing: Optional[Preprocessing]
    front_end: Any
    limit: Optional[int]
    index: Index
    shuffle: bool
    seed: int
    classes: Optional[tuple[str, ...]]
    codes: Optional[bool]
    cache: bool

    def __init__(
        self,
        source: Any,
        labels: Any = None,
        *,
        layout: Optional[str] = None,
        preprocessing: Optional[Preprocessing] = None,
        front_end: Any = None,
        limit: Optional[int] = None,
        index: Index = None,
        shuffle: bool = False,
        seed: int = 0,
        classes: Any = None,
        codes: Optional[bool] = None,
        cache: bool = True,
    ) -> None:
        if not isinstance(preprocessing, (Preprocessing, type(None))):
            raise Error(f"preprocessing must be a Preprocessing, not {format_value(preprocessing)}")
        vars(self).update(source=source, labels=labels, layout=layout, front_end=front_end)
        vars(self).update(preprocessing=preprocessing, limit=limit, index=index)
        if codes is not None:
            as_flag(codes, "codes")
        names = None if classes is None else read_classes(classes)
        vars(self).update(shuffle=shuffle, seed=seed, classes=names, codes=codes)
        vars(self).update(cache=as_flag(cache, "cache"))
        Selection(limit, index, shuffle, seed)  # refuses what selects nothing

    @classmethod
    def of(cls, value: Any) -> Dataset:
        """Return a data set that a caller gives.

        Parameters
        ----------
        value : Dataset or source
            A data set, or its source alone.

        Returns
        -------
        Dataset
            The data set.
        """
        return value if isinstance(value, Dataset) else cls(value)

    def draw_count(self, usual: int) -> int:
        """Return the number of random inputs to use, where there is no source; otherwise 0.

        Parameters
        ----------
        usual : int
            The number without a limit; 0 where a function has none.

        Returns
        -------
        int
            How many random inputs.

        Raises
        ------
        Error
            There is no source, but an option that says how it is read.
        """
        if self.source is not None:
            return 0
        options = {**vars(self), "limit": None if usual else self.limit, "cache": None}
        plain = (None, False, 0)
        named = [k for k, value in options.items() if not any(value is each for each in plain)]
        if named:
            raise Error(f"{named[0]}= is given without data: give data, or leave it out")
        return self.limit or usual

    @property
    def selection(self) -> Selection:
        """The samples that are used, and their order."""
        return Selection(self.limit, self.index, self.shuffle, self.seed)


def batches(
    data: Any,
    shape: Shape,
    layout: Optional[str],
    size: int = SIZE,
    own: Optional[Format] = None,
    any_labels: bool = False,
    known: Sequence[str] = (),
    count: Optional[int] = None,
) -> Batches:
    """Return batches of real samples for a network that takes `shape`, in `layout` if they are
    images.

    data: a Dataset or its source. Files are read as they are used, in memory that does not grow; a
    generator can be read once. own: the format of integers in the data, for a network without a
    float reference. any_labels: labels may be floats, and of any shape. known, count: the names and
    the number of the network's classes.

    Raises Error for other shapes, for images that fit both layouts, for NaN, and for no samples.
    """
    found = Dataset.of(data)
    steps = None if own is not None and found.codes else found.preprocessing
    take = Arrange(shape, layout, found.layout, own, steps)
    if own is None and found.codes:
        raise Error(
            "codes=True needs a quantized network, but this one takes floats: leave codes out"
        )
    kinds: dict[Optional[str], Meaning] = {}
    if own is not None:
        kinds[None] = Meaning(own.dtype, found.codes, found.preprocessing)
    made = _batches(found, take, size, any_labels, _Known(known, count, kinds))
    if own is None and steps is None and found.codes is None:
        _warn_of_bytes(made)
    return made


def float_batches(
    graph: FloatGraph,
    data: Any,
    any_labels: bool = False,
    count: Optional[int] = None,
) -> Batches:
    """Return batches of real samples for a float network, of several inputs by their names.

    any_labels, count: as batches() takes them. Raises Error as batches(), and for a preprocessing
    of several inputs.
    """
    found = Dataset.of(data)
    if not graph.others:
        start, known = (graph.shape, graph.layout), graph.classes
        return batches(found, *start, any_labels=any_labels, known=known, count=count)
    if found.preprocessing is not None:
        raise Error(f"{graph.name} has several inputs: give their values without a preprocessing")
    if found.codes:
        raise Error("codes=True is for quantized networks: this one takes floats")
    parts = {
        name: Arrange(shape, graph.layout_of(name), found.layout)
        for name, shape in graph.starts.items()
    }
    return _batches(found, ByName(parts), SIZE, any_labels, _Known(graph.classes, count))


def _warn_of_bytes(made: Batches) -> None:
    """Warn of bytes that a float network gets as they are: most were trained on floats near 0."""
    if isinstance(made, Stream):
        return
    for source in made.blocks(1).samples.sources.values():
        if source.dtype in (np.uint8, np.int8):
            ends = np.iinfo(source.dtype)
            warn(
                f"{source.label} are {source.dtype} numbers, which the float network reads "
                f"unchanged: if it was not trained on {ends.min}..{ends.max}, give "
                "Preprocessing(scale=1/255); if it was, codes=False",
                InputWarning,
            )


def batches_by_name(
    data: Any, tensors: Sequence[Tensor], size: int = SIZE, any_labels: bool = False
) -> Batches:
    """Return batches of real samples for a network of integers with several inputs.

    data: a Dataset or its source: an .npz file, or a dictionary, with an array for each input, by
    name or x0, x1, ..., of floats or of the input's own type, and perhaps the labels y. Raises
    Error as batches().
    """
    take = ByName({t.name: convert_tensor(t) for t in tensors})
    return _batches(Dataset.of(data), take, size, any_labels)


def real_batches(
    network: Network,
    data: Dataset,
    size: int = SIZE,
    any_labels: bool = False,
    count: Optional[int] = None,
) -> Batches:
    """Return batches of samples as a network's float reference takes them, of several inputs by
    name.
    """
    inputs = network.graph.inputs
    if len(inputs) > 1:
        take: Take = ByName({t.name: convert_tensor(t) for t in inputs})
    else:
        take = Reals(_prepared(network.host, data), data.layout)
    own = _Known(network.labels, count, _meanings(network.host, data))
    return _batches(data, take, size, any_labels, own)


def coded_batches(
    host: Host,
    data: Dataset,
    size: int = SIZE,
    any_labels: bool = False,
    count: Optional[int] = None,
) -> Batches:
    """Return batches of samples as Session.run() takes them, of several inputs by name. The first
    of them are looked at, whether they are scaled as the network expects.

    count: of the classes of any_labels; else that of the last output counts.
    """
    meanings, host = _meanings(host, data), _prepared(host, data)
    graph = host.graph
    if not any_labels:
        count = count_classes(graph.tensors[graph.outputs[-1]].shape)
    known = _Known(graph.classes, count, meanings)
    return _batches(data, Coded(host, data.layout, _Look(host)), size, any_labels, known)


def coded(host: Host, data: Dataset) -> Inputs:
    """Return all samples as Session.run() takes them; lists are arrays, too."""
    source = data.source
    batches = isinstance(source, list) and isinstance(next(iter(source), None), Mapping)
    if len(host.graph.inputs) == 1 and isinstance(source, list) and not batches:
        data = replace(data, source=convert_to_numbers(source, "the input"))
    found = [batch.x for batch in coded_batches(host, data)]
    if not found:
        raise Error("the data have no samples: give one or more")
    if isinstance(found[0], Mapping):
        return {name: np.concatenate([x[name] for x in found]) for name in found[0]}
    return np.concatenate(found)


def _prepared(host: Host, data: Dataset) -> Host:
    """Return a host, with the preprocessing of the data where they have one of their own."""
    if data.codes:
        return replace(host, preprocessing=None)
    return host if data.preprocessing is None else replace(host, preprocessing=data.preprocessing)


def _meanings(host: Host, data: Dataset) -> dict[Optional[str], Meaning]:
    """Return for each input of integers what integers of a user are."""
    tensors = host.graph.inputs
    if host.before is not None:
        return {}
    steps = host.preprocessing if data.preprocessing is None else data.preprocessing
    return {
        tensor.name if len(tensors) > 1 else None: Meaning(tensor.dtype, data.codes, steps)
        for tensor in tensors
        if np.dtype(tensor.dtype).kind in "iu"
    }


@dataclass(frozen=True)
class _Known:
    """Facts about the data of a network: names and number of its classes, and its inputs."""

    classes: Sequence[str] = ()
    count: Optional[int] = None
    meanings: Mapping[Optional[str], Meaning] = field(default_factory=dict)


class _Look:
    """Tells once what the first samples look like in a network's formats."""

    def __init__(self, host: Host) -> None:
        self._host: Optional[Host] = host

    def __call__(self, x: Any, layout: Optional[str]) -> None:
        if self._host is None:
            return
        gauges = self._host.gauges(take_few(x), layout)
        if all(gauge.enough for gauge in gauges):
            self._host = None
            for gauge in gauges:
                tell(gauge)


def _batches(
    data: Dataset,
    take: Take,
    size: int,
    any_labels: bool = False,
    network: _Known = _Known(),
) -> Batches:
    source = data.source
    y, classes = (None, ()) if data.labels is None else read_labels(data.labels)
    if data.front_end is not None and not isinstance(source, (str, os.PathLike)):
        raise Error(
            "front_end= computes features of WAV files: give their path as data=, and no chain"
        )
    source = Reader(source) if hasattr(source, "get_next") else source
    try:
        found = _inputs(source, take) if take.names else _input(source, take, data)
    except OSError as error:
        raise Error(f"cannot read {source}: {files.get_reason(error)}") from None
    if found is None:
        if not isinstance(source, Iterable):
            raise Error(
                f"data is of type {type(source).__name__}, but must be paths, arrays or a generator"
            )
        y, _ = _number_names(y, classes, data, network)
        labels = None if y is None else Labels.of(y, any_labels, network.count)
        more = network.count, network.meanings
        return Stream(source, take, labels, any_labels, data.selection, *more)
    sources, own, present = found
    first = next(iter(sources.values()))
    if isinstance(first, FileSource):  # channels last, as pixels come; features as the network's
        take = take.for_layout("NHWC" if isinstance(first, ImageSource) else take.start[1])
    if y is None:
        y, classes = own, present
        if isinstance(first, (FileSource, Features)):
            classes = first.classes
    sources = _with_samples(sources, take)
    if not isinstance(first, FileSource):
        sources = {
            name: _decided(each, network.meanings.get(name)) for name, each in sources.items()
        }
    elif data.codes:
        raise Error(
            "codes=True needs arrays, but the data are files of images or sound: leave codes out"
        )
    count = _checked(sources, take)
    y, classes = _number_names(y, classes, data, network)
    labels = None if y is None else Labels.of(y, any_labels, network.count)
    if labels is not None:
        labels.check(count)
    samples = Samples(sources, take, labels)
    return Batches(Blocks(samples, data.selection.of(count), size), classes)


def _decided(source: Source, meaning: Optional[Meaning]) -> Source:
    return source if meaning is None else meaning.decide(source)


def _number_names(
    y: Optional[Source], names: Sequence[str], data: Dataset, network: _Known
) -> tuple[Optional[Source], tuple[str, ...]]:
    """Return class numbers of labels that are names, and the names of all classes in order."""
    if y is None or not names:
        return y, ()
    known = network.classes if data.classes is None else data.classes
    every, order = order_names(names, known, network.count)
    return MemorySource(np.array(order, np.int64)[y.view()], "labels"), every


_Sources = Mapping[Optional[str], Source]


def _with_samples(sources: dict[Optional[str], Source], take: Take) -> dict[Optional[str], Source]:
    """Return the data, a single sample as a batch of one."""
    pieces = any(isinstance(source, (FileSource, Shards)) for source in sources.values())
    if pieces or _fits(sources, take, lambda shape: (2, *shape[1:])):
        return sources
    if not _fits(sources, take, lambda shape: (2, *shape)):
        return sources
    return {
        name: MemorySource(source.take(range(len(source)))[np.newaxis], source.label)
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
        raise Error(
            "the inputs have different numbers of samples; all must have as many, 1 or more"
        )
    if counts == {0}:
        raise Error("the data have no samples: the array is empty")
    one = {name: np.zeros((1, *s.whole[1:]), s.dtype) for name, s in sources.items()}
    for x in one.values():
        if x.dtype.kind not in "fiub":
            raise Error(f"the data are {x.dtype}, but must be numbers")
    try:
        take.without_checks()(one.get(None, one), "sample {} of the data".format)
    except Error:  # the same of all samples, whose shape the user knows; this takes no memory
        every = {name: np.broadcast_to(x, sources[name].whole) for name, x in one.items()}
        take.without_checks()(every.get(None, every), "sample {} of the data".format)
        raise
    return counts.pop()


#: Data of each input, their labels, and the names that the labels are.
_Found = Optional[tuple[dict[Optional[str], Source], Optional[Source], tuple[str, ...]]]


def _inputs(source: Any, take: Take) -> _Found:
    """Return the data of several inputs; None of what comes one after the other."""
    names = take.names
    if isinstance(source, (str, os.PathLike)):
        source = map_npz(as_path(source, "data"))
    if isinstance(source, (list, tuple)) and len(source) == len(names):
        source = dict(zip(names, source))
    if isinstance(source, Mapping):
        labels = source.get("y") if "y" not in names else None
        found = _of_inputs(names, source)
        return found, None if labels is None else _source(labels, "labels"), ()
    if not isinstance(source, Iterable) or isinstance(source, np.ndarray):
        raise Error(f"the network has {len(names)} inputs: give an .npz file or a dictionary")
    return None


def _of_inputs(names: Sequence[str], arrays: Mapping[str, Any]) -> dict[Optional[str], Source]:
    """Return the arrays of several inputs by their names, from arrays called so, or x0, x1, ... in
    order; Error where they are missing.
    """
    keys = keys_of(names, arrays, "the data")
    return {name: _source(arrays[key], key) for name, key in zip(names, keys)}


def _input(source: Any, take: Take, data: Dataset) -> _Found:
    """Return the data of the only input; None of what comes one after the other."""
    labels: Optional[Source] = None
    names: tuple[str, ...] = ()
    if isinstance(source, (str, os.PathLike)):
        x, labels = _of_path(as_path(source, "data"), take, data)
    elif isinstance(source, tuple) and len(source) == 2:
        x = _source(source[0], "the data")
        if source[1] is not None:
            labels, names = read_labels(source[1])
    elif isinstance(source, Mapping):
        x, labels = _of_mapping(source, "the dictionary")
    elif is_frame(source):
        table = fit_shape(frame_features(source), take.start[0])
        x, labels = table, table.labels
    elif isinstance(source, (Source, np.ndarray)) or is_chunked(source) or _is_tensor(source):
        x = _source(source, "the data")
    else:
        return None
    return {None: x}, labels, names


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
    return reuse_mapping(x) or MemorySource(convert_to_numbers(x, what))


def _of_path(path: Path, take: Take, data: Dataset) -> tuple[Source, Optional[Source]]:
    """Return samples and labels of a file or a folder."""
    ending = path.suffix.lower()
    found: FileSource
    if data.front_end is not None:
        from .sound import sound_source

        found = sound_source(path, data.front_end, take.start[0], not take.copies)
        return found, found.labels
    if path.is_dir() and any(entry.suffix.lower() == ".npy" for entry in path.iterdir()):
        return map_shards(path), None
    if ending in SOUNDS or (path.is_dir() and _has_sound(path)):
        raise Error(f"{path} contains sound: give front_end=, which computes features of it")
    if is_feature_table(path):
        table = fit_shape(read_features(path), take.start[0])
        return table, table.labels
    if path.is_dir() or ending in (*TABLES, *IMAGES):
        listing, store = list_files(path, IMAGES, "images"), open_cache() if data.cache else None
        found = ImageSource(listing, take.image_shape(), take.preprocessing, store)
        return found, found.labels
    return (map_npy(path), None) if ending == ".npy" else _of_mapping(map_npz(path), str(path))


def _has_sound(folder: Path) -> bool:
    return any(next(folder.glob(f"{inside}*.wav"), None) for inside in ("", "*/"))


def _of_mapping(arrays: Mapping[str, Any], what: str) -> tuple[Source, Optional[Source]]:
    """x and y among named arrays."""
    (key,) = keys_of((), arrays, what)
    y = arrays.get("y") if key == "x" else None
    return _source(arrays[key], "the data"), None if y is None else _source(y, "labels")
