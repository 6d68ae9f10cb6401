"""Rewrites a float network into the operators that q7 and q15 functions exist for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Affine, Conv, ConvTranspose, Dense, Pool, Reshape, Softmax, Transpose
from .expand_q7 import expand_q7

AnyConv = TypeVar("AnyConv", Conv, ConvTranspose)

#: Operators at the start of a network that the host applies before rounding the input.
_HOST = (Affine, Transpose)


def take_device_part(graph: FloatGraph) -> FloatGraph:
    """Return the network after the tensor that the device is given: the host normalizes the
    input. The device gets all of several inputs as they are.
    """
    if graph.others:
        return graph
    start, nodes = graph.input, list(graph.nodes)
    while isinstance(nodes[0].operator, (*_HOST, Reshape)) and len(graph.readers(start)) == 1:
        if start in graph.outputs or len(nodes) == 1:
            break
        start = nodes.pop(0).name
    done = graph.nodes[: len(graph.nodes) - len(nodes)]
    while done and isinstance(done[-1].operator, Reshape):  # the device does not see a reshape
        nodes.insert(0, done[-1])
        done = done[:-1]
        start = done[-1].name if done else graph.input
    shape = graph.shapes[start]
    layout = "NHWC" if len(shape) == 3 else None
    return replace(graph, input=start, shape=shape, layout=layout, nodes=tuple(nodes))


def prepare(graph: FloatGraph, bits: int, softmax: bool = True) -> tuple[FloatGraph, list[str]]:
    """Return the same network in operators with functions, where possible, and notes on the cost.

    Values are unchanged, except a softmax at the end. It is removed unless `softmax`; a log-softmax
    always is. The scores before both have the same order.
    """
    nodes: list[FloatNode] = []
    notes: list[str] = []
    outputs = list(graph.outputs)
    for node in graph.nodes:
        operator = node.operator
        if isinstance(operator, Pool):
            operator = make_averaging(node, operator, graph, notes)
        if isinstance(operator, Softmax) and graph.readers(node.name):
            notes.append(
                f"{node.name}: the device's softmax is of powers of two, not of e, so what reads "
                "it computes something else than in the float network; scheme='affine' has it right"
            )
        if ends_in_softmax(node, graph, softmax):
            outputs[outputs.index(node.name)] = node.inputs[0]
            notes.append(f"{node.name}: it is left out; the output is {node.inputs[0]}")
        elif isinstance(operator, Conv):
            nodes.append(replace(node, operator=_fill_filters(node.name, operator, bits, notes)))
        elif isinstance(operator, Dense) and len(graph.shapes[node.inputs[0]]) > 1:
            nodes += _convert_dense_rows(node, operator, graph)
        elif bits == 8:
            nodes += expand_q7(graph, replace(node, operator=operator), notes)
        else:
            nodes.append(replace(node, operator=operator))
    return replace(graph, nodes=tuple(nodes), outputs=tuple(dict.fromkeys(outputs))), notes


def _fill_filters(name: str, conv: Conv, bits: int, notes: list[str]) -> Conv:
    """Return the convolution with zeros in its filters instead of dilation and of groups.

    Only a depthwise convolution of q7 keeps its groups.
    """
    weights, (dy, dx) = conv.weights, conv.dilation
    if (dy, dx) != (1, 1):
        out, tall, wide, depth = weights.shape
        spread = np.zeros((out, dy * (tall - 1) + 1, dx * (wide - 1) + 1, depth), weights.dtype)
        spread[:, ::dy, ::dx] = weights
        weights = spread
        notes.append(f"{name}: larger filters with zeros replace its dilation of {dy} x {dx}")
    conv = replace(conv, weights=weights, dilation=(1, 1))
    kept = conv.depthwise and conv.groups == len(weights) and bits == 8
    return conv if kept else remove_groups(name, conv, notes)


def remove_groups(name: str, conv: AnyConv, notes: list[str]) -> AnyConv:
    """Return the convolution with zeros in its filters instead of groups."""
    weights, groups = conv.weights, conv.groups
    if groups == 1:
        return conv
    out, tall, wide, depth = weights.shape
    full = np.zeros((out, tall, wide, depth * groups), weights.dtype)
    for group in range(groups):
        rows = slice(group * (out // groups), (group + 1) * (out // groups))
        full[rows, :, :, group * depth : (group + 1) * depth] = weights[rows]
    notes.append(f"{name}: filters over all channels with zeros replace its {groups} groups")
    return replace(conv, weights=full, groups=1)


def ends_in_softmax(node: FloatNode, graph: FloatGraph, softmax: bool) -> bool:
    """True if a node is a softmax at the end that is removed; see prepare()."""
    at_end = node.name in graph.outputs and not graph.readers(node.name)
    operator = node.operator
    return isinstance(operator, Softmax) and at_end and (operator.log or not softmax)


def make_averaging(node: FloatNode, pool: Pool, graph: FloatGraph, notes: list[str]) -> Conv | Pool:
    """Return an average that counts its padding, as a depthwise convolution of equal weights.

    Without padding it becomes a Pool that counts none. If windows exceed the padding, the divisor
    varies and the Pool is kept.
    """
    shape = graph.shapes[node.inputs[0]]
    if pool.kind != "average" or not pool.count_pads:
        return pool
    if not any(pool.pads):
        return replace(pool, count_pads=False)
    whole = replace(pool, ceil=False)
    if pool.ceil and whole.shape(shape) != pool.shape(shape):
        return pool
    notes.append(f"{node.name}: a convolution computes its averages, which count their padding")
    weights = np.full((shape[2], *pool.kernel, 1), 1.0 / math.prod(pool.kernel))
    return Conv(weights, None, pool.stride, pool.pads, groups=shape[2])


def _convert_dense_rows(node: FloatNode, dense: Dense, graph: FloatGraph) -> list[FloatNode]:
    """Return a fully connected layer on many rows: a 1x1 convolution over an image of them."""
    (source,) = node.inputs
    shape = graph.shapes[source]
    rows = (1, math.prod(shape[:-1]), shape[-1])
    conv = Conv(dense.weights[:, None, None, :], dense.bias)
    to = (*shape[:-1], len(dense.weights))
    image, made = (graph.make_unused_name(f"{node.name}/{part}") for part in ("rows", "image"))
    return [
        FloatNode(image, Reshape(rows), (source,)),
        FloatNode(made, conv, (image,)),
        FloatNode(node.name, Reshape(to), (made,)),
    ]
