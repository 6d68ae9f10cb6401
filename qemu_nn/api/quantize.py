"""Quantizes a float network: optimize, observe the data, assign formats, lower to calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..analysis.input_faults import describe_calibration
from ..errors import Error, ModelError
from ..evaluation.class_numbers import count_classes, tell_names
from ..io import files
from ..io.arguments import (
    MOST_THREADS,
    as_callable,
    as_count,
    one_of,
)
from ..io.stages import announce
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.input_summary import InputTally
from ..lowering import take_device_part
from ..lowering.runtimes import tell_functions
from ..operators import Identity, Reshape
from ..optimize import optimize
from ..ptq.accuracy_goal import choose_widths
from ..ptq.budgets import parse_budget
from ..ptq.candidate import StepPlan
from ..ptq.checkpoint import name_search_record
from ..ptq.format_search import Job, Progress
from ..ptq.format_search import search_all_formats as searched_formats
from ..ptq.pipeline import improve_network
from ..ptq.schemes import SCHEMES, Overrides, Scheme, get_scheme
from ..quantizer.search import Given, Search
from ..quantizer.statistics import observe
from ..runtime.blas import limit_blas_threads
from ..runtime.cluster import open_cluster
from ..runtime.evaluate import iterate_tensors
from ..runtime.input_checks import Gauge, tell
from ..runtime.plan import plan
from ..targets import DEFAULT_CORE, LEGACY_CMSIS, Profile, Target, is_affine, roundings
from .data import SIZE, Batch, Dataset, float_batches
from .kernel_ranking import quickest
from .network import FloatNetwork, Network, unquantized
from .quantize_options import Budget, Effort, QuantizeOptions, read_group


def quantize(
    network: Union[FloatNetwork, str, Path],
    data: Any,
    *,
    target: Union[str, Target, None] = None,
    scheme: Optional[str] = None,
    bits: int = 8,
    method: Union[str, float] = "extrapolate",
    effort: Union[str, Mapping[str, Any], Effort] = "fast",
    budget: Union[Mapping[str, Any], Budget, None] = None,
    options: Union[Mapping[str, Any], QuantizeOptions, None] = None,
    threads: int = 1,
    client: Any = None,
    progress: Optional[Progress] = None,
) -> Network:
    """Quantize a float network to calls of CMSIS-NN.

    Parameters
    ----------
    network : FloatNetwork or str or Path
        A float network, or its file.
    data : Dataset or source
        Calibration inputs, as a Dataset or its source: an array (N, *input shape), a pair (x, y),
        or an iterable of these; a .npy file; a .npz with x and perhaps y; a folder of images, whose
        sub-folders are the classes. A search uses the labels y, if there are any. The quantized
        network keeps the preprocessing of the data, and prepares later data alike.
    target : str or Target, optional
        The device, as Network.session() takes it; default: "cortex-m4", and of a target without a
        release "5.9.0" for power2, "7.0.0" for affine. Of several functions that give a layer's
        bits, a core or chip that is named gets the one of the fewest estimated cycles on it;
        `notes` say what that gains.
    scheme : {"affine", "power2"}, optional
        "affine": TensorFlow Lite's scheme for the s8 functions, with a scale and a zero point for
        each tensor, and a weight scale for each output channel of a convolution; with bits=16 its
        16x8 scheme, for the s16 functions: activations of 16 bits without zero points, weights of
        8. "power2": powers of two, for the q7 (bits=8) or q15 (bits=16) functions; of a chip of
        the ESP32 family for ESP-DL, whose file is save("net.espdl"). Default: "affine", unless
        the target's release has the q7 and q15 functions alone.
    bits : {8, 16}, default 8
        Bits of activations, and of weights but in the scheme affine, which has weights of 8.
    method : str or float, default "extrapolate"
        How ranges of activations are chosen: "extrapolate", "minmax", "mse", "kl", a percentile as
        a number, or "search". "minmax" covers the values seen. "extrapolate" covers what 500
        samples are likely to reach (20 with powers of two), if the data hold fewer. The search
        starts from it and tries narrower ranges, format by format, on the exact network.
    effort : {"fast", "best"}, Effort or mapping, default "fast"
        "best" takes the steps of docs/quantizing.md that make a network more accurate; an Effort
        also has a time limit, the steps, and a file to resume from.
    budget : Budget or mapping, optional
        The most bytes of flash, bytes of memory or cycles that the network may take; or the most
        accuracy that the smallest network may lose.
    options : QuantizeOptions or mapping, optional
        How weights and single layers are quantized.
    threads : int, default 1
        Candidates of a search that are computed at a time.
    client : dask.distributed.Client, str or int, optional
        Compute candidates of a search on this cluster, on that of the scheduler at this address, or
        on so many processes of this machine.
    progress : callable, optional
        Wraps iterations over batches and search steps, as tqdm does.

    Returns
    -------
    Network
        The quantized network with its float reference; its `notes` say what had to change.

    Raises
    ------
    ModelError
        The device has no function for an operator (the sentence names all of them), or the file
        cannot be read.
    Error
        An option or the data do not fit.

    References
    ----------
    TensorFlow Lite's quantization specification, for the scheme affine; see also
    docs/quantizing.md.

    Examples
    --------
    >>> quantized = quantize("net.onnx", "calib.npz", target="cortex-m4")
    """
    network, progress = unquantized(network), as_callable(progress, "progress")
    choice, tries = read_group(QuantizeOptions, options, "options"), Effort.of(effort)
    device = Target.of(DEFAULT_CORE if target is None else target)
    scheme = get_scheme_for(device) if scheme is None else one_of(SCHEMES, scheme, "scheme")
    wanted = _profile_for(scheme, device)
    searched = isinstance(method, str) and method == "search"
    first = "extrapolate" if searched else method
    chosen = get_scheme(
        *(scheme, wanted, choice.functions, bits, first, choice.weight_method),
        fallback=choice.fallback is not None,
    )
    threads = as_count(threads, "threads", most=MOST_THREADS)
    file, taken = None if tries.resume is None else Path(tries.resume), tries.taken
    span = tries.search_range * chosen.octave
    how = Search(span, tries.tolerance, None, threads, resume=file)
    limits, goal = parse_budget(
        vars(read_group(Budget, budget, "budget")), chosen, bits, device.device
    )
    widths = limits or goal
    if client is not None and not (searched or taken or widths):
        raise Error(
            "client needs method='search', effort='best' or a budget=, which alone have "
            "many candidates: leave it out"
        )
    if file is not None and not (searched or taken):
        raise Error(
            "resume needs method='search' or effort='best', which alone write checkpoints: "
            "leave it out"
        )
    job = _job(network, chosen, choice.formats or {}, choice.softmax, choice.runtime)
    data = Dataset.of(data)
    float_graph = network.graph
    if searched or taken or widths:
        _expect_one_input(float_graph)
    scores = float_graph.shapes[float_graph.outputs[-1]]
    source = float_batches(float_graph, data, count=count_classes(scores))
    kept: list[Batch] = []
    tally = InputTally()

    def inputs() -> Iterable[Any]:
        for batch in progress(source) if progress else source:
            x = _channels_last(batch.x, network.graph)
            if not isinstance(x, Mapping):
                tally.add(x)
                x = _device_input(job.reference, job.graph.input, x)
            if searched or taken or widths or not kept:
                kept.append(Batch(x, batch.y))
            yield x

    tried: Given = {}
    once = limit_blas_threads(float_graph, SIZE), files.lock_file(file)
    with once[0], once[1], open_cluster(client) as found:
        announce("observes ranges")
        job = replace(job, statistics=observe(job.graph, inputs()))
        until = time.monotonic() + 60 * tries.minutes
        way = StepPlan(taken, until, replace(how, client=found), limits, progress)
        announce("chooses formats")
        job, curve, way = choose_widths(job, kept, way, goal)
        if searched:
            own = name_search_record(file, "method") if taken else file
            tried = searched_formats(job, kept, replace(way.search, resume=own), progress)
        final = job.formats(tried)
        if taken:
            job, final = improve_network(job, tried, kept, way)
    graph = job.scheme.lower(job.graph, final)
    choices: tuple[str, ...] = ()
    if target is not None:
        graph, choices = quickest(
            graph, device.device, wanted, {*(choice.functions or {}).values()}, way.budget
        )
    plan(graph, wanted)  # the device accepts every call
    _tell_inputs(graph, kept[0].x)
    told = (tell_names(source.classes),) if source.classes else ()
    notes = (*told, *describe_calibration(tally.summarize()), *job.notes, *final.notes, *choices)
    made = Network(graph, job.reference, notes, data.preprocessing, curve)
    return replace(made, calibration=tally.summarize())


def _expect_one_input(graph: FloatGraph) -> None:
    if graph.others:
        raise Error(
            f"{graph.name} has several inputs: method='search', effort='best' and budget= are for "
            "networks of one input, leave them out"
        )


def _tell_inputs(graph: Graph, x: Any) -> None:
    """Log or warn how samples use the formats of the inputs."""
    for tensor in graph.inputs:
        gauge, real = Gauge(tensor), x[tensor.name] if isinstance(x, Mapping) else x
        gauge.add(tensor.format.quantize(real), real)
        tell(gauge)


def _profile_for(scheme: str, device: Target) -> Profile:
    """Return the profile of a device for the functions of a scheme."""
    if device.esp_nn is not None:
        return device.profile() if scheme == "affine" else device.esp_dl_profile()
    device = replace(device, cmsis=device.cmsis or SCHEMES[scheme])
    wanted = device.profile()
    both = device.rounding is None and "double" in roundings(wanted.cmsis)
    return replace(device, rounding="double").profile() if both and scheme == "affine" else wanted


def get_scheme_for(target: Target) -> str:
    """Return the scheme of the functions that a target's release has."""
    if target.cmsis is None:
        return "power2" if target.rounding in roundings(LEGACY_CMSIS)[:2] else "affine"
    return "affine" if is_affine(target.cmsis) else "power2"


def _job(
    network: FloatNetwork, scheme: Scheme, given: Overrides, softmax: bool, runtime: str
) -> Job:
    reference, notes = optimize(network.graph)
    device = take_device_part(reference)
    _check_computed(device)
    graph, more = scheme.prepare(device, softmax)
    if graph.input != reference.input:
        notes = (
            *notes,
            f"the device's input is {graph.input}; the host computes what comes before, as "
            "predict() does",
        )
    # Operators that cannot be lowered are refused before any data is read.
    drafted = scheme.lower(graph, scheme.draft(graph))
    told = tell_functions(drafted, runtime)
    return Job(reference, graph, scheme, given, (*notes, *more, *told), {})


def _check_computed(graph: FloatGraph) -> None:
    """Refuse outputs that are the input, for which there is no call."""
    makers = {node.name: node for node in graph.nodes}
    for output in graph.outputs:
        name = output
        while name in makers and isinstance(makers[name].operator, (Identity, Reshape)):
            name = makers[name].inputs[0]
        if name in graph.starts:
            raise ModelError(
                f"{graph.name}: its output {output!r} is its own input {name!r}, for which "
                "the device has no layers: load() the part that it computes with output="
            )


def _channels_last(x: Any, graph: FloatGraph) -> Any:
    """Return samples with the channels of images last, of several inputs by their names."""
    given = x if isinstance(x, Mapping) else {graph.input: x}
    moved = {
        name: np.moveaxis(part, 1, -1) if graph.layout_of(name) == "NCHW" else part
        for name, part in given.items()
    }
    return moved if isinstance(x, Mapping) else moved[graph.input]


def _device_input(reference: FloatGraph, name: str, x: np.ndarray) -> np.ndarray:
    """Return the real values of the device's input tensor, from float inputs of the network."""
    if name == reference.input:
        return x
    return next(value for tensor, value in iterate_tensors(reference, x) if tensor == name)
