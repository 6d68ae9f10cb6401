"""Splitting of outlier channels into copies, which share their weights or their values."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import (
    Clip,
    Conv,
    Dense,
    Elementwise,
    Operator,
    PRelu,
    Relu,
    Reshape,
    Shape,
    Sigmoid,
    Tanh,
)
from .cross_layer_equalization import (
    ChannelGroup,
    commutes,
    find_channel_groups,
    find_largest_values,
    find_largest_weights,
)

#: Share of additional channels of a tensor, rounded up, and the limit for a small one.
SHARES = (0.02, 0.05)
_LARGE = 0.25
#: Share of its magnitude to which copies must reduce the largest channel.
_WORTH = 0.8
#: Multiple of channels that the fast q7 functions require.
_TOGETHER = 4


@dataclass(frozen=True)
class Way:
    """Quantity that copies divide: values (1), weights that read them (0), or the roots of both."""

    name: str
    values: float


WAYS = (Way("weights", 0.0), Way("values", 1.0), Way("weights and values", 0.5))


@dataclass(frozen=True)
class _Split:
    """Number of copies of each channel."""

    channels: int
    copies: np.ndarray
    way: Way

    def index_channels(self, count: int) -> np.ndarray:
        """Return, for each new element, the index of its original among `count` elements.

        The elements contain the channels once or several times.
        """
        channels = np.repeat(np.arange(self.channels), self.copies)
        starts = np.arange(0, count, self.channels)
        result: np.ndarray = (starts[:, None] + channels).ravel()
        return result

    def count_copies(self, count: int, exponent: float) -> np.ndarray:
        """Return the number of copies of each element, to a power."""
        copies = np.resize(self.copies, count).astype(np.float64)
        result: np.ndarray = copies[self.index_channels(count)] ** exponent
        return result


def split_channels(
    graph: FloatGraph,
    seen: Mapping[str, np.ndarray],
    way: Way,
    share: float,
    powers: bool = False,
    fixed: Collection[str] = (),
) -> tuple[FloatGraph, int]:
    """Return the same function with copies of outlier channels, and the number of copies.

    An outlier is much larger than the remaining channels of its tensor. seen: tensor -> the largest
    magnitude of each element of its last axis, on data. share: of the channels of a tensor, rounded
    up. powers: keep the channel multiples of the fast q7 functions. fixed: layers and tensors that
    stay unchanged.
    """
    nodes = {node.name: node for node in graph.nodes}
    added = 0
    for group in _find_groups(graph, way):
        if {*fixed} & {*group.tensors, *group.readers}:
            continue
        step = math.gcd(group.channels, _TOGETHER) if powers else 1
        count = step * math.ceil(share * group.channels / step)
        sizes = _measure_channels(graph, group, seen, way)
        copies = _count_copies(sizes, count)
        if count > _LARGE * group.channels or (sizes / copies).max() > _WORTH * sizes.max():
            continue
        own = _Split(group.channels, copies, way)
        for name in group.tensors:
            nodes[name] = _copy_outputs(nodes[name], own)
        for name in group.readers:
            nodes[name] = _split_inputs(nodes[name], own)
        added += count
    return graph.with_nodes(nodes.values()), added


def _find_groups(graph: FloatGraph, way: Way) -> list[ChannelGroup]:
    """Return tensors between layers of all channels. Depthwise layers are copied with their
    channels.
    """
    through = _keeps_scaled_copies if way.values else _keeps_copies
    nodes = {node.name: node.operator for node in graph.nodes}
    found = []
    for group in find_channel_groups(graph, through):
        writers, readers = (
            tuple(name for name in names if not _arrange_by_channel(nodes[name]))
            for names in (group.writers, group.readers)
        )
        grouped = any(getattr(nodes[name], "groups", 1) > 1 for name in (*writers, *readers))
        if writers and readers and not grouped:
            found.append(replace(group, writers=writers, readers=readers))
    return found


def _arrange_by_channel(operator: Operator) -> bool:
    return (
        isinstance(operator, Conv)
        and operator.depthwise
        and operator.groups == len(operator.weights)
    )


def _keeps_scaled_copies(operator: Operator, shapes: list[Shape]) -> bool:
    """True if copies of scaled channels in give the same copies out."""
    return _arrange_by_channel(operator) or commutes(operator, shapes)


def _keeps_copies(operator: Operator, shapes: list[Shape]) -> bool:
    """True if copies of channels in give the same copies out. (Where one channel is broadcast to
    all, the group has one channel, and is none.)
    """
    alone = (Relu, Clip, PRelu, Sigmoid, Tanh, Elementwise)
    return isinstance(operator, alone) or _keeps_scaled_copies(operator, shapes)


def _measure_channels(
    graph: FloatGraph, group: ChannelGroup, seen: Mapping[str, np.ndarray], way: Way
) -> np.ndarray:
    """Return how large each channel is in what its copies would share."""
    sizes = np.ones(group.channels)
    if way.values > 0:
        sizes = sizes * find_largest_values(group, seen)
    if way.values < 1:
        sizes = sizes * find_largest_weights(graph, group)[1]
    return sizes


def _count_copies(sizes: np.ndarray, count: int) -> np.ndarray:
    """Return how many copies each channel gets if always the largest gets one more."""
    copies = np.ones(len(sizes), np.int64)
    for _ in range(count):
        copies[np.argmax(sizes / copies)] += 1
    return copies


def _copy_outputs(node: FloatNode, own: _Split) -> FloatNode:
    """Return what makes a tensor of the group, with copies of its channels."""
    operator = node.operator
    if isinstance(operator, (Conv, Dense)):
        count = len(operator.weights)
        places, scale = own.index_channels(count), own.count_copies(count, -own.way.values)
        weights, bias = operator.weights.astype(np.float64)[places], operator.bias
        bias = None if bias is None else bias.astype(np.float64)[places] * scale
        if isinstance(operator, Conv) and _arrange_by_channel(operator):
            operator = replace(operator, weights=weights, bias=bias, groups=len(places))
        else:
            weights = weights * scale.reshape(-1, *[1] * (weights.ndim - 1))
            operator = replace(operator, weights=weights, bias=bias)
    elif isinstance(operator, Reshape):
        operator = Reshape((*operator.to[:-1], len(own.index_channels(operator.to[-1]))))
    elif isinstance(operator, PRelu) and operator.slope.ndim and operator.slope.shape[-1] > 1:
        operator = PRelu(operator.slope[..., own.index_channels(operator.slope.shape[-1])])
    return replace(node, operator=operator)


def _split_inputs(node: FloatNode, own: _Split) -> FloatNode:
    """Return a layer that reads copies of channels."""
    operator = node.operator
    assert isinstance(operator, (Conv, Dense))
    depth = operator.weights.shape[-1]
    weights = operator.weights.astype(np.float64)[..., own.index_channels(depth)]
    weights = weights * own.count_copies(depth, own.way.values - 1)
    return replace(node, operator=replace(operator, weights=weights))
