"""Replacement of averages by convolutions, whose outputs have formats of their own."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Optional

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Conv, Dense, Pool, Reshape, Shape


def replace_average_pools(graph: FloatGraph, fixed: Collection[str] = ()) -> FloatGraph:
    """Return the same function, with averages replaced by depthwise convolutions where possible.

    A pooling keeps the format of its input, which covers the largest value. The average of many
    values is small in this format and loses most of its bits. A convolution shifts or rescales. It
    divides all sums by one number, so windows at the border, which contain fewer cells, have
    smaller results. The weights of a fully connected layer after the average compensate this.
    fixed: nodes that stay unchanged.
    """
    for node in graph.nodes:
        pool = node.operator
        if node.name in fixed or not isinstance(pool, Pool) or pool.kind != "average":
            continue
        conv, shares = _make_convolution(pool, graph.shapes[node.inputs[0]])
        changed = {node.name: replace(node, operator=conv)}
        if (shares < 1).any():
            reader = _find_dense_reader(graph, node.name)
            if reader is None or reader.name in fixed:
                continue
            changed[reader.name] = _compensate_shares(reader, shares)
        graph = graph.with_nodes(changed.get(each.name, each) for each in graph.nodes)
    return graph


def _make_convolution(pool: Pool, shape: Shape) -> tuple[Conv, np.ndarray]:
    """Return the sums of all windows over the size of one, and the share of cells inside the image
    [height, width, channels].
    """
    real = pool.evaluate(np.ones((1, *shape)))
    (top, left), out, size = pool.pads[:2], real.shape[1:3], math.prod(pool.kernel)
    reach = [(n - 1) * s + k for n, s, k in zip(out, pool.stride, pool.kernel)]
    pads = (top, left, max(reach[0] - top - shape[0], 0), max(reach[1] - left - shape[1], 0))
    channels = shape[-1]
    weights = np.full((channels, *pool.kernel, 1), 1.0 / size)
    conv = Conv(weights, np.zeros(channels), pool.stride, pads, groups=channels)
    shares: np.ndarray = (conv.evaluate(np.ones((1, *shape))) / real)[0]
    return conv, np.rint(shares * size) / size


def _find_dense_reader(graph: FloatGraph, name: str) -> Optional[FloatNode]:
    """Return the only reader of a tensor if it is a fully connected layer on a vector,
    else None.
    """
    while name not in graph.outputs and len(graph.readers(name)) == 1:
        (reader,) = graph.readers(name)
        if isinstance(reader.operator, Dense) and len(graph.shapes[name]) == 1:
            return reader
        if not isinstance(reader.operator, Reshape):
            return None
        name = reader.name
    return None


def _compensate_shares(node: FloatNode, shares: np.ndarray) -> FloatNode:
    """Return a fully connected layer that compensates inputs scaled by these shares."""
    operator = node.operator
    assert isinstance(operator, Dense)
    weights = operator.weights.astype(np.float64) / shares.ravel()
    return replace(node, operator=replace(operator, weights=weights))
