"""High-bias absorption: move constants of channels through activations into later biases."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Optional, Union

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import (
    Clip,
    Conv,
    Dense,
    Elementwise,
    Identity,
    Operator,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Shape,
)

#: Shares of the largest constant that the data allow. Smaller shares generalize better; the first
#: one is exact for all inputs.
SHARES = {
    "channels centred where no activation is": 0.0,
    "all that channels always have": 1.0,
    "half of what channels always have": 0.5,
}


@dataclass(frozen=True)
class _Behind:
    """Tensors after a layer, up to the next layers.

    tensors: those that a change of its bias shifts. readers: layers that read them. bends: inputs
    of activations, and the range in which each is linear.
    """

    tensors: tuple[str, ...]
    readers: tuple[str, ...]
    bends: tuple[tuple[str, float, float], ...]


def absorb_high_biases(
    graph: FloatGraph,
    ends: Mapping[str, np.ndarray],
    share: float = 1.0,
    fixed: Collection[str] = (),
) -> tuple[FloatGraph, list[str]]:
    """Return the network with high biases absorbed by the next layers, and the layers changed.

    relu(x - c) equals relu(x) - c for x >= c. If a channel never falls below c > 0, its bias is
    reduced by c, and the next layers add their response to c. Without an activation in between,
    channels are centred. The function is unchanged for inputs whose values were and are in the
    linear range of each activation. With a share of at most 1, this includes all inputs that `ends`
    were measured on. Further values saturate at the limit. ends: tensor -> the lowest and the
    highest value [2, n] of each element of its last axis. fixed: layers and tensors that stay
    unchanged.
    """
    nodes = {node.name: node for node in graph.nodes}
    moved: set[str] = set()
    layers = []
    for name, node in nodes.items():
        behind = _find_readers(graph, node)
        if behind is None or moved & {*behind.tensors}:
            continue
        if {*fixed} & {*behind.tensors, *behind.readers}:
            continue
        constants = _choose_constants(behind, ends, graph.shapes[name][-1], share)
        if not constants.any():
            continue
        moved.update(behind.tensors)
        layers.append(name)
        nodes[name] = _raise_bias(nodes[name], -constants)
        for reader in behind.readers:
            nodes[reader] = _raise_bias(
                nodes[reader], _apply_to_constant(nodes[reader].operator, constants)
            )
    return graph.with_nodes(nodes.values()), layers


def _find_readers(graph: FloatGraph, node: FloatNode) -> Optional[_Behind]:
    """Return None if the constant would reach an output or an unsupported operator."""
    if not isinstance(node.operator, (Conv, Dense)):
        return None
    tensors, readers, bends = [node.name], [], []
    for name in tensors:  # which grows on the way
        if name in graph.outputs:
            return None
        for reader in graph.readers(name):
            if _sees_constants(reader.operator):
                readers.append(reader.name)
                continue
            shapes = [graph.shapes[each] for each in (*reader.inputs, reader.name)]
            straight = _find_linear_range(reader.operator, shapes)
            if straight is None or reader.name in tensors or reader.inputs.count(name) > 1:
                return None
            tensors.append(reader.name)
            if straight != (-math.inf, math.inf):
                bends.append((name, *straight))
    return _Behind(tuple(tensors), tuple(readers), tuple(bends)) if readers else None


def _sees_constants(operator: Operator) -> bool:
    """True if all windows of a layer see the constants: none has zeros from beyond a border."""
    if isinstance(operator, Conv):
        return max(operator.pads) <= 0
    return isinstance(operator, Dense)


def _find_linear_range(operator: Operator, shapes: list[Shape]) -> Optional[tuple[float, float]]:
    """Return the range in which an operator passes a channel's constant unchanged; None if there is
    none.
    """
    if isinstance(operator, Relu):
        return 0.0, math.inf if operator.limit is None else operator.limit
    if isinstance(operator, PRelu):
        return 0.0, math.inf
    if isinstance(operator, Clip):
        return operator.low, operator.high
    if isinstance(operator, Pool):
        whole = operator.kind == "max" or not (operator.count_pads and any(operator.pads))
    elif isinstance(operator, Elementwise):
        whole = operator.kind == "add" and len({*shapes}) == 1
    elif isinstance(operator, Reshape):
        source, result = shapes
        whole = bool(source and result) and result[-1] % source[-1] == 0
    else:
        whole = isinstance(operator, Identity)
    return (-math.inf, math.inf) if whole else None


def _choose_constants(
    behind: _Behind, ends: Mapping[str, np.ndarray], channels: int, share: float
) -> np.ndarray:
    """Return the constant of each channel: the middle of its values, within the linear range."""

    def of(name: str) -> tuple[np.ndarray, np.ndarray]:
        low, high = ends[name].reshape(2, -1, channels)
        return low.min(0), high.max(0)

    if behind.bends and not share:
        return np.zeros(channels)
    most, least = np.full(channels, math.inf), np.full(channels, -math.inf)
    for name, bottom, top in behind.bends:
        low, high = of(name)
        straight = (low >= bottom) & (high <= top)
        most = np.minimum(most, np.where(straight, share * (low - bottom), 0))
        least = np.maximum(least, np.where(straight, -share * (top - high), 0))
    lows, highs = zip(*map(of, behind.tensors))
    result: np.ndarray = np.clip((np.min(lows, 0) + np.max(highs, 0)) / 2, least, most)
    return result


def _apply_to_constant(operator: Operator, constants: np.ndarray) -> np.ndarray:
    """Return the output [out] of a layer without its bias for a constant in every channel."""
    assert isinstance(operator, (Conv, Dense))
    if isinstance(operator, Dense):
        plain: Union[Conv, Dense] = replace(operator, bias=None)
        outputs: np.ndarray
        (outputs,) = plain.evaluate(np.resize(constants, (1, operator.weights.shape[1])))
        return outputs
    plain = replace(operator, bias=None, pads=(0, 0, 0, 0), dilation=(1, 1), layout="NHWC")
    depth = operator.weights.shape[3] * operator.groups
    outputs = plain.evaluate(np.resize(constants, (1, *operator.kernel, depth)))[0, 0, 0]
    return outputs


def _raise_bias(node: FloatNode, by: np.ndarray) -> FloatNode:
    operator = node.operator
    assert isinstance(operator, (Conv, Dense))
    bias = by if operator.bias is None else operator.bias.astype(np.float64) + by
    return replace(node, operator=replace(operator, bias=bias))
