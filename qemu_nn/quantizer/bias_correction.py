"""Corrects biases by the mean error that the exact integer network is measured to have."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Conv, Dense
from .fusion import find_clamps
from .grid import Grid

#: Least share of a channel that passes its activation; a channel clipped more often is corrected as
#: if this share passed.
_LEAST_PASSING = 0.05
#: Iterations per layer: an activation hides a part of each correction.
_TURNS = 3

#: Name of a tensor -> its float values [n, ...].
Values = Callable[[str], np.ndarray]


def correct_bias(
    graph: FloatGraph,
    name: str,
    grid: Grid,
    real: Values,
    measure: Callable[[FloatGraph], Values],
) -> FloatGraph:
    """Return the network with the bias of one layer corrected on its grid.

    The correction brings the mean of every output channel as close as possible to the float mean.
    real: the wanted values of tensors. measure: runs the integer network. The error is measured
    after an activation that only clamps, because clipped values have no effect. A channel whose
    error does not fall keeps its bias.
    """
    node = graph.node(name)
    seen = find_clamps(graph).get(name)
    assert isinstance(node.operator, (Conv, Dense))
    assert seen is not None
    wanted = _average_channels(real(seen.tensor))
    rows = len(node.operator.weights)
    bias = node.operator.bias
    bias = np.zeros(rows) if bias is None else grid.bias(bias.astype(np.float64))
    got = measure(_replace_bias(graph, node, bias))(seen.tensor)
    for _ in range(_TURNS):
        error = _average_channels(got) - wanted
        passing = _average_channels((got > seen.low) & (got < seen.high))
        tried = grid.bias(bias - error / np.maximum(passing, _LEAST_PASSING))
        moved = measure(_replace_bias(graph, node, tried))(seen.tensor)
        better = np.abs(_average_channels(moved) - wanted) < np.abs(error)
        if not better.any():
            break
        bias = np.where(better, tried, bias)
        got = np.where(better, moved, got)
    return _replace_bias(graph, node, bias)


def _average_channels(values: np.ndarray) -> np.ndarray:
    """Return the mean of every channel, the last axis."""
    result: np.ndarray = values.reshape(-1, values.shape[-1]).mean(0, dtype=np.float64)
    return result


def _replace_bias(graph: FloatGraph, node: FloatNode, bias: np.ndarray) -> FloatGraph:
    assert isinstance(node.operator, (Conv, Dense))
    return graph.with_operators({node.name: replace(node.operator, bias=bias)})
