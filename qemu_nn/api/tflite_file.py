"""Saves quantized networks as .tflite files, each read again before it is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error, ModelError
from ..exporters import tflite as exporter
from ..importers import tflite as importer
from ..io.files import write_bytes
from ..ir.graph import Build, Graph, Node, Tensor


def save_tflite(graph: Graph, path: Path) -> None:
    """Write a network as a .tflite file, whole or not at all.

    The file, read by load(), is the same calls with the same arguments and arrays; one that is not
    is never written. Raises ModelError that names what such files do not hold; Error where the
    libraries `tflite` and `flatbuffers` are missing.
    """
    data, calls = exporter.written(graph)
    try:
        found = _difference(calls, importer.parsed(path, data))
    except ModelError as error:
        found = str(error)
    if found is not None:
        raise ModelError(f"no .tflite file holds {graph.name}: {found}; save it as .qnz")
    write_bytes(path, data)


def _difference(calls: Graph, held: Graph) -> Optional[str]:
    """What a file would change of a network, in words; None for nothing.

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
    """What a call computes with."""
    return {
        "functions": node.function.name,
        "arguments": dict(node.params),
        "inputs": len(node.inputs),
        "numbers": _numbers(graph, node),
        "formats": _format(node.output),
        "builds": sorted(_builds(graph, node.builds)),
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
    """Raise Error for a path that ends neither in .qnz nor in .tflite, and for the latter where
    the libraries that write it are missing."""
    if path.suffix == ".tflite":
        exporter.check_libraries()
    if path.suffix not in (".qnz", ".tflite"):
        stem = path.stem or "network"
        raise Error(
            f"{path}: a quantized network is saved as a .qnz or a .tflite file; name it "
            f"{stem}.qnz or {stem}.tflite"
        )
