"""Conversion of layers and their float parameters to a float network, channels first, for numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ..errors import ModelError
from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import (
    Affine,
    Concat,
    Conv,
    Elementwise,
    Operator,
    Pad,
    Pool,
    Relu,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
)
from .layers import Layer, get_network_output, has_bias
from .shapes import Shape, infer_feature_shapes, shape_parameter

Params = Mapping[str, Any]

_SIMPLE: dict[str, Operator] = {
    "Sigmoid": Sigmoid(),
    "ReLU6": Relu(limit=6.0),
    "TanH": Tanh(),
    "Softmax": Softmax(0),
    "LogSoftmax": Softmax(0, log=True),
    "ScaleByTensor": Elementwise("multiply"),
}


def float_graph(layers: Sequence[Layer], params: Params) -> FloatGraph:
    """Return the network of a list of layers; its tensors are those of the layers.

    params: float weights and biases by name. Raises ModelError that names the layer.
    """
    infer_feature_shapes(layers)
    start = layers[0]
    shape = tuple(start.attributes()["dim"][1:])
    shapes = {start.tops[0]: shape}
    nodes: list[FloatNode] = []
    for layer in layers[1:]:
        for name, operator, inputs in _convert_layer(layer, params, shapes):
            try:
                shapes[name] = operator.shape(*(shapes[source] for source in inputs))
            except ModelError as error:
                raise ModelError(f"layer {layer.name!r} ({layer.type}): {error}") from None
            nodes.append(FloatNode(name, operator, tuple(inputs)))
    outputs = tuple(name for name in get_network_output(layers) if name in shapes)
    return FloatGraph("the network", start.tops[0], shape, "NCHW", tuple(nodes), outputs)


def get_parameter(layer: Layer, role: str, params: Params) -> np.ndarray:
    """Return the float weights or bias of a layer; raise ModelError if they are not
    finite numbers.
    """
    key = f"{layer.name}_{role}"
    if key not in params:
        raise ModelError(f"the parameters lack {key!r}")
    try:
        values = np.asarray(params[key])
    except ValueError:  # lists of lists of different lengths
        values = np.array(None)
    if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise ModelError(
            f"layer {layer.name!r} ({layer.type}): {key} has values that are not finite; all "
            "must be"
        )
    return values.astype(np.float64)


def shape_float_parameter(layer: Layer, role: str, params: Params, source: Shape) -> np.ndarray:
    """Return the float parameter in the layer's own shape, [outputs, depth, height, width] or
    [channels].

    source: the shape of the layer's input.
    """
    return shape_parameter(layer, role, get_parameter(layer, role, params), source)


def _convert_layer(
    layer: Layer, params: Params, shapes: Mapping[str, Shape]
) -> Iterator[tuple[str, Operator, list[str]]]:
    """Yield name, operator and inputs of each operator that a layer becomes."""
    inputs, tops, kind = layer.bottoms, layer.tops, layer.type
    if kind == "Input":
        raise ModelError(f"layer {layer.name!r} is a second Input; a network must have one")
    if kind in ("Convolution", "Pooling"):
        yield from _convert_windowed(layer, params, inputs[0], shapes)
    elif kind == "Slice":
        channels = shapes[inputs[0]][0]
        points = [0, *layer.attributes()["slice_point"], channels]
        for top, first, last in zip(tops, points, points[1:]):
            yield top, Slice(0, first, last), inputs
    elif kind == "Eltwise":
        yield from _sum(layer)
    else:
        yield tops[0], _operator(layer, params, shapes[inputs[0]]), inputs


def _operator(layer: Layer, params: Params, shape: Shape) -> Operator:
    """Return the operator of a layer that is a single one."""
    if layer.type in _SIMPLE:
        return _SIMPLE[layer.type]
    own = layer.attributes()
    if layer.type == "ReLU":
        return Relu(own["negative_slope"])
    if layer.type == "Concat":
        return Concat(0)
    if layer.type == "ShuffleChannel":
        return Shuffle(own["group"], 0)
    if layer.type == "InnerProduct":
        weights = shape_float_parameter(layer, "weight", params, shape).transpose(0, 2, 3, 1)
        return Conv(weights, _bias(layer, params, shape), layout="NCHW")
    bias = layer.type == "Bias"
    scale = np.ones(1) if bias else shape_float_parameter(layer, "weight", params, shape)
    offset = shape_float_parameter(layer, "bias", params, shape) if has_bias(layer) else np.zeros(1)
    return Affine(scale.reshape(-1, 1, 1), offset.reshape(-1, 1, 1))


def _bias(layer: Layer, params: Params, source: Shape) -> Optional[np.ndarray]:
    return shape_float_parameter(layer, "bias", params, source) if has_bias(layer) else None


def _convert_windowed(
    layer: Layer, params: Params, source: str, shapes: Mapping[str, Shape]
) -> Iterator[tuple[str, Operator, list[str]]]:
    """Yield a convolution or pooling, after a slice for rows and columns that a
    negative pad drops.
    """
    own, top = layer.attributes(), layer.tops[0]
    north, south, west, east = own["pad"]
    if min(south, east) < 0:
        cut = ((0, 0), (0, min(south, 0)), (0, min(east, 0)))
        yield f"{top}/cut", Pad(cut), [source]
        source = f"{top}/cut"
    pads = (north, west, max(south, 0), max(east, 0))
    if layer.type == "Convolution":
        weights = shape_float_parameter(layer, "weight", params, shapes[source]).transpose(
            0, 2, 3, 1
        )
        bias = _bias(layer, params, shapes[source])
        conv = Conv(weights, bias, own["stride"], pads, own["dilation"], own["group"], "NCHW")
        yield top, conv, [source]
        return
    if own["dilation"] != (1, 1):
        raise ModelError(
            f"layer {layer.name!r}: a pooling with a dilation has no float form; set it to 1"
        )
    kind = {"MAX": "max", "AVE": "average"}[own["pool"]]
    yield top, Pool(kind, own["kernel_size"], own["stride"], pads, layout="NCHW"), [source]


def _sum(layer: Layer) -> Iterator[tuple[str, Operator, list[str]]]:
    operation = layer.attributes()["operation"]
    kinds = {"sum": "add", "prod": "multiply", "max": "maximum"}
    if operation not in kinds or len(layer.bottoms) < 2:
        raise ModelError(
            f"layer {layer.name!r}: there is no {operation!r} of {len(layer.bottoms)} tensors"
        )
    total, *others = layer.bottoms
    for index, other in enumerate(others, 1):
        name = layer.tops[0] if index == len(others) else f"{layer.tops[0]}/{index}"
        yield name, Elementwise(kinds[operation]), [total, other]
        total = name
