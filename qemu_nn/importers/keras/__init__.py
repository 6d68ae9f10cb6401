"""Keras networks: .h5 of Keras 1 and 2, .keras of Keras 2 and 3, read as JSON and HDF5."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ...errors import ModelError
from ...ir.float_graph import FloatGraph
from ...ir.model_file import ModelFile
from .model import build
from .reading import read_stored


def read(path: Path, input: Optional[str] = None, output: Optional[str] = None) -> ModelFile:
    """Read the float network of a file; tensors have the names of the layers that compute them.

    If a layer has an activation inside, its name is that of the activated tensor, and
    `<layer>/linear` that of the activation's input. input, output: layers that limit the network.
    Raises ModelError with one sentence for other files, Error without h5py.
    """
    return ModelFile(reference=_cut_network(build(path.stem, read_stored(path)), input, output))


def _cut_network(graph: FloatGraph, input: Optional[str], output: Optional[str]) -> FloatGraph:
    """Return the part of a network between two tensors."""
    for name in (input, output):
        if name is not None and name not in graph.shapes:
            have = ", ".join(graph.shapes)
            raise ModelError(f"{graph.name} has no layer {name!r}; have: {have}")
    ends = (output,) if output else graph.outputs
    wanted, nodes = set(ends), []
    for node in reversed(graph.nodes):
        if node.name in wanted and node.name != input:
            wanted.update(node.inputs)
            nodes.append(node)
    starts = [name for name in graph.starts if name in wanted]
    if input is not None and {*starts} - {input}:
        raise ModelError(f"{graph.name}: {', '.join(ends)} cannot be computed from {input!r} alone")
    start, *others = [input] if input else starts or [graph.input]
    shapes = tuple((name, graph.shapes[name]) for name in others)
    images = any(len(graph.shapes[name]) == 3 for name in (start, *others))
    layout = (graph.layout or "NHWC") if images else None
    sides = (start, graph.shapes[start], layout)
    return FloatGraph(graph.name, *sides, tuple(nodes[::-1]), ends, others=shapes)
