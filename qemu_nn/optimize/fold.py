"""Folds scales and offsets into the layers with weights around them."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional, Union

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Affine, Conv, ConvTranspose, Dense, Reshape

Weighted = Union[Conv, Dense]


def fold(graph: FloatGraph) -> FloatGraph:
    """Return the same network with every Affine folded into the layer before or after it, where
    exact.

    It is folded into the layer before it if that has no further reader; the layer takes its name.
    Otherwise it is folded into the layer after it, if that has no padding, or the offset is zero.
    """
    while True:
        changed = next(filter(None, (_fold_affine(graph, node) for node in graph.nodes)), None)
        if changed is None:
            return graph
        graph = changed


def scale_images(graph: FloatGraph) -> FloatGraph:
    """Return the same network with each Affine on image channels as a 1 x 1 depthwise convolution.

    An Affine at the input is kept, because the host normalizes the input.
    """
    nodes = []
    for node in graph.nodes:
        shape = graph.shapes[node.name]
        if isinstance(node.operator, Affine) and len(shape) == 3 and not _is_first(graph, node):
            scale, offset = (
                _get_channel_vector(a, shape[2])
                for a in (node.operator.scale, node.operator.offset)
            )
            if scale is not None and offset is not None:
                conv = Conv(scale[:, None, None, None], offset, groups=shape[2])
                node = replace(node, operator=conv)
        nodes.append(node)
    return graph.with_nodes(nodes)


def _is_first(graph: FloatGraph, node: FloatNode) -> bool:
    """True if only Affines and reshapes are between the input and a node."""
    makers = {maker.name: maker for maker in graph.nodes}
    while node.inputs[0] not in graph.starts:
        node = makers[node.inputs[0]]
        if not isinstance(node.operator, (Affine, Reshape)):
            return False
    return True


def _fold_affine(graph: FloatGraph, node: FloatNode) -> Optional[FloatGraph]:
    """Return the network with one more Affine folded; None if this one cannot be folded now."""
    if not isinstance(node.operator, Affine):
        return None
    before = next((maker for maker in graph.nodes if maker.name == node.inputs[0]), None)
    if before is not None and _find_only_reader(graph, before, node):
        merged = _fold_into_writer(before, node.operator, graph)
        if merged is not None:
            return _replace_pair(
                graph, (before, node), [replace(node, operator=merged, inputs=before.inputs)]
            )
    readers = graph.readers(node.name)
    if len(readers) == 1 and node.name not in graph.outputs:
        behind = _fold_into_reader(node, node.operator, readers[0], graph)
        if behind is not None:
            return _replace_pair(graph, (node, readers[0]), behind)
    return None


def _find_only_reader(graph: FloatGraph, before: FloatNode, node: FloatNode) -> bool:
    return graph.readers(before.name) == [node] and before.name not in graph.outputs


def _replace_pair(
    graph: FloatGraph, gone: tuple[FloatNode, FloatNode], by: list[FloatNode]
) -> FloatGraph:
    """Replace the second of two nodes."""
    nodes: list[FloatNode] = []
    for node in graph.nodes:
        if node is gone[1]:
            nodes += by
        elif node is not gone[0]:
            nodes.append(node)
    return graph.with_nodes(nodes)


def _fold_into_writer(
    before: FloatNode, affine: Affine, graph: FloatGraph
) -> Optional[Union[Affine, Conv, ConvTranspose, Dense]]:
    """Return the operator that computes both: a layer with weights, or a sum of two Affines."""
    operator = before.operator
    scale, offset = (np.asarray(a, np.float64) for a in (affine.scale, affine.offset))
    if isinstance(operator, Affine):
        return Affine(operator.scale * scale, operator.offset * scale + offset)
    if not isinstance(operator, (Conv, ConvTranspose, Dense)):
        return None
    rows = len(operator.weights)
    factors, terms = _get_channel_vector(scale, rows), _get_channel_vector(offset, rows)
    if factors is None or terms is None:
        return None
    weights = operator.weights * factors.reshape(-1, *[1] * (operator.weights.ndim - 1))
    bias = terms if operator.bias is None else operator.bias * factors + terms
    return replace(operator, weights=weights, bias=bias)


def _fold_into_reader(
    node: FloatNode, affine: Affine, reader: FloatNode, graph: FloatGraph
) -> Optional[list[FloatNode]]:
    """Return the reader with the Affine folded in, or the Affine moved after a reshape."""
    operator, shape = reader.operator, graph.shapes[node.name]
    scale, offset = (np.asarray(a, np.float64) for a in (affine.scale, affine.offset))
    if isinstance(operator, Reshape):
        whole = [np.broadcast_to(a, shape).reshape(operator.to) for a in (scale, offset)]
        plain = FloatNode(graph.make_unused_name(f"{reader.name}/plain"), operator, node.inputs)
        return [plain, FloatNode(reader.name, Affine(whole[0], whole[1]), (plain.name,))]
    if not isinstance(operator, (Conv, Dense)):
        return None
    if isinstance(operator, Conv) and any(operator.pads) and offset.any():
        return None
    factors, terms = _get_channel_vector(scale, shape[-1]), _get_channel_vector(offset, shape[-1])
    if factors is None or terms is None:
        return None
    return [replace(reader, operator=_scale_columns(operator, factors, terms), inputs=node.inputs)]


def _scale_columns(operator: Weighted, scale: np.ndarray, offset: np.ndarray) -> Weighted:
    """Return a layer with scaling and offset of its input channels folded in; it has no padding."""
    weights = np.asarray(operator.weights, np.float64)
    rows = len(weights)
    groups = operator.groups if isinstance(operator, Conv) else 1
    which = np.repeat(np.arange(groups), rows // groups)  # the group of each output channel
    columns = (groups, *[1] * (weights.ndim - 2), weights.shape[-1])
    factors, terms = (a.reshape(columns)[which] for a in (scale, offset))
    more = (weights * terms).reshape(rows, -1).sum(1)
    bias = operator.bias
    if offset.any():
        bias = more if bias is None else bias + more
    return replace(operator, weights=weights * factors, bias=bias)


def _get_channel_vector(array: np.ndarray, channels: int) -> Optional[np.ndarray]:
    """Return one number for each channel of the last axis; None if the array has a
    different form.
    """
    if array.size == 1:
        return np.full(channels, float(array.ravel()[0]))
    if array.shape[-1] == channels and array.size == channels:
        return np.asarray(array, np.float64).ravel()
    return None
