"""Convolution, InnerProduct and Pooling of Caffe."""

from __future__ import annotations

import math
from typing import Any, Optional

from ...errors import ModelError
from ...ir.float_graph import FloatNode
from ...operators import Conv, ConvTranspose, Dense, Operator, Pool, Reshape
from ...operators.base import Pair, image
from .layer import CaffeLayer

_LARGEST = 4096  # of a kernel, stride, padding or dilation


def convolution(layer: CaffeLayer) -> Operator:
    """Return weights in Caffe: [out, in / groups, y, x]."""
    fields = layer.parameters("convolution_param")
    channels = image(layer.shape, "NCHW")[2]
    if layer.axis(fields.axis) != 0:
        raise ModelError(f"its channels are on axis {fields.axis}; only axis 1 is supported")
    if not fields.group or channels % fields.group:
        raise ModelError(f"{fields.group} groups do not divide {channels} channels")
    out, kernel = fields.num_output, _pair(fields, "kernel_size")
    weights, bias = layer.weights_and_bias(
        (out, channels // fields.group, *kernel), (out,), fields.bias_term
    )
    return Conv(
        weights.transpose(0, 2, 3, 1),
        bias,
        stride=_pair(fields, "stride", 1),
        pads=_pair(fields, "pad", 0) * 2,
        dilation=_pair(fields, "dilation", 1),
        groups=fields.group,
        layout="NCHW",
    )


def deconvolution(layer: CaffeLayer) -> Operator:
    """Return weights in Caffe: [in, out / groups, y, x]."""
    fields = layer.parameters("convolution_param")
    channels, groups = image(layer.shape, "NCHW")[2], fields.group
    if layer.axis(fields.axis) != 0:
        raise ModelError(f"its channels are on axis {fields.axis}; only axis 1 is supported")
    if not groups or channels % groups or fields.num_output % groups:
        raise ModelError(
            f"{groups} groups do not divide {channels} or {fields.num_output} channels"
        )
    out, kernel = fields.num_output, _pair(fields, "kernel_size")
    shape = (channels, out // groups, *kernel)
    weights, bias = layer.weights_and_bias(shape, (out,), fields.bias_term)
    parts = weights.reshape(groups, channels // groups, out // groups, *kernel)
    filters = parts.transpose(0, 2, 3, 4, 1).reshape(out, *kernel, channels // groups)
    return ConvTranspose(
        filters,
        bias,
        stride=_pair(fields, "stride", 1),
        pads=_pair(fields, "pad", 0) * 2,
        dilation=_pair(fields, "dilation", 1),
        groups=groups,
        layout="NCHW",
    )


def inner_product(layer: CaffeLayer) -> list[FloatNode]:
    """Return a product over all elements from an axis on."""
    fields = layer.parameters("inner_product_param")
    start = layer.axis(fields.axis)
    flat = (*layer.shape[:start], math.prod(layer.shape[start:]))
    shape = (fields.num_output, flat[-1])
    weights, bias = layer.weights_and_bias(
        shape[::-1] if fields.transpose else shape, shape[:1], fields.bias_term
    )
    dense = Dense(weights.T if fields.transpose else weights, bias)
    if flat == layer.shape:
        return [layer.node(dense)]
    flatten = layer.node(Reshape(flat), part="flatten")
    return [flatten, layer.node(dense, flatten.name)]


def pooling(layer: CaffeLayer) -> Operator:
    """Convert Pooling: sizes round up; windows and divisors end at the padded image."""
    fields = layer.parameters("pooling_param")
    size = image(layer.shape, "NCHW")[:2]
    if fields.pool > 1:
        raise ModelError("stochastic pooling is not supported; have: MAX, AVE")
    kind = ("max", "average")[fields.pool]
    if fields.global_pooling:
        return Pool(kind, size, layout="NCHW")
    kernel, stride = _pair(fields, "kernel_size"), _pair(fields, "stride", 1)
    pad, ceil = _pair(fields, "pad", 0), fields.round_mode == 0
    if ceil:
        down, across = (
            _cut_kernel(*axis, padded=any(pad)) for axis in zip(size, kernel, stride, pad)
        )
        kernel = (down, across)
    return Pool(kind, kernel, stride, pad * 2, ceil, kind == "average", "NCHW")


def _cut_kernel(length: int, kernel: int, stride: int, pad: int, padded: bool) -> int:
    """Return the kernel, cut if its only window is larger than the padded image."""
    spare = length + 2 * pad - kernel
    if not padded and min(kernel, stride) and -(-spare // stride) * stride >= length:
        raise ModelError(
            f"a kernel of {kernel} and a stride of {stride} over {length} elements put a "
            "window wholly beyond the image; Caffe leaves its result undefined"
        )
    return kernel + spare if -stride < spare < 0 else kernel


def _pair(fields: Any, name: str, default: Optional[int] = None) -> Pair:
    """Return (vertical, horizontal) of a field given once, twice, or as _h and _w."""
    values, stem = list(getattr(fields, name)), name.replace("_size", "")
    both = (f"{stem}_h", f"{stem}_w")
    if name != "dilation" and any(map(fields.HasField, both)):
        values += [getattr(fields, field) for field in both]
    if len(values) > 2:
        raise ModelError(f"its {name} is given {len(values)} times; images have two axes")
    if max(values, default=0) > _LARGEST:
        raise ModelError(f"its {name} is {max(values)}, more than {_LARGEST}")
    if not values and default is None:
        raise ModelError(f"its {name} is missing")
    values = values or [default]
    return values[0], values[-1]
