"""Quantizes a float network: optimize, observe the data, assign formats, lower to calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..io import files
from ..io.arguments import (
    MOST_THREADS,
    as_callable,
    as_count,
    as_flag,
    as_mapping,
    as_number,
    as_path,
    format_value,
    one_of,
)
from ..ir.float_graph import FloatGraph
from ..lowering import take_device_part
from ..operators import Identity, Reshape
from ..optimize import optimize
from ..ptq.budgets import parse_budget
from ..ptq.candidate import StepPlan
from ..ptq.checkpoint import name_search_record
from ..ptq.format_search import Job, Progress
from ..ptq.format_search import search_all_formats as searched_formats
from ..ptq.mixed_precision import narrow_layers
from ..ptq.pipeline import improve_network
from ..ptq.schemes import SCHEMES, Overrides, Scheme, get_scheme
from ..quantizer.search import Given, Search
from ..quantizer.statistics import observe
from ..quantizer.steps import EFFORTS, STEPS
from ..runtime.cluster import open_cluster
from ..runtime.evaluate import iterate_tensors
from ..runtime.input_checks import Gauge, tell
from ..runtime.plan import plan
from ..targets import DEFAULT_CORE, Target
from .data import Batch, Dataset, batches
from .kernel_ranking import quickest
from .network import FloatNetwork, Network, unquantized


def quantize(
    network: Union[FloatNetwork, str, Path],
    data: Any,
    *,
    scheme: str = "power2",
    target: Union[str, Target, None] = None,
    bits: int = 8,
    method: Union[str, float] = "extrapolate",
    weight_method: Union[str, float] = "minmax",
    effort: str = "fast",
    steps: Optional[Sequence[str]] = None,
    minutes: float = 10.0,
    flash: Optional[int] = None,
    ram: Optional[int] = None,
    cycles: Optional[int] = None,
    formats: Optional[Overrides] = None,
    functions: Optional[Mapping[str, str]] = None,
    softmax: bool = True,
    search_range: int = 3,
    tolerance: float = 0.0,
    threads: int = 1,
    client: Any = None,
    workers: Optional[int] = None,
    resume: Union[str, Path, None] = None,
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
    scheme : {"power2", "affine"}, default "power2"
        "power2": powers of two, for the q7 (bits=8) or q15 (bits=16) functions. "affine":
        TensorFlow Lite's scheme for the s8 functions, with a scale and a zero point for each
        tensor, and a weight scale for each output channel of a convolution; with bits=16 its 16x8
        scheme, for the s16 functions: activations of 16 bits without zero points, weights of 8.
    target : str or Target, optional
        The device, as Network.session() takes it; default: "cortex-m4", and of a target without a
        release "5.9.0" for power2, "7.0.0" for affine. Of several functions that give a layer's
        bits, a core or chip that is named gets the one of the fewest estimated cycles on it;
        `notes` say what that gains.
    bits : {8, 16}, default 8
        Bits of activations, and of weights but in the scheme affine, which has weights of 8.
    method : str or float, default "extrapolate"
        How ranges of activations are chosen: "extrapolate", "minmax", "mse", "kl", a percentile as
        a number, or "search". "minmax" covers the values seen. "extrapolate" covers what 500
        samples are likely to reach (20 with powers of two), if the data hold fewer. The search
        starts from it and tries narrower ranges, format by format, on the exact network.
    weight_method : str or float, default "minmax"
        The same for weights, without "search".
    effort : {"fast", "best"}, default "fast"
        "best" takes the steps of docs/quantizing.md, and keeps those that make the network more
        accurate on samples that did not fit it; `notes` say what each has gained there.
    steps : sequence of str, optional
        Take these steps alone, in their order: "average", "formats", "equalize", "absorb",
        "split", "search", "round", "correct", "descend".
    minutes : float, default 10.0
        Begin no step, and no layer of a step, after so many minutes; a search takes up to half of
        them. Widths for a budget are no longer measured after them, but chosen by what they save.
    flash : int, optional
        The most bytes of weights and biases. As many layers as needed get weights of 4 bits, those
        first that cost the least; `notes` say what each costs. For scheme="affine" with bits=8.
    ram : int, optional
        The most bytes of memory, as exported firmware has it (fit() says it, too) without a stack.
        Layers get activations of 16 bits as far as it and the other budgets let them, those first
        that gain the most. For scheme="affine" with bits=8.
    cycles : int, optional
        The same for the cycles that estimate() gives for `target`.
    formats : mapping of str to mapping, optional
        Overrides: formats that are given and not chosen, by layer and role. For power2 in fraction
        bits, {"conv1": {"output": 5, "weights": 7, "bias": 6}}; for affine as ranges of outputs,
        {"conv1": {"output": (-1.5, 2.0)}}.
    functions : mapping of str to str, optional
        Layer -> the C function to call instead of the fastest that fits.
    softmax : bool, default True
        Keep a softmax at the end.
    search_range : int, default 3
        How often a search halves a range at most.
    tolerance : float, default 0.0
        With labels, a search ends when its accuracy is at most this much below the float network's.
    threads : int, default 1
        Candidates of a search that are computed at a time.
    client : dask.distributed.Client or str, optional
        Compute candidates of a search on this cluster, or on that of the scheduler at this address.
    workers : int, optional
        Compute candidates of a search on so many processes of this machine, by dask.
    resume : str or Path, optional
        A file that keeps what a search has decided, and what steps have made of the network, after
        each of them, so that an interrupted run can go on: its result is that of one run.
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
    softmax = as_flag(softmax, "softmax")
    scheme = one_of(SCHEMES, scheme, "scheme")
    device = Target.of(DEFAULT_CORE if target is None else target)
    wanted = replace(device, cmsis=device.cmsis or SCHEMES[scheme]).profile()
    searched = isinstance(method, str) and method == "search"
    one_of(EFFORTS, effort, "effort")
    first = "extrapolate" if searched else method
    chosen = get_scheme(scheme, wanted, functions, bits, first, weight_method)
    span = as_count(search_range, "search_range", 0, 64) * chosen.octave
    threads = as_count(threads, "threads", most=MOST_THREADS)
    file = None if resume is None else as_path(resume, "resume")
    how = Search(span, as_number(tolerance, "tolerance"), None, threads, resume=file)
    how_long = as_number(minutes, "minutes")
    if how_long < 0:
        raise Error(f"minutes must be 0 or more, not {format_value(minutes)}")
    taken = EFFORTS[effort] if steps is None else _steps(steps)
    budget = parse_budget(
        {"flash": flash, "ram": ram, "cycles": cycles}, chosen, bits, device.device
    )
    if not (searched or taken or budget) and (client is not None or workers is not None):
        raise Error(
            "client and workers are for method='search', effort='best', flash=, ram= and cycles=, "
            "which alone have many candidates"
        )
    if file is not None and not (searched or taken):
        raise Error(
            "resume is for method='search', effort='best' and steps=, which alone can go on later"
        )
    given = {
        layer: as_mapping(roles, f"the formats of {layer}")
        for layer, roles in as_mapping(formats, "formats").items()
    }
    job = _job(network, chosen, given, softmax)
    data = Dataset.of(data)
    source = batches(data, network.graph.shape, network.graph.layout)
    to_device_input = partial(_device_input, job.reference, job.graph.input)
    kept: list[Batch] = []

    def inputs() -> Iterable[np.ndarray]:
        for batch in progress(source) if progress else source:
            x = to_device_input(_channels_last(batch.x, network.graph))
            if searched or taken or budget or not kept:
                kept.append(Batch(x, batch.y))
            yield x

    job = replace(job, statistics=observe(job.graph, inputs()))
    tried: Given = {}
    curve = None
    with files.locked(file), open_cluster(client, workers) as found:
        until = time.monotonic() + 60 * how_long
        way = StepPlan(taken, until, replace(how, client=found), budget, progress)
        if budget is not None:
            job, curve = narrow_layers(job, kept, budget, way)
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
            graph, device.device, wanted, {*(functions or {}).values()}, budget
        )
    plan(graph, wanted)  # the device accepts every call
    gauge, x = Gauge(graph.input), kept[0].x
    gauge.add(graph.input.format.quantize(x), x)
    tell(gauge)
    notes = (*job.notes, *final.notes, *choices)
    return Network(graph, job.reference, notes, data.preprocessing, curve)


def _steps(steps: Any) -> tuple[str, ...]:
    """Return the steps that are named, in the order in which they are taken."""
    if isinstance(steps, str) or not isinstance(steps, Iterable):
        raise Error(f"steps must be a list of {', '.join(STEPS)}, not {format_value(steps)}")
    named = [one_of(STEPS, step, "step") for step in steps]
    return tuple(step for step in STEPS if step in named)


def _job(network: FloatNetwork, scheme: Scheme, given: Overrides, softmax: bool) -> Job:
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
    scheme.lower(graph, scheme.draft(graph))
    return Job(reference, graph, scheme, given, (*notes, *more), {})


def _check_computed(graph: FloatGraph) -> None:
    """Refuse outputs that are the input, for which there is no call."""
    makers = {node.name: node for node in graph.nodes}
    for output in graph.outputs:
        name = output
        while name in makers and isinstance(makers[name].operator, (Identity, Reshape)):
            name = makers[name].inputs[0]
        if name == graph.input:
            raise ModelError(
                f"{graph.name}: its output {output!r} is its own input {name!r}, for which the "
                "device has no layers; load() takes the part that it computes with output="
            )


def _channels_last(x: np.ndarray, graph: FloatGraph) -> np.ndarray:
    return np.moveaxis(x, 1, -1) if graph.layout == "NCHW" else x


def _device_input(reference: FloatGraph, name: str, x: np.ndarray) -> np.ndarray:
    """Return the real values of the device's input tensor, from float inputs of the network."""
    if name == reference.input:
        return x
    return next(value for tensor, value in iterate_tensors(reference, x) if tensor == name)
