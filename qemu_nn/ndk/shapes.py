"""Shapes of all feature tensors of a list of layers, from its structure alone."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ModelError
from .layers import Layer

Shape = tuple[int, int, int]


def feature_shapes(layer_list: Sequence[Layer]) -> dict[str, Shape]:
    """Tensor -> (channels, height, width). Raises ModelError that names the layer."""
    shapes: dict[str, Shape] = {}
    for layer in layer_list:
        missing = [name for name in layer.bottoms if name not in shapes]
        if missing:
            raise ModelError(f"layer {layer.name!r} reads {missing[0]!r}, which nothing makes")
        made = _made(layer, [shapes[name] for name in layer.bottoms])
        if any(min(shape) < 1 for shape in made):
            raise ModelError(f"layer {layer.name!r} makes {made}: nothing is left")
        shapes.update(zip(layer.tops, made))
    return shapes


def _made(layer: Layer, inputs: list[Shape]) -> list[Shape]:
    own = layer.attributes()
    if layer.type == "Input":
        return [tuple(own["dim"][1:])]
    if not inputs:
        raise ModelError(f"layer {layer.name!r} ({layer.type}) reads nothing")
    channels, height, width = inputs[0]
    if layer.type == "InnerProduct":
        return [(own["num_output"], 1, 1)]
    if layer.type in ("Convolution", "Pooling"):
        out = own["num_output"] if layer.type == "Convolution" else channels
        rows, columns = (count for count, _ in windows(layer, (channels, height, width)))
        return [(out, rows, columns)]
    if layer.type == "Slice":
        points = [0, *own["slice_point"], channels]
        return [(last - first, height, width) for first, last in zip(points, points[1:])]
    if layer.type == "Concat":
        return [(sum(shape[0] for shape in inputs), height, width)]
    return [inputs[0]]


def windows(layer: Layer, shape: Shape) -> list[tuple[int, int]]:
    """How many windows fit along (height, width), and what is left of the stride behind them."""
    own = layer.attributes()
    north, south, west, east = own["pad"]
    found = []
    for size, kernel, stride, dilation in zip(
        (shape[1] + north + south, shape[2] + west + east),
        own["kernel_size"],
        own["stride"],
        own["dilation"],
    ):
        room = size - dilation * (kernel - 1) - 1
        if min(kernel, stride, dilation) < 1:
            raise ModelError(f"layer {layer.name!r}: kernel, stride and dilation start at 1")
        found.append((room // stride + 1, room % stride))
    return found
