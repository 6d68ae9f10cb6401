"""Cross-layer equalization: scale channels between layers to use one format equally."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Callable, Union

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Conv, Dense, Elementwise, Identity, Operator, Pool, PRelu, Relu, Reshape
from ..operators.base import Shape

#: Magnitudes below this share of the largest one are raised to it, so dead channels stay unchanged.
_SMALLEST = 1e-4
#: Largest scale of a channel.
_MOST = 2.0**8
#: Share of a power of two to fill; an eighth remains for larger values of unseen data.
_FULL = 0.875
#: Passes over all groups, because each group changes the weights of its neighbours.
_SWEEPS = 3


@dataclass(frozen=True)
class Strength:
    """Exponents of channels' scales: reading^a / (values^b * writing^c), of largest magnitudes.

    reading, writing: of the weights that read and write a channel; values: of its activations.
    """

    name: str
    reading: float
    values: float
    writing: float


#: Each strength balances different magnitudes. The best one depends on the network and the scheme.
STRENGTHS = (
    Strength("weights", 0.5, 0.0, 0.5),
    Strength("activations", 0.0, 1.0, 0.0),
    Strength("weights and activations", 0.5, 0.5, 0.0),
    Strength("all", 1 / 3, 1 / 3, 1 / 3),
)


@dataclass(frozen=True)
class ChannelGroup:
    """Tensors whose channels are scaled together, because the layers between them only add.

    channels: their number; the last axis of a tensor contains each once or several times. writers,
    readers: convolutions and fully connected layers before and after.
    """

    channels: int
    tensors: tuple[str, ...]
    writers: tuple[str, ...]
    readers: tuple[str, ...]


def commutes(operator: Operator, shapes: list[Shape]) -> bool:
    """True if scaled channels in give the same scaled channels out."""
    if isinstance(operator, Relu):
        return operator.limit is None and operator.slope >= 0
    if isinstance(operator, PRelu):
        return bool((operator.slope >= 0).all())
    if isinstance(operator, Elementwise):
        return operator.kind != "multiply" and len(set(shapes)) == 1
    if isinstance(operator, Reshape):
        source, result = shapes
        return bool(source and result) and result[-1] % source[-1] == 0
    return isinstance(operator, (Identity, Pool))


def find_channel_groups(
    graph: FloatGraph, through: Callable[[Operator, list[Shape]], bool] = commutes
) -> list[ChannelGroup]:
    """Return all groups between layers that can be scaled.

    A group that contains an input or an output, or meets an operator for which `through` is false,
    cannot.
    """
    head = {name: name for name in graph.shapes}

    def find(name: str) -> str:
        while head[name] != name:
            name = head[name]
        return name

    barred = {*graph.starts, *graph.outputs}
    for node in graph.nodes:
        shapes = [graph.shapes[name] for name in (*node.inputs, node.name)]
        if through(node.operator, shapes):
            for name in node.inputs:
                head[find(name)] = find(node.name)
        elif not isinstance(node.operator, (Conv, Dense)):
            barred.update((*node.inputs, node.name))
    members: dict[str, list[str]] = {}
    for name in graph.shapes:
        members.setdefault(find(name), []).append(name)
    closed = {find(name) for name in barred}
    groups = [_find_group(graph, names) for start, names in members.items() if start not in closed]
    return [group for group in groups if group.writers and group.readers and group.channels > 1]


def _find_group(graph: FloatGraph, names: list[str]) -> ChannelGroup:
    weighted = [node for node in graph.nodes if isinstance(node.operator, (Conv, Dense))]
    return ChannelGroup(
        min(graph.shapes[name][-1] for name in names),
        tuple(names),
        tuple(node.name for node in weighted if node.name in names),
        tuple(node.name for node in weighted if node.inputs[0] in names),
    )


def scale_channels(graph: FloatGraph, group: ChannelGroup, factors: np.ndarray) -> FloatGraph:
    """Return the same function, with every channel of a group multiplied by its factor, all above
    0.
    """
    nodes = {node.name: node for node in graph.nodes}
    for name in group.writers:
        nodes[name] = _scale_writer(nodes[name], factors)
    for name in group.readers:
        nodes[name] = _scale_reader(nodes[name], factors)
    return graph.with_nodes(nodes.values())


def _scale_writer(node: FloatNode, factors: np.ndarray) -> FloatNode:
    operator = node.operator
    assert isinstance(operator, (Conv, Dense))
    rows = np.resize(factors, len(operator.weights))
    weights = operator.weights.astype(np.float64)
    weights = weights * rows.reshape(-1, *[1] * (weights.ndim - 1))
    bias = None if operator.bias is None else operator.bias.astype(np.float64) * rows
    return replace(node, operator=replace(operator, weights=weights, bias=bias))


def _scale_reader(node: FloatNode, factors: np.ndarray) -> FloatNode:
    operator = node.operator
    assert isinstance(operator, (Conv, Dense))
    weights = operator.weights.astype(np.float64) / _spread_over_weights(operator, factors)
    return replace(node, operator=replace(operator, weights=weights))


def _spread_over_weights(operator: Union[Conv, Dense], factors: np.ndarray) -> np.ndarray:
    """Return the factor of the input channel of each weight, broadcast to the weights."""
    depth = operator.weights.shape[-1]
    groups = operator.groups if isinstance(operator, Conv) else 1
    parts = np.resize(factors, groups * depth).reshape(groups, depth)
    rows = np.repeat(parts, len(operator.weights) // groups, axis=0)
    return rows.reshape(len(rows), *[1] * (operator.weights.ndim - 2), depth)


def find_largest_values(group: ChannelGroup, seen: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the largest magnitude of every channel."""
    rows = [seen[name].reshape(-1, group.channels).max(0) for name in group.tensors]
    result: np.ndarray = np.max(rows, axis=0)
    return result


def find_largest_weights(graph: FloatGraph, group: ChannelGroup) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest weights that write and that read each channel, of each layer relative to
    its largest.
    """
    writing = reading = np.zeros(group.channels)
    for name in group.writers:
        operator = graph.node(name).operator
        assert isinstance(operator, (Conv, Dense))
        rows = np.abs(operator.weights).reshape(len(operator.weights), -1).max(1)
        writing = np.maximum(writing, rows.reshape(-1, group.channels).max(0) / _find_largest(rows))
    for name in group.readers:
        operator = graph.node(name).operator
        assert isinstance(operator, (Conv, Dense))
        columns = _find_largest_columns(operator)
        reading = np.maximum(
            reading, columns.reshape(-1, group.channels).max(0) / _find_largest(columns)
        )
    return writing, reading


def _find_largest_columns(operator: Union[Conv, Dense]) -> np.ndarray:
    weights = np.abs(operator.weights)
    groups = operator.groups if isinstance(operator, Conv) else 1
    largest: np.ndarray = weights.reshape(groups, -1, weights.shape[-1]).max(1).ravel()
    return largest


def _find_largest(values: np.ndarray) -> float:
    return float(values.max()) or 1.0


def equalize_channels(
    graph: FloatGraph,
    seen: Mapping[str, np.ndarray],
    strength: Strength,
    fill: bool = False,
    fixed: Collection[str] = (),
) -> FloatGraph:
    """Return the same function, with the channels of every group scaled to use their formats
    equally.

    seen: tensor -> the largest magnitude of each element of its last axis, on data. fill: also
    scale each group so that its largest value fills a power of two, minus a reserve. fixed: layers
    and tensors that stay unchanged.
    """
    seen = dict(seen)
    groups = [
        group
        for group in find_channel_groups(graph)
        if not {*group.tensors, *group.writers, *group.readers} & {*fixed}
    ]
    for _ in range(_SWEEPS if strength.writing else 1):
        for group in groups:
            values = find_largest_values(group, seen)
            writing, reading = find_largest_weights(graph, group)
            exponents = (strength.reading, -strength.values, -strength.writing)
            logs = np.zeros(group.channels)
            for part, exponent in zip((reading, values, writing), exponents):
                if exponent:
                    logs += exponent * np.log2(np.maximum(part / _find_largest(part), _SMALLEST))
            factors = np.clip(2.0 ** (logs - np.median(logs)), 1 / _MOST, _MOST)
            largest = _find_largest(values * factors)
            wanted = (
                _find_largest(values) if not fill else 2.0 ** math.ceil(math.log2(largest)) * _FULL
            )
            factors *= wanted / largest
            graph = scale_channels(graph, group, factors)
            for name in group.tensors:
                seen[name] = seen[name] * np.resize(factors, len(seen[name]))
    return graph
