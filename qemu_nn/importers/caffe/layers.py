"""Conversion of Caffe's layers to operators: supported types, and runs of layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Callable

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import FloatNode
from ...operators import Identity, Operator, Relu, Shape, Sigmoid, Softmax, Tanh
from ...operators.curve import X, elu
from . import arithmetic, linear, shaping
from .layer import CaffeLayer, finite
from .net import Step

_ONE_NODE: dict[str, Callable[[CaffeLayer], Operator]] = {
    "AbsVal": lambda layer: X.of("abs"),
    "BNLL": lambda layer: X.of("softplus"),
    "Deconvolution": linear.deconvolution,
    "ELU": lambda layer: elu(finite(layer.parameters("elu_param").alpha)),
    "Exp": arithmetic.exponential,
    "Log": arithmetic.logarithm,
    "Tile": shaping.tile,
    "BatchNorm": arithmetic.batch_norm,
    "Bias": arithmetic.bias,
    "Concat": shaping.concat,
    "Convolution": linear.convolution,
    "Dropout": lambda layer: Identity(),
    "Flatten": shaping.flatten,
    "PReLU": arithmetic.prelu,
    "Pooling": linear.pooling,
    "Power": arithmetic.power,
    "ReLU": lambda layer: Relu(finite(layer.parameters("relu_param").negative_slope)),
    "Reshape": shaping.reshape,
    "Scale": arithmetic.scale,
    "Sigmoid": lambda layer: Sigmoid(),
    "Softmax": lambda layer: Softmax(layer.axis(layer.parameters("softmax_param").axis)),
    "TanH": lambda layer: Tanh(),
}
_SEVERAL: dict[str, Callable[[CaffeLayer], list[FloatNode]]] = {
    "ArgMax": shaping.arg_max,
    "MVN": arithmetic.normalize,
    "Reduction": shaping.reduction,
    "Eltwise": arithmetic.eltwise,
    "InnerProduct": linear.inner_product,
    "Slice": shaping.slices,
}


def build(
    steps: Iterable[Step], shapes: Mapping[str, Shape], weights: Mapping[str, Sequence[np.ndarray]]
) -> tuple[list[FloatNode], dict[str, Shape]]:
    """Return the nodes of the steps, and the shape of one sample of every tensor.

    shapes: of the first steps' inputs. Raises ModelError with layer, type and reason.
    """
    nodes, shapes = [], dict(shapes)
    for step in steps:
        inputs = tuple(shapes[name] for name in step.reads)
        try:
            for node in _nodes(CaffeLayer(step, inputs, weights.get(step.name, ()))):
                shapes[node.name] = node.operator.shape(*(shapes[name] for name in node.inputs))
                nodes.append(node)
        except ModelError as error:
            raise ModelError(f"layer {step.name!r} of type {step.type}: {error}") from None
    return nodes, shapes


def _nodes(layer: CaffeLayer) -> list[FloatNode]:
    """Return the operators of a layer; the last one has its name."""
    kind, count = layer.step.type, len(layer.step.reads)
    if kind not in {*_ONE_NODE, *_SEVERAL}:
        have = ", ".join(sorted([*_ONE_NODE, *_SEVERAL, "Split"]))
        raise ModelError(f"this type is not supported; have: {have}")
    if count != 1 and kind not in ("Concat", "Eltwise"):
        raise ModelError(f"it reads {count} blobs; only one is supported")
    if kind in _SEVERAL:
        return _SEVERAL[kind](layer)
    return [layer.node(_ONE_NODE[kind](layer))]
