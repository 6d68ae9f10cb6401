"""Expansion of operators without a function of their own into operators that have one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import (
    Affine,
    Conv,
    ConvTranspose,
    Elementwise,
    Lstm,
    Normalize,
    Operator,
    Pad,
    Pool,
    Reduce,
    Relu,
    Reshape,
    Shape,
    Slice,
    Softmax,
    Transpose,
)
from ..operators.curve import X, bent
from ..quantizer.affine_rules import Rescale
from .prepare import make_averaging, remove_groups

#: The function of 16 bits that Normalize uses.
INVERSE_ROOT = 1.0 / X.of("sqrt")


@dataclass
class Expansion:
    """Operators that replace a node: their last one has its name.

    wide: true if the node's activations have 16 bits.
    """

    graph: FloatGraph
    node: FloatNode
    wide: bool
    notes: list[str]
    nodes: list[FloatNode] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The first input of the node."""
        return self.node.inputs[0]

    @property
    def shape(self) -> Shape:
        """The shape of the first input."""
        return self.graph.shapes[self.source]

    def add(self, part: str, operator: Operator, *inputs: str) -> str:
        """Append an operator and return its tensor; part "": the last one."""
        name = self.node.name
        if part:
            name = self.graph.make_unused_name(f"{name}/{part}")
        self.nodes.append(FloatNode(name, operator, inputs))
        return name


def expand(graph: FloatGraph, node: FloatNode, wide: bool, notes: list[str]) -> list[FloatNode]:
    """Return the operators that compute a node: itself, or several in sequence."""
    own = Expansion(graph, node, wide, notes)
    maker = _EXPANDED.get(type(node.operator))
    if maker is not None:
        maker(own, node.operator)
    return own.nodes or [node]


def _normalize(own: Expansion, operator: Normalize) -> None:
    """Append mean, variance, inverse root and product, in 16 bits.

    8 bits would hold the inverse root of a small variance with few digits.
    """
    source = own.source
    if not own.wide:
        source = own.add("16bits", Rescale("int16"), source)
    if operator.centered:
        mean = own.add("mean", Reduce("mean", operator.axes), source)
        source = own.add("away", Elementwise("subtract"), source, mean)
    square = own.add("square", Elementwise("multiply"), source, source)
    variance = own.add("variance", Reduce("mean", operator.axes), square)
    stable = own.add("stable", Affine(np.array(1.0), np.array(operator.epsilon)), variance)
    factor = own.add("factor", INVERSE_ROOT, stable)
    product = own.add("" if own.wide else "product", Elementwise("multiply"), source, factor)
    if not own.wide:
        own.add("", Rescale("int8"), product)


def _affine(own: Expansion, operator: Affine) -> None:
    """Append a convolution of 1 x 1 if factors and terms depend on the last axis alone, else a
    product and a sum; a single factor and term of 8 bits become a table.
    """
    scale, offset = (np.asarray(each, np.float64) for each in (operator.scale, operator.offset))
    if scale.size == offset.size == 1 and not own.wide:
        own.add("", X * float(scale.reshape(())) + float(offset.reshape(())), own.source)
        return
    if scale.size == offset.size == 1 and float(scale.reshape(())) == 1:
        return  # such as the epsilon of a normalization, also in a network prepared before
    channels = own.shape[-1] if own.shape else 1
    rows = [_spread_channels(each, channels) for each in (scale, offset)]
    if all(row is not None for row in rows):
        image = (1, math.prod(own.shape) // channels, channels)
        filters = rows[0].reshape(-1, 1, 1, 1)
        conv = Conv(filters, rows[1], groups=channels)
        source = own.source
        if own.shape == image:
            own.add("", conv, source)
            return
        source = own.add("image", Reshape(image), source)
        own.add("", Reshape(own.shape), own.add("scaled", conv, source))
        return
    if (scale != 1).any() and offset.any():
        product = own.add("scaled", Affine(scale, np.array(0.0)), own.source)
        own.add("", Affine(np.array(1.0), offset), product)


def _spread_channels(array: np.ndarray, channels: int) -> Any:
    """Return one number for each element of the last axis; None for an array of another form."""
    if array.size == 1:
        return np.full(channels, float(array.reshape(())))
    if array.shape[-1] == channels and array.size == channels:
        return array.reshape(-1)
    return None


def _softmax(own: Expansion, operator: Softmax) -> None:
    """Append transpositions around a softmax that runs along an axis before the last one."""
    shape, axis = own.shape, operator.axis
    if math.prod(shape[axis + 1 :]) == 1:
        return
    order = (*(at for at in range(len(shape)) if at != axis), axis)
    back = tuple(int(at) for at in np.argsort(order))
    last = own.add("last", Transpose(order), own.source)
    made = own.add("softmax", replace(operator, axis=len(shape) - 1), last)
    own.add("", Transpose(back), made)


def _pad(own: Expansion, operator: Pad) -> None:
    """Append slices instead of negative padding."""
    if min(min(pair) for pair in operator.pads) >= 0:
        return
    source, left = own.source, [tuple(max(n, 0) for n in pair) for pair in operator.pads]
    for axis, (before, after) in enumerate(operator.pads):
        if min(before, after) < 0:
            last = not any(map(any, left)) and axis == _last_cut(operator)
            cut = Slice(axis, max(-before, 0), own.shape[axis] - max(-after, 0))
            source = own.add("" if last else f"cut{axis}", cut, source)
    if any(map(any, left)):
        pads = tuple((before, after) for before, after in left)
        own.add("", replace(operator, pads=pads), source)


def _last_cut(operator: Pad) -> int:
    return max(axis for axis, pair in enumerate(operator.pads) if min(pair) < 0)


def _transposed(own: Expansion, operator: ConvTranspose) -> None:
    """Append the convolution with zeros in its filters instead of dilation and of groups."""
    conv, (dy, dx) = operator, operator.dilation
    if (dy, dx) != (1, 1):
        out, tall, wide, depth = conv.weights.shape
        spread = np.zeros((out, dy * (tall - 1) + 1, dx * (wide - 1) + 1, depth))
        spread[:, ::dy, ::dx] = conv.weights
        conv = replace(conv, weights=spread, dilation=(1, 1))
        own.notes.append(
            f"{own.node.name}: larger filters with zeros replace its dilation of {dy} x {dx}"
        )
    own.add("", remove_groups(own.node.name, conv, own.notes), own.source)


def _conv(own: Expansion, operator: Conv) -> None:
    if own.wide and not operator.depthwise:
        own.add("", remove_groups(own.node.name, operator, own.notes), own.source)


def _pool(own: Expansion, operator: Pool) -> None:
    """Append a convolution for averages that count their padding; if windows exceed the padding,
    also factors for their smaller divisors.
    """
    pool = make_averaging(own.node, operator, own.graph, own.notes)
    if not (isinstance(pool, Pool) and pool.kind == "average" and pool.count_pads):
        own.add("", pool, own.source)
        return
    shape, (height, width, channels) = own.shape, pool.shape(own.shape)
    ends = zip((height, width), pool.stride, pool.kernel, pool.pads[:2], shape[:2])
    bottom, right = ((n - 1) * step + side - pad - size for n, step, side, pad, size in ends)
    pads = (*pool.pads[:2], max(bottom, 0), max(right, 0))
    weights = np.full((channels, *pool.kernel, 1), 1.0 / math.prod(pool.kernel))
    conv = Conv(weights, None, pool.stride, pads, groups=channels)
    ones = np.ones((1, *shape))
    factors = (pool.evaluate(ones) / conv.evaluate(ones))[0, :, :, :1]
    own.notes.append(
        f"{own.node.name}: a convolution and factors compute its averages, some of which count "
        "their padding"
    )
    own.add("", Affine(factors, np.array(0.0)), own.add("sums", conv, own.source))


def _relu(own: Expansion, operator: Relu) -> None:
    """Append a table for slopes that LEAKY_RELU does not have."""
    limited = bool(operator.slope) and operator.limit is not None
    if (limited or operator.slope < 0) and not own.wide:
        limit = math.inf if operator.limit is None else operator.limit
        own.add("", bent(operator.slope, limit), own.source)


def _lstm(own: Expansion, operator: Lstm) -> None:
    """Append the cell states, for the range of their format, besides the hidden ones."""
    if not operator.cells and len(own.node.inputs) == 1:
        cells = own.add("cell", replace(operator, cells=True), own.source)
        own.add("", operator, own.source, cells)


_EXPANDED: Mapping[type, Callable[[Expansion, Any], None]] = {
    Affine: _affine,
    Conv: _conv,
    ConvTranspose: _transposed,
    Lstm: _lstm,
    Normalize: _normalize,
    Pad: _pad,
    Pool: _pool,
    Relu: _relu,
    Softmax: _softmax,
}
