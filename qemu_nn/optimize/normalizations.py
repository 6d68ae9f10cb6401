"""Recognition of normalizations that a file spells out in means, differences and roots."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Optional

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Affine, Curve, Elementwise, Gather, Normalize, Pool, Reduce
from ..operators.curve import X

_ROOT, _INVERSE, _INVERSE_ROOT = X.of("sqrt"), 1.0 / X, 1.0 / X.of("sqrt")


def recognise_normalizations(graph: FloatGraph) -> FloatGraph:
    """Return the same network with each normalization as one operator, named like its last one.

    It is x - mean(x), divided by sqrt(mean of its squares + epsilon) over the same axes, or
    multiplied by the inverse root; without a mean, x itself.
    """
    makers, nodes = {node.name: node for node in graph.nodes}, list[FloatNode]()
    for node in graph.nodes:
        shifted = _recognise_shifted(graph, makers, node)
        nodes += shifted or [_recognise(graph, makers, node) or node]
    return graph.with_nodes(nodes)


def _recognise_shifted(
    graph: FloatGraph, makers: Mapping[str, FloatNode], last: FloatNode
) -> list[FloatNode]:
    """Return x * f - mean(x) * f + beta, as Keras spells it, as a normalization and an affine one.

    f: gamma times the inverse root of the variance. The list is empty for any other node.
    """
    if _kind(last) != "add" or len(last.inputs) != 2:
        return []
    for first, second in (last.inputs, last.inputs[::-1]):
        scaled, shift, beta = makers.get(first), makers.get(second), np.zeros(())
        if shift is not None and isinstance(shift.operator, Affine):
            if (shift.operator.scale != 1).any():
                continue
            beta, shift = shift.operator.offset, makers.get(shift.inputs[0])
        if scaled is None or shift is None or {_kind(scaled), _kind(shift)} != {"multiply"}:
            continue
        found = _find_factor(graph, makers, {*scaled.inputs} & {*shift.inputs})
        if found is None:
            continue
        factor, gamma, (away, axes, epsilon) = found
        source = _find_centered(graph, makers, makers.get(away), axes)
        negated = makers.get(next((name for name in shift.inputs if name != factor), ""))
        if source is None or {*scaled.inputs} != {source, factor} or negated is None:
            continue
        if negated.inputs == makers[away].inputs[1:] and _is_negation(negated):
            name = graph.make_unused_name(f"{last.name}/normal")
            normal = FloatNode(name, Normalize(axes, epsilon), (source,))
            return [normal, replace(last, operator=Affine(gamma, beta), inputs=(name,))]
    return []


def _kind(node: Optional[FloatNode]) -> str:
    """Return the kind of an operation on two tensors; "" for any other node."""
    found = node is not None and isinstance(node.operator, Elementwise)
    return node.operator.kind if found else ""  # type: ignore[union-attr]


def _is_negation(node: FloatNode) -> bool:
    own = node.operator
    return isinstance(own, Affine) and bool((own.scale == -1).all() and (own.offset == 0).all())


def _find_factor(
    graph: FloatGraph, makers: Mapping[str, FloatNode], names: Collection[str]
) -> Optional[tuple[str, np.ndarray, tuple[str, tuple[int, ...], float]]]:
    """Return gamma times an inverse root: its name, gamma, and what _find_variance() returns."""
    for name in names:
        node, gamma = makers.get(name), np.ones(())
        if (
            node is not None
            and isinstance(node.operator, Affine)
            and not node.operator.offset.any()
        ):
            gamma, node = node.operator.scale, makers.get(node.inputs[0])
            if node is not None and _repeats_one(graph, node):
                node = makers.get(node.inputs[0])
        found = None if node is None else _find_variance(graph, makers, node.name, _INVERSE_ROOT)
        if found is not None:
            return name, gamma, found
    return None


def _recognise(
    graph: FloatGraph, makers: Mapping[str, FloatNode], last: FloatNode
) -> Optional[FloatNode]:
    operator = last.operator
    if not isinstance(operator, Elementwise) or operator.kind not in ("divide", "multiply"):
        return None
    curve = _ROOT if operator.kind == "divide" else _INVERSE_ROOT
    pairs = [last.inputs] if operator.kind == "divide" else [last.inputs, last.inputs[::-1]]
    for away, factor in pairs:
        found = _find_variance(graph, makers, factor, curve)
        if found is None:
            continue
        squared, axes, epsilon = found
        if squared != away:
            continue
        difference = makers.get(away)
        source = _find_centered(graph, makers, difference, axes)
        if source is None:
            return replace(last, operator=Normalize(axes, epsilon, False), inputs=(away,))
        return replace(last, operator=Normalize(axes, epsilon), inputs=(source,))
    return None


def _find_variance(
    graph: FloatGraph, makers: Mapping[str, FloatNode], name: str, curve: Curve
) -> Optional[tuple[str, tuple[int, ...], float]]:
    """Return the tensor that is squared, the axes of the mean, and epsilon."""
    root = makers.get(name)
    if root is not None and curve is _INVERSE_ROOT and _INVERSE.equals(root.operator):
        root, curve = makers.get(root.inputs[0]), _ROOT
    if root is None or not curve.equals(root.operator):
        return None
    epsilon, node = 0.0, makers.get(root.inputs[0])
    if node is not None and isinstance(node.operator, Affine):
        if node.operator.scale.size != 1 or node.operator.offset.size != 1:
            return None
        if float(node.operator.scale.reshape(())) != 1:
            return None
        epsilon, node = float(node.operator.offset.reshape(())), makers.get(node.inputs[0])
    mean = None if node is None else _find_mean(graph, node)
    if node is None or mean is None or epsilon < 0:
        return None
    square = makers.get(node.inputs[0])
    if square is None or len({*square.inputs}) > 1:
        return None
    product = isinstance(square.operator, Elementwise) and square.operator.kind == "multiply"
    return (square.inputs[0], mean, epsilon) if product else None


def _find_mean(graph: FloatGraph, node: FloatNode) -> Optional[tuple[int, ...]]:
    """Return the axes of a mean that keeps them."""
    operator = node.operator
    if isinstance(operator, Reduce) and operator.kind == "mean":
        return operator.axes
    if isinstance(operator, Pool) and operator.kind == "average":
        shape = graph.shapes[node.inputs[0]]
        rows = (0, 1) if operator.layout == "NHWC" else (1, 2)
        whole = tuple(shape[axis] for axis in rows)
        changed = tuple(axis for axis, side in zip(rows, operator.kernel) if side > 1)
        fits = all(side in (1, size) for side, size in zip(operator.kernel, whole))
        same = operator.stride == (1, 1) or operator.stride == operator.kernel
        return changed if fits and same and not any(operator.pads) and changed else None
    return None


def _find_centered(
    graph: FloatGraph,
    makers: Mapping[str, FloatNode],
    node: Optional[FloatNode],
    axes: tuple[int, ...],
) -> Optional[str]:
    """Return the tensor of which a node subtracts the mean over axes; None for another node."""
    if node is None or not isinstance(node.operator, Elementwise):
        return None
    mean = makers.get(node.inputs[1])
    if node.operator.kind != "subtract" or mean is None or mean.inputs != node.inputs[:1]:
        return None
    return node.inputs[0] if _find_mean(graph, mean) == axes else None


def _repeats_one(graph: FloatGraph, node: FloatNode) -> bool:
    """True if a node repeats the only element of an axis."""
    own = node.operator
    return isinstance(own, Gather) and graph.shapes[node.inputs[0]][own.axis] == 1
