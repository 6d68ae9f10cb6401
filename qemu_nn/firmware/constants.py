"""The arrays of a network as its C has them: one for each pointer argument."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..ir.graph import Graph, Node


@dataclass(frozen=True)
class Constant:
    """What a pointer argument points to. key: the same of two layers that share it; part: what it
    is to its layer."""

    key: tuple[str, str]
    part: str
    values: np.ndarray


#: What C calls the weights of a layer.
_WEIGHTS = ("wt", "pM", "pA", "filter", "filter_packed_s4")


def _parts(node: Node, name: str, flat: np.ndarray) -> Iterator[tuple[str, Constant]]:
    """C argument -> array, of those that lie in one behind each other."""
    start = 0
    for part in node.function.parts:
        shape = part.shape(node.params)
        values = flat[start : start + math.prod(shape)].astype(part.dtype).reshape(shape)
        start += values.size
        yield part.name, Constant((name, part.name), part.name, values)


def _part(argument: str) -> str:
    return "wt" if argument in _WEIGHTS else argument


def constants(graph: Graph, node: Node) -> Mapping[str, Constant]:
    """C argument -> its array, in C's order of the arguments' declaration."""
    function = node.function
    found: dict[str, Constant] = {}
    if function.weights is not None and node.weights is not None:
        array = graph.arrays[node.weights]
        if function.parts:
            found.update(_parts(node, node.weights, array.ravel()))
        else:
            found[function.weights.name] = Constant(
                (node.weights, ""), _part(function.weights.name), array
            )
    if function.bias is not None and node.bias is not None:
        array = graph.arrays[node.bias]
        rows = array.reshape(len(function.stack), -1) if function.stack else (array,)
        for declared, row in zip(function.stack or (function.bias,), rows):
            values = row.astype(declared.dtype_in(node.params))
            key = (node.bias, declared.name)
            found[declared.name] = Constant(key, _part(declared.name), values)
    return found
