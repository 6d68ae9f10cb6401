"""Reports what quantization cost: float and exact runs, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from ..analysis.advice import find_layer_faults
from ..analysis.faults import Fault
from ..analysis.input_faults import find_input_faults
from ..analysis.report import Report
from ..errors import Error
from ..evaluation.batches import Stream
from ..evaluation.block_reader import open_blocks, take_batch_rows, take_first
from ..evaluation.class_numbers import count_classes, tell_names
from ..evaluation.layer_statistics import Blockwise, Found, LayerRun, merge_figures
from ..evaluation.sensitivity import measure_sensitivity
from ..io.arguments import MOST_THREADS, as_callable, as_count, as_flag
from ..io.stages import announce
from ..ir.builds import build_calls, calls_esp_dl
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..lowering.dequantize import dequantize_graph
from ..lowering.float_semantics import make_foreign_error
from ..lowering.infer_formats import infer_formats
from ..runtime.blas import limit_blas_threads
from ..runtime.cluster import open_cluster, reduce_blocks
from ..runtime.input_checks import tell
from ..runtime.unbounded_s8 import is_affine
from ..targets import DEFAULT_CORE, Target
from .data import SIZE, Dataset, real_batches
from .network import Network, quantized
from .remedies import RemedyTrial, write_advice
from .report_header import costs, file_name

Progress = Callable[[Iterable[Any]], Iterable[Any]]

#: Bytes of the largest tensor of a batch in float64.
_BATCH = 1 << 22

#: Most samples that measure remedies, and that measure sensitivities.
_TRIED, _SENSED = 256, 64


def analyze(
    network: Union[Network, str, Path],
    data: Any,
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    sensitivity: bool = False,
    threads: int = 1,
    progress: Optional[Progress] = None,
    client: Any = None,
) -> Report:
    """Report what quantization cost, layer by layer: exact runs against the float reference.

    Parameters
    ----------
    network : Network or str or Path
        A network that quantize() returned, or its file; or one of s8 and s16 functions, such as a
        .tflite file, which is compared with the float network that its integers stand for: that
        shows the cost of rounding activations.
    data : Dataset or source
        Inputs, as a Dataset or its source: real ones, as quantize() takes them, for the float
        reference or the file that it came from, or the network's own integers, int8 for an int8
        input. With labels the report has accuracies and a confusion matrix.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it.
    sensitivity : bool, default False
        Also measure the noise at the outputs that each layer, and each of its channels, makes by
        itself, on up to 64 samples.
    threads : int, default 1
        Threads that share the blocks of samples.
    progress : callable, optional
        Wraps the iteration over blocks, as tqdm does.
    client : dask.distributed.Client, str or int, optional
        Compute on this cluster, on that of the scheduler at this address, or on so many processes
        of this machine, by dask.

    Returns
    -------
    Report
        Figures of every layer and array, and advice that names faults and the decibels that their
        remedies gain, measured on up to 256 samples; it has text(), csv(), json() and html().

    Raises
    ------
    Error
        The network has no float reference, data or labels do not fit, or the device could not run
        the network.

    Examples
    --------
    >>> print(analyze("net.qnz", "test.npz").text())
    """
    data = Dataset.of(data)
    files = file_name(network), file_name(data.source)
    network, progress = quantized(network), as_callable(progress, "progress")
    threads = as_count(threads, "threads", most=MOST_THREADS)
    sensitivity = as_flag(sensitivity, "sensitivity")
    wanted, device, compiled = network.profile(target), network, None
    if network.original is not None:  # the layers of the file, as the NPU computes them
        compiled = network.graph
        network = replace(network, graph=network.original.graph, original=None)
    reference, graph = network.reference, network.graph
    if reference is None and (is_affine(graph) or calls_esp_dl(graph)):
        graph = infer_formats(graph)
        reference, network = dequantize_graph(graph), replace(network, graph=graph)
    if reference is None:
        raise Error(
            f"{graph.name} has no float reference to compare with; quantize it from a float model"
        )
    _check_pair(graph, reference)
    graph = build_calls(graph, wanted)
    run = LayerRun(graph, reference, wanted, compiled)
    size = _at_once(reference)
    source = real_batches(network, data, size, count=_count(graph))
    sample_bytes = 4 * sum(math.prod(shape) for shape in reference.starts.values())
    first, rest = take_first(source) if isinstance(source, Stream) else (None, None)
    with limit_blas_threads(reference, size), open_cluster(client) as found:
        reading, blocks, total = open_blocks(source, rest, sample_bytes, found is not None)
        job = Blockwise(run, reading, size)
        share = {"client": found, "threads": threads}
        announce("measures layers")
        whole = reduce_blocks(job, blocks, merge_figures, **share, progress=progress, total=total)
    if whole is None:
        raise Error("the data have no samples: give one or more")
    for gauge in whole.gauges:
        tell(gauge)
    report = run.report(whole)
    faults = _find_faults(network, report, whole)
    trial, alone = None, {}
    tries = network.calibration is not None and any(each.remedies for each in faults)
    if tries or sensitivity:
        batch = source.blocks(_TRIED).block(0) if first is None else first
        x, labels = take_batch_rows(batch, slice(_TRIED))
        if tries:
            announce("tries remedies")
            scheme = _describe_scheme(graph)
            trial = RemedyTrial(network, reference, target, scheme, x, labels)
        if sensitivity:
            announce("measures each layer alone")
            alone = _measure_sensitivity(run, x)
    return replace(
        report,
        sensitivity=alone,
        advice=write_advice(faults, trial),
        curve=network.curve,
        **costs(device, target),
        files={"network": files[0], "data": files[1]},
        notes=(
            *((tell_names(source.classes),) if source.classes else ()),
            *_note_estimate(device),
        ),
        reference="float" if network.reference is not None else "dequantized",
    )


def _note_estimate(network: Network) -> tuple[str, ...]:
    """Return a note on the cycles that an NPU's compiler estimates, if it is known."""
    cycles = 0 if network.original is None else round(network.original.figure("cycles_total"))
    if not cycles:
        return ()
    return (f"vela estimates {cycles:,} cycles of the whole network; nothing was measured",)


def _measure_sensitivity(run: LayerRun, x: Any) -> dict[str, tuple[float, tuple[float, ...]]]:
    """Return layer -> ratios at the outputs if it, or one of its channels, alone errs."""
    if not isinstance(x, np.ndarray):
        raise Error("sensitivity=True needs a network of one input; leave it out")
    found = measure_sensitivity(run, x[:_SENSED])
    return {name: (each.whole, each.channels) for name, each in found.items()}


def _find_faults(network: Network, report: Report, found: Found) -> list[Fault]:
    """Return the faults of the inputs; if there are none, those of layers."""
    affine, (first, *_) = is_affine(network.graph), network.graph.inputs
    if len(network.graph.inputs) == 1 and network.reference is not None:
        name = network.reference.input
        reach = max(map(abs, first.format.ends)) if name == first.name else math.inf
        faults = find_input_faults(name, found.inputs.summarize(), network.calibration, reach)
        if faults:
            return faults
    bits = 8 * np.dtype(first.dtype).itemsize
    return find_layer_faults(report.layers, report.weights, affine, report.samples, bits)


def _describe_scheme(graph: Graph) -> dict[str, Any]:
    """Return the arguments of quantize() for such a network."""
    bits = 8 * np.dtype(graph.input.dtype).itemsize
    return {"scheme": "affine" if is_affine(graph) else "power2", "bits": bits}


def _count(graph: Graph) -> Optional[int]:
    """Return how many classes the last output scores."""
    return None if graph.states else count_classes(graph.tensors[graph.outputs[-1]].shape)


def _at_once(reference: FloatGraph) -> int:
    """Return how many samples a batch has."""
    largest = max(math.prod(shape) for shape in reference.shapes.values())
    return min(max(_BATCH // (8 * largest), 1), SIZE)


def _check_pair(graph: Graph, reference: FloatGraph) -> None:
    """Raise ModelError unless the reference belongs to the network: a file may hold any two."""
    shapes = reference.shapes
    tensors = graph.tensors.values()
    fits = all(math.prod(shapes.get(t.name, t.shape)) == math.prod(t.shape) for t in tensors)
    described = graph.memory is not None or graph.states or graph.loops
    if described or not {tensor.name for tensor in graph.inputs} <= set(shapes) or not fits:
        raise make_foreign_error(graph)
