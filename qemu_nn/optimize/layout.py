"""Conversion to channels last: images become height, width, channels, and transpositions are
removed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.tensors import CHANNELS_LAST, make_free_name
from ..operators import (
    Affine,
    ArgMax,
    Clip,
    Concat,
    Conv,
    ConvTranspose,
    Curve,
    Dense,
    DepthToSpace,
    Elementwise,
    Gather,
    Identity,
    Lstm,
    MatMul,
    Normalize,
    Operator,
    Pad,
    Pool,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Resize,
    Shape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    SpaceToDepth,
    Tanh,
    Transpose,
)
from .tidy import rename

Order = tuple[int, ...]

#: From channels, height, width to height, width, channels.
_NHWC: Order = CHANNELS_LAST

#: Operators that treat every element alike.
_UNARY = (Identity, Relu, Clip, Sigmoid, Tanh, Curve)

#: Operators on images, with a layout.
_IMAGES = (Conv, ConvTranspose, Pool, Resize, DepthToSpace, SpaceToDepth)


@dataclass(frozen=True)
class _Stored:
    """Storage of a tensor of the file: tensor `name` is its transposition by `order`.

    flat: the tensor is a vector, stored as the image of this shape, transposed and then flattened.
    """

    name: str
    order: Order
    flat: Optional[Shape] = None


def move_channels_last(graph: FloatGraph) -> FloatGraph:
    """Return the same network on images NHWC, including output images.

    If an image is flattened, the columns of the fully connected layer after it are reordered; a
    transposition is kept only for further readers of the vector. A signal is an image of one row,
    whose steps precede its channels. Outputs that are not images keep their axis order.
    """
    return _Rewriting(graph).graph()


class _Rewriting:
    """New nodes so far, and the storage of each old tensor in them."""

    def __init__(self, old: FloatGraph) -> None:
        self.old = old
        self.nodes: list[FloatNode] = []
        self.held = {name: self._input(name) for name in old.starts}
        self.transposed: dict[tuple[str, Order], str] = {}
        self.names = set(old.shapes)

    def _input(self, name: str) -> _Stored:
        natural = tuple(range(len(self.old.starts[name])))
        return _Stored(name, _NHWC if self.old.layout_of(name) == "NCHW" else natural)

    def graph(self) -> FloatGraph:
        for node in self.old.nodes:
            self.held[node.name] = self._rewrite(node)
        moved = [name for name in self.old.outputs if self._show(name)]
        starts = {
            name: tuple(shape[axis] for axis in self._input(name).order)
            for name, shape in self.old.starts.items()
        }
        if self.old.others and self.old.layout == "NCHW":
            moved += [name for name in starts if self.old.layout_of(name)]
        shape, *others = starts.values()
        return replace(
            self.old,
            shape=shape,
            others=tuple(zip(list(starts)[1:], others)),
            layout="NHWC" if self.old.layout else None,
            nodes=tuple(self.nodes),
            moved=(*self.old.moved, *moved),
        )

    def _show(self, name: str) -> bool:
        """Store an output under its name; return true if its channels are last, unlike the file's.

        Other outputs have the axis order of the file.
        """
        held, shape = self.held[name], self.old.shapes[name]
        if held.order in (tuple(range(len(shape))), _NHWC):
            if held.name != name:  # an alias of another tensor
                self.nodes.append(FloatNode(name, Identity(), (held.name,)))
            return held.order == _NHWC
        source, step = held.name, tuple(int(axis) for axis in np.argsort(held.order))
        if source == name:
            source = self._new(f"{name}/{'x'.join(map(str, held.order))}")
            self.nodes = rename(self.nodes, name, source)
            aliases = {n: each for n, each in self.held.items() if each.name == name}
            self.held.update((n, replace(each, name=source)) for n, each in aliases.items())
        self.nodes.append(FloatNode(name, _make_transpose(shape, held.order, step), (source,)))
        return False

    def _rewrite(self, node: FloatNode) -> _Stored:
        operator, first = node.operator, self.held[node.inputs[0]]
        if isinstance(operator, Transpose):
            return self._transpose(node, operator, first)
        if isinstance(operator, Reshape):
            return self._reshape(node, operator, first)
        if isinstance(operator, (MatMul, Lstm)):
            return self._add(node, operator, tuple(range(len(first.order))))
        if isinstance(operator, _IMAGES):
            order = _NHWC if operator.layout == "NCHW" else (0, 1, 2)
            return self._add(node, replace(operator, layout="NHWC"), order)
        if isinstance(operator, Dense):
            return self._dense(node, operator, first)
        if isinstance(operator, Softmax) and len(first.order) == 2:  # runs along the last axis
            first = replace(first, order=(1 - operator.axis, operator.axis))
        if first.flat is not None and not self._elementwise(node):
            return self._add(node, operator, first.order)
        return self._add(node, _reorder_operator(operator, first), first.order, first.flat)

    def _elementwise(self, node: FloatNode) -> bool:
        return isinstance(node.operator, (*_UNARY, Affine, PRelu))

    def _add(
        self, node: FloatNode, operator: Operator, order: Order, flat: Optional[Shape] = None
    ) -> _Stored:
        """Append the node, on inputs that are stored in an order."""
        inputs = tuple(self._fetch(name, order, flat) for name in node.inputs)
        self.nodes.append(FloatNode(node.name, operator, inputs))
        return _Stored(node.name, order, flat)

    def _fetch(self, name: str, order: Order, flat: Optional[Shape] = None) -> str:
        """Return the name of a tensor in this order; append a transposition if the stored order
        differs.
        """
        held = self.held[name]
        if (held.order, held.flat) == (order, flat):
            return held.name
        if (name, order) in self.transposed:
            return self.transposed[name, order]
        source, shape = held.name, self.old.shapes[name]
        if held.flat is not None:
            source = self._insert(f"{name}/image", Reshape(held.flat), source)
            back = tuple(int(axis) for axis in np.argsort(_NHWC))
            source = self._insert(f"{name}/chw", Transpose(back), source)
            source = self._insert(f"{name}/flat", Reshape(shape), source)
        else:
            step = tuple(held.order.index(axis) for axis in order)
            operator = _make_transpose(shape, held.order, step)
            source = self._insert(f"{name}/{'x'.join(map(str, order))}", operator, source)
        self.transposed[name, order] = source
        return source

    def _new(self, name: str) -> str:
        """Return a name that no tensor has, old or new."""
        name = make_free_name(name, self.names)
        self.names.add(name)
        return name

    def _insert(self, name: str, operator: Operator, source: str) -> str:
        name = self._new(name)
        self.nodes.append(FloatNode(name, operator, (source,)))
        return name

    def _transpose(self, node: FloatNode, operator: Transpose, first: _Stored) -> _Stored:
        """Reuse the stored tensor in another order, without moving an element."""
        if first.flat is not None:
            return self._add(node, operator, first.order)
        order = tuple(operator.order.index(axis) for axis in first.order)
        return _Stored(first.name, order)

    def _reshape(self, node: FloatNode, operator: Reshape, first: _Stored) -> _Stored:
        shape = self.old.shapes[node.inputs[0]]
        natural, to = tuple(range(len(operator.to))), operator.to
        if first.flat is None and _keeps_memory(shape, first.order):
            self.nodes.append(FloatNode(node.name, operator, (first.name,)))
            return _Stored(node.name, natural)
        image = None if first.flat is not None else _get_image(shape, first.order)
        if image is not None and len(to) == 1 and self._to_dense(node.name):
            self.nodes.append(FloatNode(node.name, operator, (first.name,)))
            return _Stored(node.name, natural, image)
        order = None if first.flat is not None else _carry_order(shape, first.order, to)
        if order is not None:
            stored = tuple(to[axis] for axis in order)
            self.nodes.append(FloatNode(node.name, Reshape(stored), (first.name,)))
            return _Stored(node.name, order)
        source = self._fetch(node.inputs[0], tuple(range(len(shape))))
        self.nodes.append(FloatNode(node.name, operator, (source,)))
        return _Stored(node.name, natural)

    def _to_dense(self, name: str) -> bool:
        """True if only fully connected layers depend on the order of this vector."""
        readers = self.old.readers(name)
        return (
            name not in self.old.outputs
            and bool(readers)
            and all(
                isinstance(reader.operator, Dense)
                or (self._elementwise(reader) and self._to_dense(reader.name))
                for reader in readers
            )
        )

    def _dense(self, node: FloatNode, operator: Dense, first: _Stored) -> _Stored:
        if first.flat is not None:
            columns = np.ascontiguousarray(operator.weights[:, _index_elements(first.flat)])
            return self._vector(node, replace(operator, weights=columns), first)
        order = tuple(range(len(self.old.shapes[node.inputs[0]])))
        if first.order[-1] != order[-1]:
            return self._add(node, operator, order)
        return self._add(node, operator, first.order)

    def _vector(self, node: FloatNode, operator: Operator, first: _Stored) -> _Stored:
        self.nodes.append(FloatNode(node.name, operator, (first.name,)))
        return _Stored(node.name, first.order)


def _keeps_memory(shape: Shape, order: Order) -> bool:
    """True if a transposition only permutes axes of one element, so that no element moves."""
    return [axis for axis in order if shape[axis] > 1] == [
        axis for axis in range(len(shape)) if shape[axis] > 1
    ]


def _make_transpose(shape: Shape, held: Order, step: Order) -> Operator:
    """Return a transposition of a tensor of this shape, stored in an order; a reshape if nothing
    moves.
    """
    now = tuple(shape[axis] for axis in held)
    return (
        Reshape(tuple(now[axis] for axis in step)) if _keeps_memory(now, step) else Transpose(step)
    )


def _get_image(shape: Shape, order: Order) -> Optional[Shape]:
    """Return height, width, channels of a tensor whose first axis, its channels, is stored last;
    None for any other.
    """
    where = [axis for axis, n in enumerate(shape) if n > 1]
    stored = [axis for axis in order if shape[axis] > 1]
    if len(where) not in (2, 3) or stored != [*where[1:], where[0]]:
        return None
    sizes = (1, *(shape[axis] for axis in stored))
    return sizes[-3], sizes[-2], sizes[-1]


def _carry_order(shape: Shape, order: Order, to: Shape) -> Optional[Order]:
    """Return the stored order of a tensor after a reshape that moves no stored element.

    It splits or merges neighboring axes that are stored next to each other, or adds or removes axes
    of one element; None for any other reshape.
    """
    parts = {before[0]: (before, after) for before, after in _match_axes(shape, to)}
    stored = [axis for axis in order if shape[axis] > 1]
    moved: list[int] = []
    while stored:
        before, after = parts.get(stored[0], ([], []))
        if not before or stored[: len(before)] != before:
            return None
        moved += after
        stored = stored[len(before) :]
    if len(to) == 3 and moved == [axis for axis in _NHWC if to[axis] > 1]:
        return _NHWC
    return (*(axis for axis in range(len(to)) if to[axis] == 1), *moved)


def _match_axes(shape: Shape, to: Shape) -> list[tuple[list[int], list[int]]]:
    """Return the smallest runs of axes of both shapes that hold the same elements."""
    ahead, behind = ([axis for axis, n in enumerate(each) if n > 1] for each in (shape, to))
    parts = []
    while ahead and behind:
        before, after = [ahead.pop(0)], [behind.pop(0)]
        while (first := math.prod(shape[axis] for axis in before)) != (
            second := math.prod(to[axis] for axis in after)
        ):
            before += [ahead.pop(0)] if first < second else []
            after += [behind.pop(0)] if second < first else []
        parts.append((before, after))
    return parts


def _index_elements(held: Shape) -> np.ndarray:
    """Return, for each element of a flattened image [h, w, c], its index in [c, h, w]."""
    height, width, channels = held
    elements: np.ndarray = (
        np.arange(math.prod(held)).reshape(channels, height, width).transpose(1, 2, 0).ravel()
    )
    return elements


def _reorder_operator(operator: Operator, held: _Stored) -> Operator:
    """Return an operator with its axes and arrays in the stored order of its tensor."""
    stored_axis: Mapping[int, int] = {axis: i for i, axis in enumerate(held.order)}
    if isinstance(operator, (Concat, Slice, Gather, Softmax, Shuffle, ArgMax)):
        return replace(operator, axis=stored_axis[operator.axis])
    if isinstance(operator, (Reduce, Normalize)):
        return replace(operator, axes=tuple(sorted(stored_axis[axis] for axis in operator.axes)))
    if isinstance(operator, Pad):
        return replace(operator, pads=tuple(operator.pads[axis] for axis in held.order))
    if isinstance(operator, Affine):
        scale, offset = (_reorder_array(a, held) for a in (operator.scale, operator.offset))
        return Affine(scale, offset)
    if isinstance(operator, PRelu):
        return PRelu(_reorder_array(operator.slope, held))
    assert isinstance(operator, (*_UNARY, Elementwise)), type(operator)
    return operator


def _reorder_array(array: np.ndarray, held: _Stored) -> np.ndarray:
    """Return an array that broadcasts to a tensor, reordered to broadcast to the tensor as
    stored.
    """
    if array.size == 1 or (held.order == tuple(sorted(held.order)) and held.flat is None):
        return array
    if held.flat is not None:
        elements: np.ndarray = array.ravel()[_index_elements(held.flat)]
        return elements
    whole = array.reshape(*[1] * (len(held.order) - array.ndim), *array.shape)
    return np.ascontiguousarray(whole.transpose(held.order))
