"""Convolutions, pooling and fully connected layers of Keras."""

from __future__ import annotations

from typing import Callable, Optional

import numpy as np

from ...operators import Conv, ConvTranspose, Dense, Gather, Pool, Reshape, Resize
from ...operators.base import Pads, compute_same_pads, image, to_layout
from .activation import find_inner_tensor, finish
from .building import KerasBuilder
from .config import KerasLayer

Pair = tuple[int, int]


def _compute_pads(
    layer: KerasLayer, size: Pair, kernel: Pair, stride: Pair, dilation: Pair
) -> Pads:
    """Compute the padding of TensorFlow: "same" has the odd cell after the image, "causal" all
    cells before it.
    """
    padding = str(layer.options.get("padding", "valid")).lower()
    if padding == "same":
        return compute_same_pads(size, kernel, stride, dilation)
    if padding == "causal" and layer.kind == "Conv1D":
        return (dilation[0] * (kernel[0] - 1), 0, 0, 0)
    if padding != "valid":
        raise layer.error(f"its padding is {padding!r}; have: valid, same, causal (Conv1D)")
    return (0, 0, 0, 0)


def _size(layer: KerasLayer, build: KerasBuilder, source: str, layout: str) -> Pair:
    return image(build.shapes[source], layout)[:2]


def _bias(layer: KerasLayer, *ranks: int) -> tuple[list[np.ndarray], Optional[np.ndarray]]:
    """Return the kernels, followed by the bias if there is one."""
    if layer.flag("use_bias", True):
        *kernels, bias = layer.arrays(*ranks, 1)
        return kernels, bias
    return layer.arrays(*ranks), None


def _conv2d(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (kernel,), bias = _bias(layer, 4)
    weights = np.ascontiguousarray(kernel.transpose(3, 0, 1, 2))
    groups = layer.length("groups", 1)
    return _convolution(layer, build, inputs[0], weights, bias, groups)


def _depthwise_weights(kernel: np.ndarray) -> np.ndarray:
    """Reorder [y, x, channel, multiplier] to [channel * multiplier, y, x, 1]."""
    tall, wide, channels, multiplier = kernel.shape
    reordered: np.ndarray = kernel.transpose(2, 3, 0, 1).reshape(
        channels * multiplier, tall, wide, 1
    )
    return reordered


def _depthwise(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (kernel,), bias = _bias(layer, 4)
    weights = _depthwise_weights(kernel)
    return _convolution(layer, build, inputs[0], weights, bias, kernel.shape[2])


def _separable(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (depthwise, pointwise), bias = _bias(layer, 4, 4)
    middle = _place_convolution(
        layer,
        build,
        f"{layer.name}/depthwise",
        inputs[0],
        Conv(_depthwise_weights(depthwise), None, groups=depthwise.shape[2]),
    )
    weights = np.ascontiguousarray(pointwise.transpose(3, 0, 1, 2))
    point = Conv(weights, bias, layout=layer.layout())
    return finish(layer, build, build.add(find_inner_tensor(layer), point, middle))


def _convolution(
    layer: KerasLayer,
    build: KerasBuilder,
    source: str,
    weights: np.ndarray,
    bias: Optional[np.ndarray],
    groups: int,
) -> str:
    conv = Conv(weights, bias, groups=groups)
    return finish(
        layer, build, _place_convolution(layer, build, find_inner_tensor(layer), source, conv)
    )


def _place_convolution(
    layer: KerasLayer, build: KerasBuilder, name: str, source: str, conv: Conv
) -> str:
    """Return a convolution with the layer's strides, dilation, padding and layout."""
    layout = layer.layout()
    stride, dilation = layer.pair("strides", (1, 1)), layer.pair("dilation_rate", (1, 1))
    pads = _compute_pads(layer, _size(layer, build, source, layout), conv.kernel, stride, dilation)
    made = Conv(conv.weights, conv.bias, stride, pads, dilation, conv.groups, layout)
    return build.add(name, made, source)


def _conv1d(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Convert a layer on an image one column wide."""
    (kernel,), bias = _bias(layer, 3)
    weights = np.ascontiguousarray(kernel.transpose(2, 0, 1)[:, :, None, :])
    layout = layer.layout()
    source = _reshape_to_column(layer, build, inputs[0], layout)
    conv = Conv(weights, bias, groups=layer.length("groups", 1))
    made = _place_signal(layer, build, f"{layer.name}/column", source, conv)
    return finish(layer, build, _reshape_to_row(build, find_inner_tensor(layer), made, layout))


def _depthwise1d(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (kernel,), bias = _bias(layer, 3)
    conv = Conv(_depthwise_weights(kernel[:, None]), bias, groups=kernel.shape[1])
    layout = layer.layout()
    source = _reshape_to_column(layer, build, inputs[0], layout)
    made = _place_signal(layer, build, f"{layer.name}/column", source, conv)
    return finish(layer, build, _reshape_to_row(build, find_inner_tensor(layer), made, layout))


def _separable1d(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (depthwise, pointwise), bias = _bias(layer, 3, 3)
    layout = layer.layout()
    source = _reshape_to_column(layer, build, inputs[0], layout)
    conv = Conv(_depthwise_weights(depthwise[:, None]), None, groups=depthwise.shape[1])
    middle = _place_signal(layer, build, f"{layer.name}/depthwise", source, conv)
    weights = np.ascontiguousarray(pointwise.transpose(2, 0, 1)[:, :, None, :])
    made = build.add(f"{layer.name}/column", Conv(weights, bias, layout=layout), middle)
    return finish(layer, build, _reshape_to_row(build, find_inner_tensor(layer), made, layout))


def _place_signal(
    layer: KerasLayer, build: KerasBuilder, name: str, source: str, conv: Conv
) -> str:
    """Return a convolution of a signal as an image one column wide."""
    layout = layer.layout()
    stride, dilation = (layer.length("strides", 1), 1), (layer.length("dilation_rate", 1), 1)
    pads = _compute_pads(layer, _size(layer, build, source, layout), conv.kernel, stride, dilation)
    made = Conv(conv.weights, conv.bias, stride, pads, dilation, conv.groups, layout)
    return build.add(name, made, source)


def _conv2d_transpose(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (kernel,), bias = _bias(layer, 4)
    layout, stride = layer.layout(), layer.pair("strides", (1, 1))
    conv = _transposed(layer, build, inputs[0], kernel, bias, stride, layout)
    return finish(layer, build, build.add(find_inner_tensor(layer), conv, inputs[0]))


def _conv1d_transpose(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (kernel,), bias = _bias(layer, 3)
    layout, stride = layer.layout(), (layer.length("strides", 1), 1)
    source = _reshape_to_column(layer, build, inputs[0], layout)
    conv = _transposed(layer, build, source, kernel[:, None], bias, stride, layout)
    made = build.add(f"{layer.name}/column", conv, source)
    return finish(layer, build, _reshape_to_row(build, find_inner_tensor(layer), made, layout))


def _transposed(
    layer: KerasLayer,
    build: KerasBuilder,
    source: str,
    kernel: np.ndarray,
    bias: Optional[np.ndarray],
    stride: Pair,
    layout: str,
) -> ConvTranspose:
    """Return a transposed convolution that crops as the gradient of a padded one."""
    padding = str(layer.options.get("padding", "valid")).lower()
    if padding not in ("valid", "same"):
        raise layer.error(f"its padding is {padding!r}; have: valid, same")
    dilation = layer.pair("dilation_rate", (1, 1)) if kernel.shape[1] > 1 else (1, 1)
    given = layer.options.get("output_padding")
    more = None if given is None else layer.pads("output_padding")
    crops = []
    for axis, size in enumerate(_size(layer, build, source, layout)):
        step, reach = stride[axis], dilation[axis] * (kernel.shape[axis] - 1) + 1
        if more is not None:
            pad = reach // 2 if padding == "same" else 0
            out = (size - 1) * step + reach - 2 * pad + more[axis]
        else:
            out = size * step + (max(reach - step, 0) if padding == "valid" else 0)
        total = max((-(-out // step) - 1) * step + reach - out, 0) if padding == "same" else 0
        crops.append((total // 2, (size - 1) * step + reach - total // 2 - out))
    (top, bottom), (left, right) = crops
    weights = np.ascontiguousarray(kernel.transpose(2, 0, 1, 3))
    return ConvTranspose(weights, bias, stride, (top, left, bottom, right), dilation, 1, layout)


def _upsample2d(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    layout, by = layer.layout(), layer.pair("size", (2, 2))
    kind = layer.choice("interpolation", "nearest", "nearest", "bilinear")
    height, width = _size(layer, build, inputs[0], layout)
    size = (height * by[0], width * by[1])
    resize = Resize(kind, size, half_pixel=kind == "bilinear", layout=layout)
    return build.add(layer.name, resize, inputs[0])


def _upsample1d(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    by, steps = layer.length("size", 2), build.shapes[inputs[0]][0]
    places = tuple(step for step in range(steps) for _ in range(by))
    return build.add(layer.name, Gather(0, places), inputs[0])


def _reshape_to_column(layer: KerasLayer, build: KerasBuilder, source: str, layout: str) -> str:
    """Reshape [steps, channels] to an image one column wide."""
    shape = build.shapes[source]
    if len(shape) != 2:
        raise layer.error(f"its input must be [steps, channels], not {list(shape)}")
    steps, channels = shape if layout == "NHWC" else shape[::-1]
    return build.add(f"{layer.name}/image", Reshape(to_layout(steps, 1, channels, layout)), source)


def _reshape_to_row(build: KerasBuilder, name: str, source: str, layout: str) -> str:
    """Return the inverse of _reshape_to_column()."""
    steps, _, channels = image(build.shapes[source], layout)
    return build.add(
        name, Reshape((steps, channels) if layout == "NHWC" else (channels, steps)), source
    )


def _dense(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (kernel,), bias = _bias(layer, 2)
    dense = Dense(np.ascontiguousarray(kernel.T), bias)
    return finish(layer, build, build.add(find_inner_tensor(layer), dense, inputs[0]))


def _pool2d(kind: str) -> Callable[[KerasLayer, KerasBuilder, list[str]], str]:
    def convert(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
        layout, kernel = layer.layout(), layer.pair("pool_size", (2, 2))
        stride = layer.pair("strides", kernel)
        size = _size(layer, build, inputs[0], layout)
        pads = _compute_pads(layer, size, kernel, stride, (1, 1))
        return build.add(layer.name, Pool(kind, kernel, stride, pads, layout=layout), inputs[0])

    return convert


def _pool1d(kind: str) -> Callable[[KerasLayer, KerasBuilder, list[str]], str]:
    def convert(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
        layout, kernel = layer.layout(), (layer.length("pool_size", 2), 1)
        stride = (layer.length("strides", kernel[0]), 1)
        source = _reshape_to_column(layer, build, inputs[0], layout)
        pads = _compute_pads(layer, _size(layer, build, source, layout), kernel, stride, (1, 1))
        pool = Pool(kind, kernel, stride, pads, layout=layout)
        return _reshape_to_row(
            build, layer.name, build.add(f"{layer.name}/column", pool, source), layout
        )

    return convert


def _global(kind: str) -> Callable[[KerasLayer, KerasBuilder, list[str]], str]:
    def convert(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
        layout, source = layer.layout(), inputs[0]
        if layer.kind.endswith("1D"):
            source = _reshape_to_column(layer, build, source, layout)
        kernel = _size(layer, build, source, layout)
        pool = Pool(kind, kernel, kernel, layout=layout)
        keeps = layer.flag("keepdims", False)
        if keeps and not layer.kind.endswith("1D"):
            return build.add(layer.name, pool, source)
        made = build.add(f"{layer.name}/pool", pool, source)
        channels = image(build.shapes[made], layout)[2]
        one_step = (1, channels) if layout == "NHWC" else (channels, 1)
        return build.add(layer.name, Reshape(one_step if keeps else (channels,)), made)

    return convert


#: Class in Keras -> true if it has weights, and its converter.
CONVERTERS: dict[str, tuple[bool, Callable[[KerasLayer, KerasBuilder, list[str]], str]]] = {
    "Conv2D": (True, _conv2d),
    "Convolution2D": (True, _conv2d),
    "DepthwiseConv2D": (True, _depthwise),
    "SeparableConv2D": (True, _separable),
    "Conv1D": (True, _conv1d),
    "DepthwiseConv1D": (True, _depthwise1d),
    "SeparableConv1D": (True, _separable1d),
    "Conv2DTranspose": (True, _conv2d_transpose),
    "Convolution2DTranspose": (True, _conv2d_transpose),
    "Conv1DTranspose": (True, _conv1d_transpose),
    "UpSampling2D": (False, _upsample2d),
    "UpSampling1D": (False, _upsample1d),
    "Dense": (True, _dense),
    "MaxPooling2D": (False, _pool2d("max")),
    "AveragePooling2D": (False, _pool2d("average")),
    "MaxPooling1D": (False, _pool1d("max")),
    "AveragePooling1D": (False, _pool1d("average")),
    "GlobalMaxPooling1D": (False, _global("max")),
    "GlobalMaxPooling2D": (False, _global("max")),
    "GlobalAveragePooling1D": (False, _global("average")),
    "GlobalAveragePooling2D": (False, _global("average")),
}
