"""Layers of the NPU that move channels and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .layers import Layer
from .lowering import Lowering


def _move(low: Lowering, inputs: Sequence[str], top: str, order: Sequence[int]) -> None:
    """The tensor `top` of channels of one or two tensors, as if joined."""
    _, height, width = low.shapes[inputs[0]]
    counts = [low.shapes[name][0] for name in inputs]
    if any(low.shapes[name][1:] != (height, width) for name in inputs):
        raise low.error("joins tensors of different sizes")
    if any(name in low.unsigned for name in inputs):
        raise low.error("moves an unsigned tensor, which is not supported")
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
    """Channels cut into several tensors."""
    low.same(*layer.bottoms, *layer.tops)
    channels = low.shapes[layer.bottoms[0]][0]
    points = [0, *own["slice_point"], channels]
    if points != sorted(set(points)) or len(points) != len(layer.tops) + 1:
        raise low.error(f"cuts {channels} channels at {own['slice_point']} into {len(layer.tops)}")
    for top, first, last in zip(layer.tops, points, points[1:]):
        _move(low, layer.bottoms, top, range(first, last))


def concat(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    """Channels of several tensors, one after the other."""
    low.same(*layer.bottoms, *layer.tops)
    total, *others = layer.bottoms
    if not others:
        raise low.error("joins a single tensor")
    for index, other in enumerate(others, 1):
        top = layer.tops[0] if index == len(others) else f"{layer.tops[0]}/{index}"
        count = low.shapes[total][0] + low.shapes[other][0]
        _move(low, [total, other], top, range(count))
        total = top


def shuffle_channel(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    """Channels as [group, n] become [n, group]."""
    low.same(*layer.bottoms, *layer.tops)
    channels = low.shapes[layer.bottoms[0]][0]
    if own["group"] < 1 or channels % own["group"]:
        raise low.error(f"shuffles {channels} channels in {own['group']} groups")
    order = np.arange(channels).reshape(own["group"], -1).T.ravel()
    _move(low, layer.bottoms, layer.tops[0], order.tolist())
