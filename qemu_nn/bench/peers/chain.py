"""Conversion of a graph of int8 calls to the plain layers of other runtimes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional, Union

import numpy as np

from ...errors import Error
from ...functions import layouts
from ...ir.graph import Graph, Node

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

#: Layers with a window.
_WINDOWED = ("convolve", "depthwise", "maxpool", "avepool")

#: Scale of input and weights: Q0.7.
UNIT = 2.0**-7

#: Input of the first layer.
INPUT = "input"


@dataclass(frozen=True)
class Window:
    """Window of a layer; pairs are (y, x). after: padding at each end."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    after: tuple[int, int]


@dataclass(frozen=True)
class PeerLayer:
    """One layer.

    Shapes exclude the batch: (height, width, channels) or (values,). sources: the input layers, or
    "input"; `input` is the shape of the first. weights: int8, OHWI; depthwise [1, y, x, channel];
    dense [row, column]. bias: int32, shifted to the accumulator. scales, zeros: scale and zero
    point of the (first) input and of the output. weight_scale: of all weights, or of each output
    channel. relu: true if the output is rectified.
    """

    name: str
    kind: str
    sources: tuple[str, ...]
    input: tuple[int, ...]
    output: tuple[int, ...]
    scales: tuple[float, float]
    zeros: tuple[int, int] = (0, 0)
    weight_scale: Union[float, np.ndarray] = UNIT
    window: Optional[Window] = None
    weights: Optional[np.ndarray] = None
    bias: Optional[np.ndarray] = None
    relu: bool = False


def convert_chain(graph: Graph) -> list[PeerLayer]:
    """Return the layers of a graph; raise Error with the reason if peers cannot compute it."""
    if any(node.output.scale is not None for node in graph.nodes):
        return convert_s8_layers(graph)
    layers: list[PeerLayer] = []
    tensor, scale = graph.input, UNIT
    if tensor.dtype != "int8":
        raise Error(f"{graph.name} is {tensor.dtype}, but peers compute int8")
    if graph.memory is not None:
        raise Error(f"{graph.name} uses the memory of a firmware, which peers cannot represent")
    for node in graph.nodes:
        if node.inputs != (tensor.name,):
            raise Error(
                f"{graph.name}: {node.name} reads more than the layer before it, which peers "
                "cannot represent"
            )
        tensor = node.output
        if node.function.op == "relu" and layers and layers[-1].weights is not None:
            layers[-1] = replace(layers[-1], relu=True)
            continue
        if node.function.op not in _KINDS or node.params.get("out_lshift"):
            raise Error(f"{graph.name}: no peer computes {node.function.name} ({node.name})")
        layers.append(_convert_layer(graph, node, layers[-1] if layers else None, scale))
        scale = layers[-1].scales[1]
    return layers


def _convert_layer(graph: Graph, node: Node, last: Optional[PeerLayer], scale: float) -> PeerLayer:
    kind = _KINDS[node.function.op]
    source, before = (last.name, last.output) if last else (INPUT, graph.input.shape)
    layer = PeerLayer(node.name, kind, (source,), before, node.output.shape, (scale, scale))
    if kind in _WINDOWED:
        layer = replace(layer, window=_get_window(node))
    if node.weights is None or node.bias is None:
        return layer
    bias = graph.arrays[node.bias].astype(np.int32) << node.params["bias_shift"]
    after = scale * UNIT * 2.0 ** node.params["out_shift"]
    weights = _convert_weights(node, graph.arrays[node.weights])
    return replace(layer, scales=(scale, after), weights=weights, bias=bias)


def _get_window(node: Node) -> Window:
    kernel, stride, padding, before, out = (
        tuple(node.params.get(f"{name}_{axis}", node.params.get(name, 0)) for axis in "yx")
        for name in ("dim_kernel", "stride", "padding", "dim_im_in", "dim_im_out")
    )
    after = tuple(
        max(0, (out[i] - 1) * stride[i] + kernel[i] - before[i] - padding[i]) for i in (0, 1)
    )
    return Window(*((int(y), int(x)) for y, x in (kernel, stride, padding, after)))


def _convert_weights(node: Node, array: np.ndarray) -> np.ndarray:
    """Return the weights in the shape that Layer names."""
    declared = node.function.weights
    assert declared is not None
    if node.function.interleave:
        rows, columns = node.params["num_of_rows"], node.params["dim_vec"]
        return layouts.unpack(array, rows, columns, node.function.interleave)
    weights = array.reshape(declared.shape(node.params))
    return weights[np.newaxis] if node.function.op == "depthwise" else weights


# ---- networks of the s8 API ----

_S8_KINDS = {
    "convolve_wrapper": "convolve",
    "depthwise_conv_wrapper": "depthwise",
    "fully_connected": "dense",
    "max_pool": "maxpool",
    "avgpool": "avepool",
    "softmax": "softmax",
    "elementwise_add": "add",
}


def convert_s8_layers(graph: Graph) -> list[PeerLayer]:
    """Return the layers of a graph of s8 calls, all of whose tensors have a scale and a zero point.

    Padding becomes part of the layers that read it.
    """
    tensors = {graph.input.name: graph.input, **{node.name: node.output for node in graph.nodes}}
    pads = {node.name: node for node in graph.nodes if node.function.op == "pad"}
    layers = []
    for node in graph.nodes:
        if node.name in pads:
            continue
        kind = _S8_KINDS.get(node.function.op)
        pad = pads.get(node.inputs[0])
        inputs, output = pad.inputs if pad else node.inputs, node.output
        source = tensors[inputs[0]]
        if pad and kind not in _WINDOWED:
            node, kind = pad, None
        if kind is None or output.dtype != "int8" or not source.scale or not output.scale:
            raise Error(f"{graph.name}: no peer computes {node.function.name} ({node.name})")
        layer = PeerLayer(
            node.name,
            kind,
            tuple(INPUT if name == graph.input.name else name for name in inputs),
            source.shape,
            output.shape,
            (source.scale, output.scale),
            (source.zero_point, output.zero_point),
        )
        if kind in _WINDOWED:
            layer = replace(layer, window=_get_s8_window(node, pad))
        layers.append(_add_weights(graph, node, layer) if node.weights else layer)
    return layers


def _get_s8_window(node: Node, pad: Optional[Node]) -> Window:
    """Include the padding that the previous call added."""
    p = dict(node.params)
    before = pad.params if pad else {}
    for axis in "hw":
        p[f"pad_{axis}"] += before.get(f"pre_{axis}", 0)
        p[f"input_{axis}"] = before.get(f"input_{axis}", p[f"input_{axis}"])
    pairs = [(p[f"{n}_h"], p[f"{n}_w"]) for n in ("filter", "stride", "pad", "input", "output")]
    kernel, stride, padding, image, out = pairs
    after = [max(0, (out[i] - 1) * stride[i] + kernel[i] - image[i] - padding[i]) for i in (0, 1)]
    return Window(kernel, stride, padding, (after[0], after[1]))


def _add_weights(graph: Graph, node: Node, layer: PeerLayer) -> PeerLayer:
    """Add weights, bias and the scales of weights after the multipliers."""
    declared = node.function.weights
    assert declared is not None
    bias = graph.arrays[node.bias or ""]
    multiplier, shift = (
        (bias[1], bias[2])
        if node.function.stack
        else (node.params["multiplier"], node.params["shift"])
    )
    scale = np.ldexp(np.asarray(multiplier, float), np.asarray(shift) - 31)
    return replace(
        layer,
        weights=graph.arrays[node.weights or ""].reshape(declared.shape(node.params)),
        bias=np.ascontiguousarray(bias[0] if node.function.stack else bias),
        weight_scale=scale * layer.scales[1] / layer.scales[0],
    )
