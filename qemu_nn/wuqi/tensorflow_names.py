"""Import of frozen graphs as the kit does: TensorFlow's names, and each bias in the layer before
it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ..ir.float_graph import FloatGraph
from ..operators import Identity
from .from_float import Loaded, from_float
from .optimize import merge_biases


def from_tensorflow(graph: FloatGraph) -> Loaded:
    """Return the layers and float parameters of a frozen graph.

    The name of a layer is that of the node that computes it. The name of a tensor is that of the
    last node that only passes it on (a bias addition, an identity), with ":0" for its first output.
    """
    graph, computed = _rename_to_last(graph)
    layers, params = from_float(graph)
    for layer in layers:
        old = layer.name
        layer.name = graph.input if layer.type == "Input" else computed.get(old, old)
        for role in ("weight", "bias"):
            if f"{old}_{role}" in params:
                params[f"{layer.name}_{role}"] = params.pop(f"{old}_{role}")
    layers, params = merge_biases(layers, params)
    for layer in layers:
        layer.bottom, layer.top = _outputs(layer.bottom), _outputs(layer.top)
    return layers, params


def _rename_to_last(graph: FloatGraph) -> tuple[FloatGraph, dict[str, str]]:
    """Return the graph with tensors renamed to their only reader, an identity, and the map of these
    names.
    """
    last: dict[str, str] = {}
    for node in graph.nodes:
        if isinstance(node.operator, Identity):
            (source,) = node.inputs
            if graph.readers(source) == [node] and source not in (graph.input, *graph.outputs):
                last[source] = node.name

    def name_tensor(name: str) -> str:
        while name in last:
            name = last[name]
        return name

    dropped = set(last.values())
    nodes = [
        replace(node, name=name_tensor(node.name), inputs=tuple(map(name_tensor, node.inputs)))
        for node in graph.nodes
        if node.name not in dropped
    ]
    return graph.with_nodes(nodes), {
        name_tensor(name): name for name in last if name not in dropped
    }


def _outputs(names: Any) -> Any:
    """Return tensors with TensorFlow's output numbers of a node."""
    if isinstance(names, list):
        return [_outputs(name) for name in names]
    return names if names is None or re.search(r":\d+$", names) else f"{names}:0"
