"""Reports what quantization cost: float and exact runs, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from ..analysis.advice import advise
from ..analysis.choices import Choices
from ..analysis.layer_figures import Gathered, LayerFigures, WeightFigures, weight_figures
from ..analysis.report import Report
from ..errors import Error
from ..io.arguments import as_callable
from ..io.selection import Index
from ..ir.builds import built
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph, Node, Tensor
from ..ir.preprocessing import Preprocessing
from ..lower.dequantize import dequantized
from ..lower.meaning import counterparts, meanings, stranger
from ..lower.unknown import formatted
from ..quantizer.rules import kept_range
from ..runtime.accumulate import accumulators, unsaturated
from ..runtime.accumulate_s8 import has_wide_sums, is_affine
from ..runtime.cluster import cluster, reduce_blocks
from ..runtime.evaluate import each_tensor, in_order
from ..runtime.sanity import Gauge, tell
from ..runtime.session import Session
from ..runtime.single import Calls
from ..targets import DEFAULT_CORE, DEFAULT_TFLM, KERNELS, Profile
from .blocks import Source, batch_rows, blocks_of
from .data import SIZE, Reading, real_batches
from .network import Network, quantized
from .origin import costs, file_name

Arrays = Mapping[str, np.ndarray]
Progress = Callable[[Iterable], Iterable]

#: Bytes of the largest tensor of a batch in float64: larger ones come from fresh pages each time,
#: which takes longer than the arithmetic.
_CACHED = 1 << 19


def analyze(
    network: Union[Network, str, Path],
    data: Any,
    labels: Any = None,
    *,
    target: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    layout: Optional[str] = None,
    preprocessing: Optional[Preprocessing] = None,
    front_end: Any = None,
    limit: Optional[int] = None,
    index: Index = None,
    shuffle: bool = False,
    seed: int = 0,
    threads: int = 1,
    progress: Optional[Progress] = None,
    kernels: str = KERNELS[0],
    tflm: str = DEFAULT_TFLM,
    client: Any = None,
    workers: Optional[int] = None,
) -> Report:
    """Report what quantization cost, layer by layer: exact runs against the float reference.

    Parameters
    ----------
    network : Network or str or Path
        A network that quantize() returned, or its file; or one of s8 and s16 functions, such as a
        .tflite file, which is compared with the float network that its integers stand for: that
        shows the cost of rounding activations.
    data : str or Path, ndarray, tuple or iterable
        Inputs, as docs/data.md lists them: real ones, as quantize() takes them, for the float
        reference or the file that it came from, or the network's own integers, int8 for an int8
        input. Of several inputs: an .npz file or a dictionary with all, by name or as x0, x1, ...
        in order.
    labels : ndarray of int, shape (N,), or str or Path, optional
        The class of every sample, where the data do not hold it, or their file; with labels the
        report has accuracies and a confusion matrix.
    target : str, default "cortex-m4"
        A core ("m4"), a chip ("stm32f411"), or a path of targets.PATHS.
    cmsis : str, optional
        A release of targets.RELEASES; default: the newest numbered one with the network's
        functions.
    rounding : str, optional
        A rounding of targets.ROUNDINGS; default: as Arm ships the release.
    layout : {"NHWC", "NCHW"}, optional
        The layout of images in the data, where their shape fits both.
    preprocessing : Preprocessing, optional
        What raw samples become; default: what the network says.
    front_end : Chain or str or Path, optional
        The chain that makes the network's features of WAV files, or its chain.json.
    limit : int, optional
        Use so many samples at most.
    index : int, str, slice or sequence of int, optional
        Use these samples: numbers from 0, or text such as "0,5,10:20".
    shuffle : bool, default False
        Put the samples into random order.
    seed : int, default 0
        Which order.
    threads : int, default 1
        Threads that share the samples of a batch.
    progress : callable, optional
        Wraps the iteration over batches, as tqdm does.
    kernels : str, default "cmsis-nn"
        Whose kernels TensorFlow Lite Micro is built with: "cmsis-nn", or its own "reference".
    tflm : str, default "2026-08"
        The month of TensorFlow Lite Micro, one of targets.TFLM.
    client : dask.distributed.Client or str, optional
        Compute on this cluster, or on that of the scheduler at this address.
    workers : int, optional
        Compute on so many processes of this machine, by dask.

    Returns
    -------
    Report
        Figures of every layer and array, and advice; it has text(), csv(), json() and html().

    Raises
    ------
    Error
        The network has no float reference, data or labels do not fit, or the device could not run
        the network.

    Examples
    --------
    >>> print(analyze("net.qnz", "test.npz").text())
    """
    files = file_name(network), file_name(data)
    network, progress = quantized(network), as_callable(progress, "progress")
    reference, graph = network.reference, network.graph
    given = {"layout": layout, "preprocessing": preprocessing, "front_end": front_end}
    how = Reading.of(limit, index, shuffle, seed, labels=labels, **given)
    if reference is None and is_affine(graph):
        graph = formatted(graph)
        reference = dequantized(graph)
    if reference is None:
        raise Error(
            f"{graph.name} has no float reference to compare with; quantize it from a float model"
        )
    _check_pair(graph, reference)
    wanted = network.profile(target, cmsis, rounding, kernels, tflm)
    graph = built(graph, wanted)
    run = _Run(graph, reference, wanted, threads)
    size = _at_once(reference)
    source = real_batches(network, data, how, size)
    sample_bytes = 4 * sum(math.prod(shape) for shape in reference.starts.values())
    with cluster(client, workers) as found:
        reading, blocks, total = blocks_of(source, None, sample_bytes, found is not None)
        job = _Blockwise(run, reading, size)
        whole = reduce_blocks(job, blocks, _merged, client=found, progress=progress, total=total)
    if whole is None:
        raise Error("the data hold no samples")
    for gauge in whole.gauges:
        tell(gauge)
    device = {"cmsis": cmsis, "rounding": rounding, "kernels": kernels, "tflm": tflm}
    return replace(
        run.report(whole),
        costs=costs(network, target, **device),
        files={"network": files[0], "data": files[1]},
        reference="float" if network.reference is not None else "dequantized",
    )


def _at_once(reference: FloatGraph) -> int:
    """How many samples a batch has: what is computed of its largest tensor stays in the cache."""
    largest = max(math.prod(shape) for shape in reference.shapes.values())
    return min(max(_CACHED // (8 * largest), 1), SIZE)


def _check_pair(graph: Graph, reference: FloatGraph) -> None:
    """Raise ModelError unless the reference belongs to the network: a file may hold any two."""
    shapes = reference.shapes
    tensors = graph.tensors.values()
    fits = all(math.prod(shapes.get(t.name, t.shape)) == math.prod(t.shape) for t in tensors)
    described = graph.memory is not None or graph.states or graph.loops
    if described or not {tensor.name for tensor in graph.inputs} <= set(shapes) or not fits:
        raise stranger(graph)


@dataclass
class _Found:
    """The figures of some samples: of each tensor, of the classes chosen, of the inputs."""

    figures: dict[str, Gathered]
    choices: Optional[Choices]
    gauges: list[Gauge]
    samples: int = 0


def _merged(found: _Found, more: _Found) -> _Found:
    """The figures of neighbouring samples together."""
    for name, figures in found.figures.items():
        figures.merge(more.figures[name])
    for gauge, other in zip(found.gauges, more.gauges):
        gauge.merge(other)
    if found.choices is not None and more.choices is not None:
        found.choices.merge(more.choices)
    found.samples += more.samples
    return found


@dataclass(frozen=True)
class _Blockwise:
    """The figures of a block, so many samples at a time."""

    run: _Run
    source: Source
    size: int

    def __call__(self, block: Any) -> _Found:
        batch, _ = self.source.read(block)
        found = self.run.nothing()
        for start in range(0, len(batch), self.size):
            self.run.add(found, *batch_rows(batch, slice(start, start + self.size)))
        return found


@dataclass
class _Run:
    """How figures are found."""

    graph: Graph
    reference: FloatGraph
    profile: Profile
    threads: int

    def __post_init__(self) -> None:
        names = set(self.reference.shapes)
        self.tensors = self.graph.tensors
        self.starts = {tensor.name for tensor in self.graph.inputs}
        self.meanings = meanings(self.graph, self.reference)
        self.kept = {
            name: kept_range(self.reference, name)
            for name, tensor in self.tensors.items()
            if name in names and tensor.spelled is not None  # others stand for themselves
        }
        if not {*self.kept} <= {*self.starts, *self.meanings}:
            raise stranger(self.graph)
        if not self.kept:
            raise Error(
                f"there is nothing to compare {self.graph.name} with: no tensor of it is quantized"
            )
        scores = self.tensors[self.graph.outputs[-1]]
        size = math.prod(scores.shape)
        one_vector = max(scores.shape, default=1) == size > 1 and scores.name in names
        self.classes = size if one_vector else None
        self.ordered = in_order(self.reference)
        self.session = Session(self.graph, self.profile, threads=self.threads)
        self.calls = Calls(self.graph, self.profile, self.threads)

    def __reduce__(self) -> tuple[type[_Run], tuple[Any, ...]]:
        """Pickled as what it was made of, for one thread: it is planned again where it comes to."""
        return _Run, (self.graph, self.reference, self.profile, 1)

    def nothing(self) -> _Found:
        """The figures of no samples."""
        figures = {n: Gathered(self.tensors[n].format, kept) for n, kept in self.kept.items()}
        choices = None if self.classes is None else Choices(self.classes)
        return _Found(figures, choices, [Gauge(tensor) for tensor in self.graph.inputs])

    def add(self, found: _Found, x: Any, labels: Optional[np.ndarray]) -> None:
        """Some samples, and labels if there are any."""
        real: Arrays = dict(each_tensor(self.ordered, x))
        device = {
            t.name: t.format.quantize(real[t.name]).reshape(-1, *t.shape) for t in self.graph.inputs
        }
        for gauge in found.gauges:
            gauge.add(device[gauge.tensor.name], real[gauge.tensor.name])
        device.update(
            self.session.run(device if len(device) > 1 else next(iter(device.values())), trace=True)
        )
        for name in self.starts & set(found.figures):
            codes, figures = device[name], found.figures[name]
            exact = real[name].reshape(codes.shape)
            figures.add(exact, codes, codes)
            figures.add_unsaturated(np.rint(figures.format.unrounded(exact)))
        single: dict[str, np.ndarray] = {}
        for node in self.graph.nodes:
            inputs = [self._rounded(real, name, single) for name in node.inputs]
            single[node.name] = self.calls.run(node, inputs) if inputs else device[node.name]
            if node.name in found.figures:
                self._compare(found.figures[node.name], node, real, device, single[node.name])
        found.samples += len(device[self.graph.input.name])
        if found.choices is not None:
            name = self.graph.outputs[-1]
            found.choices.add(device[name], real[name], labels)
        elif labels is not None:
            raise Error(
                f"{self.graph.name} does not end in scores of classes, so labels have no meaning"
            )

    def _rounded(self, real: Arrays, name: str, single: Arrays) -> np.ndarray:
        """The input of a call run alone: the real tensor, or that of a call in the same layer."""
        if name not in real:
            return single[name]
        tensor = self.tensors[name]
        return tensor.format.quantize(real[name]).reshape(-1, *tensor.shape)

    def _compare(
        self, figures: Gathered, node: Node, real: Arrays, device: Arrays, single: np.ndarray
    ) -> None:
        got = device[node.name]
        figures.add(real[node.name].reshape(got.shape), got, single.reshape(got.shape))
        inputs = [device[name] for name in node.inputs]
        sums = accumulators(self.graph, node, inputs[0], self.profile)
        if sums is not None and not has_wide_sums(self.graph, node):
            figures.add_sums(sums)
        outputs = unsaturated(self.graph, node, inputs, sums, self.profile)
        if outputs is not None:
            meaning = self.meanings[node.name]  # an activation in the same call saturates nothing
            ends = figures.format.unrounded(np.array([meaning.low, meaning.high]))
            figures.add_unsaturated(np.clip(outputs, *ends))

    def report(self, found: _Found) -> Report:
        """All figures."""
        weights = tuple(self._weights())
        formats = {(w.layer, w.role): w.format for w in weights}
        nodes = {node.name: node for node in self.graph.nodes}
        layers = tuple(
            self._layer(each, name, nodes.get(name), formats)
            for name, each in found.figures.items()
        )
        return Report(
            self.graph.name,
            str(self.profile),
            found.samples,
            layers,
            weights,
            advise(layers, weights, is_affine(self.graph)),
            **(found.choices.figures() if found.choices else {}),
        )

    def _layer(
        self,
        figures: Gathered,
        name: str,
        node: Optional[Node],
        formats: Mapping[tuple[str, str], str],
    ) -> LayerFigures:
        params = node.params if node and node.weights else {}
        source: Optional[Tensor] = self.tensors[node.inputs[0]] if node else None
        dead, channels = figures.dead()
        return LayerFigures(
            name=name,
            operator=str(self.meanings[name]) if node else "Input",
            function=node.function.name if node else None,
            format=str(figures.format),
            weight_format=formats.get((name, "weights")),
            bias_format=formats.get((name, "bias")),
            bias_shift=params.get("bias_shift"),
            out_shift=params.get("out_shift"),
            input_frac=source.frac if source else None,
            low=figures.real.low,
            high=figures.real.high,
            saturated=figures.saturated,
            lost=figures.lost,
            elements=figures.elements,
            sums=figures.sums,
            whole=figures.whole.errors(),
            single=figures.single.errors(),
            crowded=figures.crowded(),
            dead=dead,
            channels=channels,
            bars=figures.bars(),
        )

    def _weights(self) -> Iterator[WeightFigures]:
        """The arrays of every layer, next to the real ones that they stand for."""
        for c in counterparts(self.graph, self.meanings):
            yield weight_figures(c.layer, c.role, c.real, c.integers, c.scale, c.format, c.matters)
