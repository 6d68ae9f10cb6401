"""Computes averages by convolutions, whose outputs have formats of their own."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Conv, Pool


def convolved(graph: FloatGraph, fixed: Collection[str] = ()) -> FloatGraph:
    """The same function, with every average without padding as a depthwise convolution.

    A pooling keeps the format of its input, which is as wide as the largest value; the average of
    many values is small in it, and loses most of its bits. A convolution shifts or rescales.
    fixed: nodes that stay as they are.
    """
    return graph.with_nodes(
        node if node.name in fixed else _convolved(node, graph) for node in graph.nodes
    )


def _convolved(node: FloatNode, graph: FloatGraph) -> FloatNode:
    pool = node.operator
    if not isinstance(pool, Pool) or pool.kind != "average" or any(pool.pads) or pool.ceil:
        return node
    channels = graph.shapes[node.name][-1]
    weights = np.full((channels, *pool.kernel, 1), 1.0 / math.prod(pool.kernel))
    conv = Conv(weights, np.zeros(channels), pool.stride, groups=channels)
    return replace(node, operator=conv)
