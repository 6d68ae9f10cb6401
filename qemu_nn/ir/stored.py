"""Constant arrays of a network as the device stores them, and their bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .graph import Graph, Node


@dataclass(frozen=True)
class Stored:
    """Array that a pointer argument of a call points to.

    argument: its name in C. key: equal for two calls that share the array.
    """

    argument: str
    key: tuple[str, str]
    values: np.ndarray


def list_stored_arrays(graph: Graph, node: Node) -> Iterator[Stored]:
    """Yield the constant arrays of a call, with the element types of the device."""
    function = node.function
    if function.weights is not None and node.weights is not None:
        array = graph.arrays[node.weights]
        if function.parts:
            yield from _parts(node, node.weights, array.ravel())
        else:
            yield Stored(function.weights.name, (node.weights, ""), array)
    if function.bias is not None and node.bias is not None:
        array = graph.arrays[node.bias]
        rows = array.reshape(len(function.stack), -1) if function.stack else (array,)
        for declared, row in zip(function.stack or (function.bias,), rows):
            values = row.astype(declared.dtype_in(node.params))
            yield Stored(declared.name, (node.bias, declared.name), values)


def _parts(node: Node, name: str, flat: np.ndarray) -> Iterator[Stored]:
    """Yield the arrays that are concatenated in one."""
    start = 0
    for part in node.function.parts:
        shape = part.shape(node.params)
        values = flat[start : start + math.prod(shape)].astype(part.dtype).reshape(shape)
        start += values.size
        yield Stored(part.name, (name, part.name), values)


def layer_bytes(graph: Graph, node: Node) -> int:
    """Return bytes of the constant arrays of a call."""
    return sum(each.values.nbytes for each in list_stored_arrays(graph, node))


def weight_bytes(graph: Graph) -> int:
    """Return the bytes of all constant arrays on the device, and of the states' values
    after reset.
    """
    arrays = {
        each.key: each.values for node in graph.nodes for each in list_stored_arrays(graph, node)
    }
    resets = [graph.arrays[each.name] for each in graph.states if each.name in graph.arrays]
    return sum(values.nbytes for values in (*arrays.values(), *resets))
