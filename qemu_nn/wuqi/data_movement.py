"""Data movement on the NPU: layers that select and join channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .layers import Layer
from .lowering import Lowering


def _select_channels(low: Lowering, inputs: Sequence[str], top: str, order: Sequence[int]) -> None:
    """Add the tensor `top` of these channels of one or two tensors, counted as if joined."""
    _, height, width = low.shapes[inputs[0]]
    counts = [low.shapes[name][0] for name in inputs]
    if any(low.shapes[name][1:] != (height, width) for name in inputs):
        raise low.error(
            "joins tensors of different sizes; they must be equal except along the axis"
        )
    if any(name in low.unsigned for name in inputs):
        raise low.error("reads an unsigned tensor, but only layers with weights or a bias can")
    second = inputs[1] if len(inputs) > 1 else inputs[0]
    params = {"pixels": height * width, "channels_a": counts[0], "channels_out": len(order)}
    params["channels_b"] = low.shapes[second][0]
    table = np.array(order, np.int32)
    low.call(
        "channels",
        params,
        [inputs[0], second],
        top,
        (len(order), height, width),
        None,
        None,
        table,
    )


def slice_channels(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    """Append a copy of each slice of the channels."""
    low.same(*layer.bottoms, *layer.tops)
    channels = low.shapes[layer.bottoms[0]][0]
    points = [0, *own["slice_point"], channels]
    if points != sorted(set(points)) or len(points) != len(layer.tops) + 1:
        raise low.error(
            f"cuts {channels} channels at {own['slice_point']} into {len(layer.tops)} "
            "tensors; points must increase, one fewer than tensors"
        )
    for top, first, last in zip(layer.tops, points, points[1:]):
        _select_channels(low, layer.bottoms, top, range(first, last))


def concat(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    """Append the concatenation of the channels of several tensors."""
    low.same(*layer.bottoms, *layer.tops)
    if len(layer.bottoms) < 2:
        raise low.error("joins a single tensor; it must join two or more")
    _join(low, layer, layer.tops[0], 1)


def _join(low: Lowering, layer: Layer, last: str, groups: int) -> None:
    """Join all inputs of a layer as the tensor `last`; channels [groups, n] become [n, groups]."""
    total, *others = layer.bottoms
    for index, other in enumerate(others, 1):
        ends = index == len(others)
        order = np.arange(low.shapes[total][0] + low.shapes[other][0])
        if ends:
            order = order.reshape(groups, -1).T.ravel()
        top = last if ends else f"{layer.tops[0]}/{index}"
        _select_channels(low, [total, other], top, order.tolist())
        total = top


def add_several(low: Lowering, layer: Layer, shift: int) -> None:
    """Add the sum of more than two tensors, exact before its one shift.

    The tensors' values of a channel are joined, and a convolution of one pixel with weights of 1
    adds them.
    """
    shape, top, count = low.shapes[layer.bottoms[0]], layer.tops[0], len(layer.bottoms)
    joined = f"{top}/{count}"
    _join(low, layer, joined, count)
    channels, *size = shape
    geometry, _ = low.windows({"kernel_size": (1, 1)}, (size[0], size[1]))
    params = {**geometry, "group": channels, "depth": count, "out_c": channels}
    pairs = np.tile(np.array([0, shift], np.int64), (channels, 1))
    ones = np.ones((channels, 1, 1, count), low.dtype)
    low.call("convolve", params, [joined], top, shape, None, pairs, ones)


def shuffle_channel(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    """Append a reordering of the channels from [group, n] to [n, group]."""
    low.same(*layer.bottoms, *layer.tops)
    channels = low.shapes[layer.bottoms[0]][0]
    if own["group"] < 1 or channels % own["group"]:
        raise low.error(
            f"shuffles {channels} channels in {own['group']} groups; the groups must divide the "
            "channels"
        )
    order = np.arange(channels).reshape(own["group"], -1).T.ravel()
    _select_channels(low, layer.bottoms, layer.tops[0], order.tolist())
