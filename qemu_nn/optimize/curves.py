"""Fusion of functions of one tensor into one function, such as GELU written in five operators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Affine, Clip, Curve, Elementwise, Operator, Relu, Sigmoid, Tanh
from ..operators.curve import X, bent

#: Most operators between a tensor and the tensor that it is a function of.
_MOST_STEPS = 24


@dataclass(frozen=True)
class _Function:
    """A tensor as a function of an earlier one.

    curved: true if an operator of it has no function but a table.
    """

    curve: Curve
    curved: bool = False


def fuse_curves(graph: FloatGraph) -> FloatGraph:
    """Return the same network with each function that needs a table as one Curve.

    It includes operators around the Curve that treat every element alike, and operators of two
    tensors that are functions of the same one. Activations that only clamp stay in the call before
    them, unless a Curve is before these.
    """
    found: dict[str, dict[str, _Function]] = {name: {name: _Function(X)} for name in graph.starts}
    makers = {node.name: node for node in graph.nodes}
    nodes = []
    for node in graph.nodes:
        own = _find_functions(graph, node, found)
        found[node.name] = {node.name: _Function(X), **own}
        source = _choose_source(graph, makers, own)
        if source is not None:
            node = replace(node, operator=own[source].curve, inputs=(source,))
        nodes.append(node)
    read = {name for node in nodes for name in node.inputs} | set(graph.outputs)
    while len(kept := [node for node in nodes if node.name in read]) < len(nodes):
        nodes = kept
        read = {name for node in nodes for name in node.inputs} | set(graph.outputs)
    return graph.with_nodes(nodes)


def _find_functions(
    graph: FloatGraph, node: FloatNode, found: Mapping[str, Mapping[str, _Function]]
) -> dict[str, _Function]:
    """Return earlier tensor -> the node as a function of it."""
    operator = node.operator
    if isinstance(operator, Elementwise):
        return _find_common(graph, node, operator.kind, found)
    own = _make_curve(operator)
    if own is None:
        return {}
    curved = isinstance(operator, Curve)
    return {
        source: _Function(own.after(inner.curve), curved or inner.curved)
        for source, inner in found[node.inputs[0]].items()
        if len(inner.curve.steps) < _MOST_STEPS
    }


def _find_common(
    graph: FloatGraph,
    node: FloatNode,
    kind: str,
    found: Mapping[str, Mapping[str, _Function]],
) -> dict[str, _Function]:
    """Return earlier tensor -> an operator of two tensors as a function of it."""
    first, second = (found[name] for name in node.inputs)
    if len({graph.shapes[name] for name in node.inputs}) > 1:
        return {}
    made = {}
    for source in first.keys() & second.keys():
        one, two = first[source], second[source]
        if len(one.curve.steps) + len(two.curve.steps) < _MOST_STEPS:
            curve = one.curve.combine(kind, two.curve)
            made[source] = _Function(curve, one.curved or two.curved)
    return made


def _make_curve(operator: Operator) -> Optional[Curve]:
    """Return an operator as a function of each element; None if it is none."""
    if isinstance(operator, Curve):
        return operator
    if isinstance(operator, (Sigmoid, Tanh)):
        return X.of(type(operator).__name__.lower())
    if isinstance(operator, Affine) and operator.scale.size == operator.offset.size == 1:
        scale, offset = (float(np.reshape(a, ())) for a in (operator.scale, operator.offset))
        return X * scale + offset
    if isinstance(operator, Clip):
        return X.maximum(operator.low).minimum(operator.high)
    if isinstance(operator, Relu):
        return bent(operator.slope, math.inf if operator.limit is None else operator.limit)
    return None


def _choose_source(
    graph: FloatGraph, makers: Mapping[str, FloatNode], own: Mapping[str, _Function]
) -> Optional[str]:
    """Return the tensor whose Curve a node becomes; None if the node stays.

    It is the last one with a Curve between, or one before that if nothing else reads the tensors
    between.
    """
    curved = [name for name in graph.shapes if name in own and own[name].curved]
    if not curved:
        return None
    source = curved[-1]
    while source in makers:
        maker = makers[source]
        fuses = isinstance(maker.operator, (Curve, Affine, Sigmoid, Tanh))
        alone = len(graph.readers(source)) == 1 and source not in graph.outputs
        if not (fuses and alone and maker.inputs[0] in own):
            break
        source = maker.inputs[0]
    return source
