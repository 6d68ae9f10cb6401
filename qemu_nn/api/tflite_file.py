"""Saves quantized networks as .tflite files, each read again before it is written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error, ModelError
from ..exporters import tflite as exporter
from ..functions.tflm_builds import ESP_DIFFERENCES
from ..importers import tflite as importer
from ..io.files import write_bytes
from ..ir.graph import Build, Graph, Node, Tensor
from ..ir.preprocessing import Preprocessing

#: Factors of numbers that are tried: the last bits of float32.
_NUDGES = tuple(1 + bits * 2.0**-23 for bits in (0, 1, -1, 2, -2))


def save_tflite(graph: Graph, path: Path, preprocessing: Optional[Preprocessing] = None) -> None:
    """Write a network as a .tflite file, whole or not at all; see as_tflite()."""
    write_bytes(path, as_tflite(graph, path, preprocessing))


def as_tflite(graph: Graph, path: Path, preprocessing: Optional[Preprocessing] = None) -> bytes:
    """Return a network as the bytes of a .tflite file, whose path is for sentences.

    The file, read by load(), is the same calls with the same arguments and arrays. Its metadata
    have the names of classes, and the preprocessing as far as they can say it. Raises ModelError
    that names what such files do not hold.
    """
    data, calls = exporter.write(graph, _beside(graph, preprocessing))
    try:
        found = _difference(calls, importer.read_network(path, data))
    except ModelError as error:
        found = str(error)
    if found is not None:
        raise ModelError(f"no .tflite file represents {graph.name}: {found}; save it as .qnz")
    return data


def _beside(
    graph: Graph, preprocessing: Optional[Preprocessing]
) -> Optional[exporter.FileMetadata]:
    """Return the metadata of the file; None if there are none."""
    steps = None if preprocessing is None else _normalization(graph, preprocessing)
    labels = tuple(map(importer.clean_label, graph.classes))
    if labels != graph.classes:  # a line of a file holds no such name
        labels = ()
    if steps is None:
        return exporter.FileMetadata(len(graph.outputs), labels=labels) if labels else None
    return exporter.FileMetadata(len(graph.outputs), steps.mean, steps.std, labels)


def _normalization(graph: Graph, preprocessing: Preprocessing) -> Optional[Preprocessing]:
    """Return the preprocessing of bytes as (raw - mean) / std, with numbers that float32 holds,
    which are nudged until all bytes become the same integers; None where no nudge does.
    """
    scale = np.ravel(preprocessing.scale)
    if preprocessing.dtype not in (None, "uint8") or len(graph.inputs) > 1 or not scale.all():
        return None
    every = np.arange(256, dtype=np.uint8)[:, None].repeat(preprocessing.channels or 1, 1)
    wanted = graph.input.format.quantize(preprocessing.apply(every, "NHWC"))
    shape, found = wanted.shape[1:], np.zeros((2, *wanted.shape[1:]))
    with np.errstate(all="ignore"):
        exact = [np.broadcast_to(v / scale, shape) for v in (preprocessing.mean, preprocessing.std)]
        for nudges in product(_NUDGES, repeat=2):
            held = np.array([np.float32(v * n) for v, n in zip(exact, nudges)], np.float64)
            if not np.isfinite(held).all() or not held[1].all():
                return None
            steps = Preprocessing(mean=held[0], std=held[1], dtype="uint8")
            same = (graph.input.format.quantize(steps.apply(every, "NHWC")) == wanted).all(0)
            found = np.where(found[1] != 0, found, held * same)
    if not (found[1] != 0).all():
        return None
    steps = Preprocessing(mean=found[0], std=found[1], dtype="uint8")
    return steps if steps.changes else None


def _difference(calls: Graph, held: Graph) -> Optional[str]:
    """Return what a file would change of a network, in words; None for nothing.

    From the outputs on backwards: constants may come earlier or later.
    """
    for start, read in zip(calls.inputs, held.inputs):
        if (start.name, start.shape, _format(start)) != (read.name, read.shape, _format(read)):
            return f"its input {start.name} would become {read}"
    states = [[_state(graph, each) for each in graph.states] for graph in (calls, held)]
    if sorted(states[0]) != sorted(states[1]):
        return f"its states would be other than {', '.join(each.name for each in calls.states)}"
    if len(calls.nodes) != len(held.nodes):
        return f"it has {len(calls.nodes)} calls and would have {len(held.nodes)}"
    makers = [{node.name: node for node in graph.nodes} for graph in (calls, held)]
    pairs = list(zip(calls.outputs, held.outputs))
    same: dict[str, str] = {}
    while pairs:
        name, other = pairs.pop()
        if name in same or not (name in makers[0] and other in makers[1]):
            if same.get(name, name) != other:
                return f"{name} would be read as {other}"
            continue
        same[name] = other
        node, made = makers[0][name], makers[1][other]
        was, now = _facts(calls, node), _facts(held, made)
        if not node.builds:
            now["builds"] = was["builds"]
        for what in was:
            if was[what] != now[what]:
                return f"{node.name} ({node.function.name}) would have other {what}"
        pairs += zip(node.inputs, made.inputs)
    return None


def _format(tensor: Tensor) -> tuple[Any, ...]:
    scale = None if tensor.scale is None else np.float32(tensor.scale)
    return tensor.dtype, scale, tensor.zero_point


def _state(graph: Graph, state: Tensor) -> tuple[str, str]:
    first = graph.arrays.get(state.name)
    return state.name, repr((_format(state), None if first is None else first.tobytes()))


def _facts(graph: Graph, node: Node) -> dict[str, Any]:
    """Return what a call computes with. The ESP32 family's builds are left out: a written file has
    a bias where they need one.
    """
    builds = [each for each in node.builds if each.difference not in ESP_DIFFERENCES]
    return {
        "functions": node.function.name,
        "arguments": dict(node.params),
        "inputs": len(node.inputs),
        "numbers": _numbers(graph, node),
        "formats": _format(node.output),
        "builds": sorted(_builds(graph, builds)),
    }


def _builds(graph: Graph, builds: Iterable[Build]) -> Iterable[tuple[str, str]]:
    for build in builds:
        name = "" if build.function is None else build.function.name
        own = (name, sorted(build.params.items()), _numbers(graph, build), bool(build.refused))
        yield build.difference, repr(own)


def _numbers(graph: Graph, held: Node | Build) -> list[Optional[bytes]]:
    arrays = (held.weights, held.bias)
    return [None if name is None else graph.arrays[name].tobytes() for name in arrays]


def check_ending(path: Path) -> None:
    """Raise Error for a path that does not end in .qnz, .tflite or .espdl."""
    if path.suffix not in (".qnz", ".tflite", ".espdl"):
        stem = path.stem or "network"
        raise Error(
            f"{path}: a quantized network is saved as a .qnz file, or as a .tflite or .espdl file; "
            f"name it {stem}.qnz or {stem}.tflite"
        )
