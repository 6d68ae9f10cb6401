"""Conversion of layers and their fixed-point parameters to calls of the NPU's kernels, channels
last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional

import numpy as np

from ..ir.graph import Graph, Tensor
from .data_movement import add_several, concat, shuffle_channel, slice_channels
from .integers import check_width
from .layers import Layer, get_network_output, has_bias
from .lowering import Lowering, Params
from .shapes import infer_feature_shapes
from .tables import FRACS, make_code_table, make_distance_table


def make_fixed_graph(
    layers: Sequence[Layer], params: Params, bitwidth: int, hw_aligned: bool = True
) -> Graph:
    """Return the device's network of a quantized list of layers; every feature tensor has its own
    name.

    params: quantized weights and biases, fractions and signs, named as in §3.2 of the manual.
    Raises ModelError, with the layer, if a parameter is missing or the NPU lacks the layer.
    """
    bitwidth = check_width("bitwidth", bitwidth)
    infer_feature_shapes(layers)
    low = Lowering(layers[0], params, bitwidth, hw_aligned)
    start, (_, channels, height, width) = layers[0].tops[0], layers[0].attributes()["dim"]
    low.shapes[start] = (channels, height, width)
    if not params.get(f"{start}_signed", True):
        if bitwidth != 8:
            raise low.error(f"has the unsigned tensor {start!r}, which needs a bit width of 8")
        low.unsigned.add(start)
    dtype = "uint8" if low.unsigned else low.dtype
    first = Tensor(start, (height, width, channels), dtype, low.frac(start))
    for layer in layers[1:]:
        low.layer = layer
        if layer.type not in _LAYERS:
            raise low.error("has no fixed-point form on the NPU")
        _LAYERS[layer.type](low, layer, layer.attributes())
    outputs = tuple(name for name in get_network_output(layers) if name != start)
    return Graph("ndk", (first,), tuple(low.nodes), outputs, low.arrays)


def _convolution(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    _convolve(low, low.integers("weight").transpose(0, 2, 3, 1), own)


def _innerproduct(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    size = low.shapes[layer.bottoms[0]][1:]
    _convolve(low, low.integers("weight").transpose(0, 2, 3, 1), {"kernel_size": size})


def _batchnorm(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    channels = low.shapes[layer.bottoms[0]][0]
    weights = low.integers("weight").reshape(-1, 1, 1, 1)
    _convolve(low, weights, {"kernel_size": (1, 1), "group": channels})


def _bias(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    channels = low.shapes[layer.bottoms[0]][0]
    ones = np.ones((channels, 1, 1, 1), np.int64)
    _convolve(low, ones, {"kernel_size": (1, 1), "group": channels}, np.zeros(channels, np.int64))


def _convolve(
    low: Lowering, weights: np.ndarray, own: Mapping[str, Any], fracs: Optional[np.ndarray] = None
) -> None:
    """weights [out, y, x, depth]; fracs: of the weights, if not among the parameters."""
    source, top, out = low.layer.bottoms[0], low.layer.tops[0], len(weights)
    _, height, width = low.shapes[source]
    group, depth = own.get("group", 1), weights.shape[3]
    products = low.frac(source) + (low.fracs("weight", out) if fracs is None else fracs)
    start = np.zeros(out, np.int64)
    if has_bias(low.layer):
        shifts = [low.shift("bias", int(n)) for n in products - low.fracs("bias", out)]
        start = low.integers("bias").astype(np.int64) * 2 ** np.array(shifts, np.int64)
    shifts = [low.shift("sum", int(n)) for n in products - low.frac(top)]
    geometry, size = low.windows(own, (height, width))
    params = {**geometry, "group": group, "depth": depth, "out_c": out}
    kind = "u8" if source in low.unsigned else None
    pairs = np.stack([start, np.array(shifts, np.int64)], 1)
    low.call(
        "convolve", params, [source], top, (out, *size), kind, pairs, weights.astype(low.dtype)
    )


def _pooling(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    source, top = layer.bottoms[0], layer.tops[0]
    channels, height, width = low.shapes[source]
    geometry, size = low.windows(own, (height, width))
    step = 0
    if own["pool"] == "MAX":
        low.same(source, top)
    else:
        step = low.frac(top) - low.frac(source)
    params = {**geometry, "channels": channels, "pad_s": own["pad"][1]}
    params |= {"up": max(step, 0), "down": max(-step, 0), "hw_aligned": int(low.hw_aligned)}
    op = "max_pool" if own["pool"] == "MAX" else "average_pool"
    low.call(op, params, [source], top, (channels, *size))


def _elementwise(low: Lowering, op: str, table: Optional[np.ndarray] = None, **params: int) -> None:
    source, top = low.layer.bottoms[0], low.layer.tops[0]
    shape = low.shapes[source]
    low.call(op, {"length": math.prod(shape), **params}, [source], top, shape, None, None, table)


def _relu(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    low.same(layer.bottoms[0], layer.tops[0])
    slope = round(own["negative_slope"] * 64)
    if not 0 <= slope <= 255:
        raise low.error(f"has a negative_slope of {own['negative_slope']}; it must be in 0..3.98")
    _elementwise(low, "relu", slope=slope)


def _relu6(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    for name in (layer.bottoms[0], layer.tops[0]):
        frac = low.get_fixed_fraction(name, *FRACS[layer.type])
    _elementwise(low, "clip", high=6 << frac)


def _lookup(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    low.get_fixed_fraction(layer.tops[0], 7, 15)
    low.get_fixed_fraction(layer.bottoms[0], *FRACS[layer.type])
    _elementwise(low, "lookup", make_code_table(layer.type, low.bits))


def _logsoftmax(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    for name in (layer.bottoms[0], layer.tops[0]):
        low.get_fixed_fraction(name, *FRACS[layer.type])
    source, top = layer.bottoms[0], layer.tops[0]
    channels, height, width = low.shapes[source]
    table = make_distance_table(low.bits)
    params = {"pixels": height * width, "channels": channels}
    low.call("log_softmax", params, [source], top, low.shapes[source], None, None, table)


def _eltwise(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    if own["operation"] != "sum" or len(layer.bottoms) < 2:
        raise low.error(
            f"computes the {own['operation']} of {len(layer.bottoms)} tensors; the NPU "
            "computes sums of two or more"
        )
    shift = low.same(*layer.bottoms) - low.frac(layer.tops[0])
    shape = low.shapes[layer.bottoms[0]]
    if any(low.shapes[name] != shape for name in layer.bottoms):
        raise low.error("adds tensors of different shapes; they must be equal")
    params = {"length": math.prod(shape), "shift": low.shift("sum", shift)}
    if len(layer.bottoms) > 2:
        add_several(low, layer, shift)
        return
    low.call("add", params, layer.bottoms, layer.tops[0], shape)


def _scalebytensor(low: Lowering, layer: Layer, own: Mapping[str, Any]) -> None:
    image, scale = layer.bottoms
    channels, height, width = low.shapes[image]
    if low.shapes[scale] != (channels, 1, 1):
        raise low.error(
            f"scales {channels} channels by a tensor {list(low.shapes[scale])}; it must be "
            f"{[channels, 1, 1]}"
        )
    shift = low.frac(image) + low.frac(scale) - low.frac(layer.tops[0])
    params = {
        "pixels": height * width,
        "channels": channels,
        "shift": low.shift("product", shift),
    }
    low.call("scale_by_tensor", params, layer.bottoms, layer.tops[0], low.shapes[image])


_LAYERS: dict[str, Callable[[Lowering, Layer, Mapping[str, Any]], None]] = {
    "Convolution": _convolution,
    "InnerProduct": _innerproduct,
    "BatchNorm": _batchnorm,
    "Scale": _batchnorm,
    "Bias": _bias,
    "Pooling": _pooling,
    "ReLU": _relu,
    "ReLU6": _relu6,
    "Sigmoid": _lookup,
    "TanH": _lookup,
    "LogSoftmax": _logsoftmax,
    "Eltwise": _eltwise,
    "ScaleByTensor": _scalebytensor,
    "Slice": slice_channels,
    "Concat": concat,
    "ShuffleChannel": shuffle_channel,
}
