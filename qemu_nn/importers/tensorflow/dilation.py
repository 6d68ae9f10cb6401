"""Dilated convolutions that a graph spells as SpaceToBatchND, a convolution, BatchToSpaceND."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from .building import integers
from .reading import TensorflowNode, get_producer
from .schema import new

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")
_RESHAPES = ("ExpandDims", "Squeeze")
_MOST_NODES = 8


def merge_dilations(
    order: Sequence[TensorflowNode], constants: Mapping[str, np.ndarray]
) -> tuple[TensorflowNode, ...]:
    """Return nodes with dilations in place of blocks: both ends of a pair become identities."""
    nodes = {node.name: node for node in order}
    changed: dict[str, TensorflowNode] = {}
    for node in order:
        if node.op == "BatchToSpaceND" and len(node.inputs) == 3:
            path = _follow(node, nodes)
            merged = None if path is None else _merge(path, constants)
            if path is not None and merged is not None:
                changed[merged.name] = merged
                for end in (path[0], path[-1]):
                    changed[end.name] = replace(end, op="Identity", inputs=end.inputs[:1])
    return tuple(changed.get(node.name, node) for node in order)


def _follow(
    end: TensorflowNode, nodes: Mapping[str, TensorflowNode]
) -> Optional[list[TensorflowNode]]:
    """Return the nodes from BatchToSpaceND back to SpaceToBatchND; None for any other chain."""
    path = [end]
    while len(path) < _MOST_NODES:
        before = nodes.get(get_producer(path[-1].inputs[0])) if path[-1].inputs else None
        if before is None or before.op not in (*_CONVOLUTIONS, *_RESHAPES, "SpaceToBatchND"):
            return None
        path.append(before)
        if before.op == "SpaceToBatchND":
            return path
    return None


def _merge(
    path: Sequence[TensorflowNode], constants: Mapping[str, np.ndarray]
) -> Optional[TensorflowNode]:
    """Return the dilated convolution of a chain; None if it is none."""
    last, first = path[0], path[-1]
    convolutions = [node for node in path if node.op in _CONVOLUTIONS]
    if len(convolutions) != 1 or len(first.inputs) != 3:
        return None
    given = [constants.get(name) for name in (*first.inputs[1:], *last.inputs[1:])]
    if any(array is None or array.dtype.kind not in "iu" for array in given):
        return None
    block, borders, again, crops = (integers(array) for array in given if array is not None)
    if block != again or len(borders) != 2 * len(block) or len(crops) != len(borders):
        return None
    pads = [border - crop for border, crop in zip(borders, crops)]
    if len(block) == 1:  # a signal: an image of one row, or of one column
        added = [node.inputs[1] for node in path if node.op == "ExpandDims"]
        axes = [integers(constants[name]) for name in added if name in constants]
        if axes == [[-3]] or axes == [[1]]:
            block, pads = [1, *block], [0, 0, *pads]
        elif axes == [[-2]] or axes == [[2]]:
            block, pads = [*block, 1], [*pads, 0, 0]
        else:
            return None
    (convolution,) = convolutions
    plain = (
        set(convolution.integers("dilations")) <= {1} and convolution.text("padding", "") == "VALID"
    )
    if len(block) != 2 or not plain or convolution.text("data_format", "NHWC") != "NHWC":
        return None
    attributes = {
        **convolution.attributes,
        "dilations": _list(1, *block, 1),
        "explicit_paddings": _list(0, 0, *pads, 0, 0),
        "padding": _text("EXPLICIT"),
    }
    return replace(convolution, attributes=attributes)


def _list(*numbers: int) -> bytes:
    value = new("Value")
    value.list.i.extend(numbers)
    data: bytes = value.SerializeToString()
    return data


def _text(word: str) -> bytes:
    value = new("Value")
    value.s = word.encode()
    data: bytes = value.SerializeToString()
    return data
