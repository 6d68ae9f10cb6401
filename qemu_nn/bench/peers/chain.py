"""A graph of int8 calls as the plain chain of layers that other runtimes know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ...errors import Error
from ...graph import Graph, Node
from ...layers import layouts

#: Op of a call -> kind of layer.
_KINDS = {
    "convolve": "convolve",
    "convolve_rgb": "convolve",
    "convolve_fast": "convolve",
    "convolve_fast_nonsquare": "convolve",
    "convolve_1x1_fast": "convolve",
    "depthwise": "depthwise",
    "fully_connected": "dense",
    "fully_connected_opt": "dense",
    "maxpool": "maxpool",
    "avepool": "avepool",
    "avepool_nonsquare": "avepool",
    "softmax": "softmax",
}

#: Scale of input and weights: Q0.7.
UNIT = 2.0**-7


@dataclass(frozen=True)
class Window:
    """How a layer walks over its image; pairs are (y, x). after: padding at each end."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    after: tuple[int, int]


@dataclass(frozen=True)
class Layer:
    """One layer. Shapes without the batch: (height, width, channels) or (values,).

    weights: int8, OHWI; depthwise [1, y, x, channel]; dense [row, column]. bias: int32, shifted
    to the accumulator. scales: what one unit of the input and of the output stands for; all
    weights have the scale UNIT, so that an output shift is exact. relu: rectified on the way.
    """

    name: str
    kind: str
    input: tuple[int, ...]
    output: tuple[int, ...]
    scales: tuple[float, float]
    window: Optional[Window] = None
    weights: Optional[np.ndarray] = None
    bias: Optional[np.ndarray] = None
    relu: bool = False


def chain(graph: Graph) -> list[Layer]:
    """The layers of a graph; raises Error with the reason where peers can not compute it."""
    layers: list[Layer] = []
    tensor, scale = graph.input, UNIT
    if tensor.dtype != "int8":
        raise Error(f"{graph.name} is {tensor.dtype}; peers compute int8")
    if graph.memory is not None:
        raise Error(f"{graph.name} uses a firmware's memory, which peers do not know")
    for node in graph.nodes:
        if node.inputs != (tensor.name,):
            raise Error(f"{graph.name}: {node.name} does not read the layer before it alone")
        tensor = node.output
        if node.function.op == "relu" and layers and layers[-1].weights is not None:
            layers[-1] = replace(layers[-1], relu=True)
            continue
        if node.function.op not in _KINDS or node.params.get("out_lshift"):
            raise Error(f"{graph.name}: no peer computes {node.function.name} ({node.name})")
        before = layers[-1].output if layers else graph.input.shape
        layers.append(_layer(graph, node, before, scale))
        scale = layers[-1].scales[1]
    return layers


def _layer(graph: Graph, node: Node, before: tuple[int, ...], scale: float) -> Layer:
    kind = _KINDS[node.function.op]
    layer = Layer(node.name, kind, before, node.output.shape, (scale, scale))
    if kind in ("convolve", "depthwise", "maxpool", "avepool"):
        layer = replace(layer, window=_window(node))
    if node.weights is None or node.bias is None:
        return layer
    bias = graph.arrays[node.bias].astype(np.int32) << node.params["bias_shift"]
    after = scale * UNIT * 2.0 ** node.params["out_shift"]
    weights = _weights(node, graph.arrays[node.weights])
    return replace(layer, scales=(scale, after), weights=weights, bias=bias)


def _window(node: Node) -> Window:
    kernel, stride, padding, before, out = (
        tuple(node.params.get(f"{name}_{axis}", node.params.get(name, 0)) for axis in "yx")
        for name in ("dim_kernel", "stride", "padding", "dim_im_in", "dim_im_out")
    )
    after = tuple(
        max(0, (out[i] - 1) * stride[i] + kernel[i] - before[i] - padding[i]) for i in (0, 1)
    )
    return Window(*((int(y), int(x)) for y, x in (kernel, stride, padding, after)))


def _weights(node: Node, array: np.ndarray) -> np.ndarray:
    """The weights in the shape that Layer names."""
    declared = node.function.weights
    assert declared is not None
    if node.function.interleave:
        rows, columns = node.params["num_of_rows"], node.params["dim_vec"]
        return layouts.unpack(array, rows, columns, node.function.interleave)
    weights = array.reshape(declared.shape(node.params))
    return weights[np.newaxis] if node.function.op == "depthwise" else weights
