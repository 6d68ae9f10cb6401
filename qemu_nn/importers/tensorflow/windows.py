"""Operators that slide windows over images, or look at all of one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import Conv, Pool
from ...operators.base import Pads, Pair, compute_same_pads, image
from ..tensor import Tensor
from .building import Converter, TensorflowCall, floats, integers
from .reading import TensorflowNode

_LARGEST = 4096  # of a kernel, stride, padding or dilation


def layout_of(node: TensorflowNode) -> str:
    """Return the order of the axes of images."""
    layout = node.text("data_format", "NHWC")
    if layout not in ("NHWC", "NCHW"):
        raise ModelError(f"its data_format is {layout[:20]!r}; have: NHWC, NCHW")
    return layout


def conv2d(call: TensorflowCall, x: Tensor, weights: np.ndarray) -> None:
    """Convert Conv2D; weights [y, x, in / groups, out]."""
    _convolution(call, x, weights, depthwise=False)


def depthwise(call: TensorflowCall, x: Tensor, weights: np.ndarray) -> None:
    """Convert DepthwiseConv2dNative; weights [y, x, in, multiplier]."""
    _convolution(call, x, weights, depthwise=True)


def _convolution(call: TensorflowCall, x: Tensor, weights: np.ndarray, depthwise: bool) -> None:
    layout = layout_of(call.node)
    height, width, channels = image(x.sample, layout)
    if floats(weights).ndim != 4:
        raise ModelError(f"its weights have the shape {list(weights.shape)}, not 4 axes")
    kernel = weights.shape[:2]
    if depthwise:
        ohwi = weights.transpose(2, 3, 0, 1).reshape(-1, *kernel, 1)
    else:
        ohwi = weights.transpose(3, 0, 1, 2)
    stride = _pair(call.node, "strides", layout)
    dilation = _pair(call.node, "dilations", layout, [1, 1, 1, 1])
    pads = _pads(call.node, (height, width), kernel, stride, dilation, layout)
    groups = weights.shape[2] if depthwise else channels // weights.shape[2]
    call.put(Conv(ohwi, None, stride, pads, dilation, groups, layout), x)


def pool(call: TensorflowCall, x: Tensor, kind: str) -> None:
    """Convert MaxPool and AvgPool; an average does not count padding."""
    layout = layout_of(call.node)
    size = image(x.sample, layout)[:2]
    kernel, stride = (_pair(call.node, key, layout) for key in ("ksize", "strides"))
    pads = _pads(call.node, size, kernel, stride, (1, 1), layout)
    call.put(Pool(kind, kernel, stride, pads, layout=layout), x)


def reduce(call: TensorflowCall, x: Tensor, axes: np.ndarray, kind: str) -> None:
    """Convert Mean and Max over height, width or both, or over rows of [batch, rows, channels]."""
    over = {x.axis(axis) for axis in integers(axes)}
    rows = len(x.sample) == 2 and over == {0}
    if not rows and (len(x.sample) != 3 or over not in ({0}, {1}, {0, 1}, {1, 2})):
        raise ModelError(
            f"it reduces the axes {integers(axes)} of {list(x.shape)}; "
            "have: height, width or both of an image"
        )
    keeps = call.node.flag("keep_dims")
    sample = tuple(
        1 if axis in over else size
        for axis, size in enumerate(x.sample)
        if keeps or axis not in over
    )
    to = (1, *sample) if x.batched else sample
    batched = x.batched
    if rows:
        length, channels = x.sample
        x = call.reshape(x, (1, length, 1, channels), part="rows")
    layout, spatial = ("NCHW", (1, 2)) if 2 in over else ("NHWC", (0, 1))
    tall, wide = (x.sample[axis] if axis in over else 1 for axis in spatial)
    operator = Pool(kind, (tall, wide), layout=layout)
    if keeps and not rows:
        call.put(operator, x)
    else:
        call.reshape(call.put(operator, x, part="pool"), to, batched=batched)


def _pair(node: TensorflowNode, key: str, layout: str, default: Sequence[int] = ()) -> Pair:
    """Return height and width of an attribute of four axes, which must be 1 for the
    remaining axes.
    """
    values = node.integers(key) or default
    if len(values) != 4 or not all(1 <= value <= _LARGEST for value in values):
        raise ModelError(f"its {key} must be 4 numbers from 1 to {_LARGEST}, not {values}")
    height, width, channels = image((values[1], values[2], values[3]), layout)
    if values[0] != 1 or channels != 1:
        raise ModelError(f"its {key} {values} must be 1 but for height and width")
    return height, width


def _pads(
    node: TensorflowNode, size: Pair, kernel: Pair, stride: Pair, dilation: Pair, layout: str
) -> Pads:
    """Return cells of padding around images of this size."""
    mode = node.text("padding", "")
    if mode == "SAME":
        return compute_same_pads(size, kernel, stride, dilation)
    if mode == "VALID":
        return (0, 0, 0, 0)
    pads = node.integers("explicit_paddings")
    if mode != "EXPLICIT" or len(pads) != 8 or not all(0 <= pad <= _LARGEST for pad in pads):
        raise ModelError(f"its padding is {mode[:20]!r} {pads}; have: SAME, VALID, EXPLICIT")
    (top, left, behind), (bottom, right, after) = (
        image((pads[2 + end], pads[4 + end], pads[6 + end]), layout) for end in (0, 1)
    )
    if any((*pads[:2], behind, after)):
        raise ModelError(f"its padding {pads} must be 0 but for height and width")
    return (top, left, bottom, right)


WINDOWS: dict[str, Converter] = {
    "Conv2D": ("xc", conv2d),
    "DepthwiseConv2dNative": ("xc", depthwise),
    "MaxPool": ("x", partial(pool, kind="max")),
    "AvgPool": ("x", partial(pool, kind="average")),
    "Mean": ("xc", partial(reduce, kind="average")),
    "Max": ("xc", partial(reduce, kind="max")),
}
