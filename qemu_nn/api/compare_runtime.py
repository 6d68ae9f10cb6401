"""The same file on the device and in LiteRT, TensorFlow Lite Micro's wheel or ONNX Runtime."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from ..analysis.runtime_comparison import Running, RuntimeComparison
from ..errors import Error
from ..io.arguments import as_callable, as_path, one_of
from ..io.stages import announce
from ..ir.graph import Graph
from ..ir.tensors import Tensor
from ..runtime.host import Host
from ..runtime.session import Session
from ..targets import DEFAULT_CORE, Target
from .data import Batches, Dataset, batches, coded_batches
from .network import Network, load_quantized
from .other_runtimes import RUNTIMES, OtherRuntime, load_into

#: Samples that are computed at a time: all layers of each are kept.
_BATCH = 8

#: Runtime -> the module that it needs.
_MODULES = {"litert": "ai_edge_litert", "tflm": "tflite_micro", "onnxruntime": "onnxruntime"}


def compare_runtime(
    model: Union[str, Path],
    data: Any,
    runtime: Optional[str] = None,
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None,
) -> RuntimeComparison:
    """Compare what a device computes of a file with what another runtime computes on this PC.

    Both get the same integers. A file that begins with floats gets those that they stand for.

    Parameters
    ----------
    model : str or Path
        A quantized .tflite or .onnx file.
    data : Dataset or source
        Samples, as run() takes them. All are computed: a Dataset with a limit takes a part.
    runtime : {"litert", "xnnpack", "tflm", "onnxruntime"}, optional
        LiteRT's own kernels; LiteRT with XNNPACK, as it is by default, of which outputs are
        compared only; the reference kernels of TensorFlow Lite Micro; ONNX Runtime. Default: the
        first of these that runs the file and is installed, without XNNPACK.
    target : str or Target, default "cortex-m4"
        The device.
    progress : callable, optional
        Wraps the iteration over batches, as tqdm does.

    Returns
    -------
    RuntimeComparison
        For each layer how many elements differ and by how much, where this begins, and a page with
        maps of where.

    Raises
    ------
    Error
        The runtime is missing or cannot load the file, or the data do not fit the network.

    Examples
    --------
    >>> print(qemu_nn.compare_runtime("net.tflite", "images.npy", "litert"))
    """
    path, progress = as_path(model, "a model"), as_callable(progress, "progress")
    network = load_quantized(path)
    before = network.before
    if before is not None and len(before.starts) > 1:
        raise Error(
            f"{path} has {len(before.starts)} inputs and host steps before the device's "
            "network; with such steps a file must have one input"
        )
    name = _chosen(path) if runtime is None else one_of(RUNTIMES, runtime, "runtime")
    session, graph = network.session(target), network.graph
    other = load_into(name, path, [node.name for node in graph.nodes])
    found = {node.name: Running() for node in graph.nodes}
    source = _batches(session.host, Dataset.of(data))
    host = replace(session.host, preprocessing=None)  # samples come prepared
    samples = 0
    announce("compares layers")
    for batch in progress(source) if progress else source:
        x = batch.x if before is None else host.codes(batch.x)
        _compare(session, other, x, found, None if before is None else batch.x)
        samples += len(batch)
    return _result(network, name, session, samples, found)


def _batches(host: Host, data: Dataset) -> Batches:
    """Return batches of codes; with steps of the host before the network, of floats as the file
    takes them.
    """
    before = host.before
    if before is None:
        return coded_batches(host, data, _BATCH)
    data = replace(data, preprocessing=data.preprocessing or host.preprocessing)
    return batches(data, before.shape, before.layout, _BATCH)


def _chosen(path: Path) -> str:
    """Return the first runtime that is installed and runs such files."""
    fitting = [name for name in _MODULES if RUNTIMES[name][0] == path.suffix.lower()]
    for name in fitting:
        if importlib.util.find_spec(_MODULES[name]) is not None:
            return name
    if fitting:
        return fitting[0]  # whose loading says what to install
    raise Error(f"no runtime can be compared with {path}: give a .tflite or .onnx file")


def _compare(
    session: Session,
    other: OtherRuntime,
    x: Any,
    found: Mapping[str, Running],
    floats: Optional[np.ndarray],
) -> None:
    """Compute a batch on both, and add up the differences of each layer.

    floats: what the file takes, if the host computes the network's codes of it.
    """
    graph = session.graph
    codes = x if isinstance(x, Mapping) else {graph.input.name: x}
    own = session.run(x, trace=True)
    tensors, recurrent = graph.tensors, bool(graph.states)
    for sample in range(len(next(iter(codes.values())))):
        other.reset()
        for step in _steps(codes, sample, recurrent):
            if floats is None:
                given = _inputs(graph, other, {n: codes[n][step] for n in codes})
            else:
                ((shape, dtype),) = other.inputs
                given = [np.ascontiguousarray(floats[step], dtype).reshape(shape)]
            theirs = other.step(given)
            for name, values in theirs.items():
                mine = tensors[name].from_memory(own[name][step][np.newaxis])[0]
                if mine.size == values.size:
                    found[name].add(mine, _codes(values, tensors[name]))


def _codes(values: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return another runtime's values as the device's integers: floats and bytes without a sign
    are those of the same format.
    """
    if values.dtype.kind == "f" and tensor.dtype != "float32" and tensor.spelled is not None:
        return tensor.format.quantize(values)
    if values.dtype == np.uint8 and tensor.dtype == "int8":
        return (values.astype(np.int16) - 128).astype(np.int8)
    return values


def _steps(codes: Mapping[str, np.ndarray], sample: int, recurrent: bool) -> Iterator[Any]:
    """Yield where a sample is in arrays [N, ...], or each of its time steps in [N, T, ...]."""
    if not recurrent:
        yield (sample,)
        return
    for step in range(next(iter(codes.values())).shape[1]):
        yield (sample, step)


def _inputs(
    graph: Graph, other: OtherRuntime, codes: Mapping[str, np.ndarray]
) -> Sequence[np.ndarray]:
    """Return the integers of one sample as the file takes them, or the floats they stand for."""
    found = []
    for tensor, (shape, dtype) in zip(graph.inputs, other.inputs):
        values = tensor.from_memory(codes[tensor.name][np.newaxis])
        if np.dtype(dtype).kind == "f" and values.dtype.kind != "f":
            values = tensor.format.dequantize(values)
        elif values.dtype != dtype:
            raise Error(f"the file's input is {np.dtype(dtype)}, but the network's {values.dtype}")
        if values.size != np.prod(shape):
            raise Error(
                f"the input {tensor.name!r} of the file is {list(shape)}, several samples "
                "at once; files must read one sample"
            )
        found.append(np.ascontiguousarray(values, dtype).reshape(shape))
    return found


def _result(
    network: Network, runtime: str, session: Session, samples: int, found: Mapping[str, Running]
) -> RuntimeComparison:
    graph = session.graph
    differs = {name for name, running in found.items() if running.differing}
    hidden = {name for name, running in found.items() if running.where is None}
    layers = []
    for node in network.graph.nodes:
        same = not differs.intersection(_shown_inputs(graph, node.inputs, hidden))
        layers.append(found[node.name].result(node.name, node.function.name, same))
    profile = str(session.profile)
    return RuntimeComparison(graph.name, runtime, profile, samples, tuple(layers), graph.outputs)


def _shown_inputs(graph: Graph, names: Iterable[str], hidden: set[str]) -> Iterator[str]:
    """Yield the inputs of a layer; of one that the other runtime does not show, its own inputs."""
    made = {node.name: node for node in graph.nodes}
    for name in names:
        if name in hidden:
            yield from _shown_inputs(graph, made[name].inputs, hidden)
        else:
            yield name
