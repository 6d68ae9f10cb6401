"""Concat, Slice, Flatten and Reshape of Caffe."""

from __future__ import annotations

import math

from ...errors import ModelError
from ...ir.float_graph import FloatNode
from ...operators import ArgMax, Concat, Gather, Operator, Reduce, Reshape, Slice
from .layer import CaffeLayer


def concat(layer: CaffeLayer) -> Operator:
    """Return side by side, by default channels."""
    fields = layer.parameters("concat_param")
    old = fields.HasField("concat_dim")
    return Concat(layer.axis(fields.concat_dim if old else fields.axis))


def slices(layer: CaffeLayer) -> list[FloatNode]:
    """Convert Slice: the pieces between points, or equal pieces without points; one for
    each top.
    """
    step, fields = layer.step, layer.parameters("slice_param")
    axis = layer.axis(fields.slice_dim if fields.HasField("slice_dim") else fields.axis)
    length, count = layer.shape[axis], len(step.makes)
    points = list(fields.slice_point) or [length * i // count for i in range(1, count)]
    if len(points) != count - 1 or (not fields.slice_point and length % count):
        raise ModelError(
            f"it has {count} tops for {length} elements and {len(points)} slice points; "
            "there must be one more top than points, or equal parts"
        )
    return [
        FloatNode(name, Slice(axis, start, stop), step.reads)
        for name, start, stop in zip(step.makes, [0, *points], [*points, length])
    ]


def tile(layer: CaffeLayer) -> Operator:
    """Convert Tile: an axis, several times."""
    fields = layer.parameters("tile_param")
    axis = layer.axis(fields.axis)
    if not 1 <= fields.tiles <= _MOST_TILES:
        raise ModelError(f"its tiles are {fields.tiles}; they must be 1 to {_MOST_TILES}")
    return Gather(axis, tuple(range(layer.shape[axis])) * fields.tiles)


#: Most repetitions of an axis.
_MOST_TILES = 4096


def arg_max(layer: CaffeLayer) -> list[FloatNode]:
    """Convert ArgMax along an axis, of one index."""
    fields = layer.parameters("argmax_param")
    if fields.out_max_val or fields.top_k != 1 or not fields.HasField("axis"):
        raise ModelError("only the index of one maximum along an axis is supported")
    return [layer.node(ArgMax(layer.axis(fields.axis)))]


def reduction(layer: CaffeLayer) -> list[FloatNode]:
    """Convert Reduction: a sum or mean over all axes from one on."""
    fields, shape = layer.parameters("reduction_param"), layer.shape
    first, kind = layer.axis(fields.axis), {1: "sum", 4: "mean"}.get(fields.operation)
    if kind is None or fields.coeff != 1:
        raise ModelError("only SUM and MEAN without coeff are supported")
    reduced = layer.node(Reduce(kind, tuple(range(first, len(shape)))), part="reduced")
    return [reduced, layer.node(Reshape(shape[:first]), reduced.name)]


def flatten(layer: CaffeLayer) -> Operator:
    """Return a run of axes becomes one."""
    fields, shape = layer.parameters("flatten_param"), layer.shape
    first, last = layer.axis(fields.axis), layer.axis(fields.end_axis)
    if first > last:
        raise ModelError(f"axis {fields.axis} comes after end_axis {fields.end_axis}")
    return Reshape((*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


def reshape(layer: CaffeLayer) -> Operator:
    """Convert Reshape: 0 keeps a size, -1 is the remainder; the batch must stay one."""
    fields, whole = layer.parameters("reshape_param"), (1, *layer.shape)
    dims = list(fields.shape.dim)
    first = fields.axis if fields.axis >= 0 else fields.axis + len(whole) + 1
    last = len(whole) if fields.num_axes == -1 else first + fields.num_axes
    replaced = whole[first:last]
    if not 0 <= first <= last <= len(whole) or len(dims) > 8 or 0 in dims[len(replaced) :]:
        raise ModelError(f"{dims} cannot replace the axes {first} to {last} of {len(whole)}")
    dims = [size or replaced[i] for i, size in enumerate(dims)]
    new = [*whole[:first], *dims, *whole[last:]]
    if new.count(-1) == 1:
        others = math.prod(size for size in new if size != -1)
        new[new.index(-1)] = math.prod(whole) // others
    if new[:1] != [1]:
        raise ModelError(
            f"it reshapes a batch of one to {new}, which would mix samples; the first axis must "
            "remain the batch"
        )
    return Reshape(tuple(new[1:]))
