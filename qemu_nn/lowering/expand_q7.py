"""Expansion of activations and products into operators that q7 functions compute."""

from __future__ import annotations

import math
from typing import Optional, Union

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import Conv, Elementwise, Operator, PRelu, Relu, Reshape


class _Expansion:
    """Operators that replace a node: their last one has its name."""

    def __init__(self, graph: FloatGraph, node: FloatNode) -> None:
        self.graph, self.node = graph, node
        self.nodes: list[FloatNode] = []

    def add(self, part: str, operator: Operator, *inputs: str) -> str:
        """Append an operator and return its tensor; part "": the last one."""
        name = self.node.name
        if part:
            name = self.graph.make_unused_name(f"{name}/{part}")
        self.nodes.append(FloatNode(name, operator, inputs))
        return name


def expand_q7(graph: FloatGraph, node: FloatNode, notes: list[str]) -> list[FloatNode]:
    """Return the operators that compute a node: itself, or several in sequence."""
    operator = node.operator
    own = _Expansion(graph, node)
    if isinstance(operator, (Relu, PRelu)):
        _bend(own, operator, notes)
    elif isinstance(operator, Elementwise) and operator.kind == "multiply":
        _gate(own, notes)
    return own.nodes or [node]


def _bend(own: _Expansion, operator: Union[Relu, PRelu], notes: list[str]) -> None:
    """Append relu(x) - slope * relu(-x): products with constants are convolutions of 1 x 1."""
    shape = own.graph.shapes[own.node.inputs[0]]
    channels = shape[-1] if shape else 1
    slopes = _get_slopes(operator, channels)
    if slopes is None:
        return
    image = (1, math.prod(shape) // channels, channels)
    source = own.node.inputs[0]
    if len(shape) != len(image):
        source = own.add("image", Reshape(image), source)
    above = own.add("above", Relu(), source)
    turned = own.add("turned", _scale(-np.ones(channels)), source)
    below = own.add("below", _scale(-slopes), own.add("negative", Relu(), turned))
    whole = len(shape) == len(image)
    total = own.add("" if whole else "sum", Elementwise("add"), above, below)
    if not whole:
        own.add("", Reshape(shape), total)
    notes.append(f"{own.node.name}: convolutions of 1 x 1 compute its slope below zero")


def _get_slopes(operator: Union[Relu, PRelu], channels: int) -> Optional[np.ndarray]:
    """Return a slope for each channel; None for an operator without one, or of another form."""
    if isinstance(operator, Relu):
        bent = operator.slope and operator.limit is None
        return np.full(channels, operator.slope) if bent else None
    slope = operator.slope
    if slope.size == 1:
        return np.full(channels, float(slope.reshape(())))
    return slope.reshape(-1) if slope.size == channels == slope.shape[-1] else None


def _scale(factors: np.ndarray) -> Conv:
    return Conv(factors[:, None, None, None], groups=len(factors))


def _gate(own: _Expansion, notes: list[str]) -> None:
    """Append a convolution that repeats the pixel of the smaller operand for each pixel.

    Its only pixel meets each tap once. Both factors are -1, which 8 bits hold exactly.
    """
    shapes = [own.graph.shapes[name] for name in own.node.inputs]
    whole = own.graph.shapes[own.node.name]
    small = [at for at, shape in enumerate(shapes) if shape != whole]
    if len(small) != 1 or len(whole) != 3 or shapes[small[0]] != (1, 1, whole[2]):
        return
    height, width, channels = whole
    inputs = list(own.node.inputs)
    turned = own.add("turned", _scale(-np.ones(channels)), inputs[small[0]])
    pads = (height - 1, width - 1) * 2
    taps = -np.ones((channels, height, width, 1))
    inputs[small[0]] = own.add("spread", Conv(taps, pads=pads, groups=channels), turned)
    own.add("", Elementwise("multiply"), *inputs)
    notes.append(
        f"{own.node.name}: a convolution of {height} x {width} repeats the factors of channels for "
        "each pixel; scheme='affine' copies them"
    )
