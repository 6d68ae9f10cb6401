"""Operators that slide windows over images, or look at all of one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import (
    ArgMax,
    Conv,
    ConvTranspose,
    DepthToSpace,
    Pool,
    Reduce,
    Resize,
    SpaceToDepth,
)
from ...operators.base import Pads, Pair, compute_same_pads, image
from ..tensor import Tensor
from .building import Converter, TensorflowCall, floats, integer, integers
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
    keeps = call.node.flag("keep_dims")
    windows = len(x.sample) == 3 and over in ({0}, {1}, {0, 1}, {1, 2})
    if kind not in ("average", "max") or not (rows or windows):
        _reduce_axes(call, x, over, {"average": "mean"}.get(kind, kind), keeps)
        return
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


def _reduce_axes(call: TensorflowCall, x: Tensor, over: set[int], kind: str, keeps: bool) -> None:
    """Append a reduction over axes of a sample."""
    operator = Reduce(kind, tuple(sorted(over)))
    if keeps:
        call.put(operator, x)
        return
    left = tuple(size for axis, size in enumerate(x.sample) if axis not in over)
    made = call.put(operator, x, part="reduced")
    call.reshape(made, (1, *left) if x.batched else left, batched=x.batched)


def arg(call: TensorflowCall, x: Tensor, axis: np.ndarray, least: bool) -> None:
    """Convert ArgMax and ArgMin along one axis of a sample."""
    at = x.axis(integer(axis))
    left = tuple(size for other, size in enumerate(x.sample) if other != at)
    found = call.put(ArgMax(at, least), x, part="index")
    call.reshape(found, (1, *left) if x.batched else left, batched=x.batched)


def conv2d_transpose(
    call: TensorflowCall, sizes: np.ndarray, weights: np.ndarray, x: Tensor
) -> None:
    """Convert Conv2DBackpropInput; weights [y, x, out, in]."""
    layout, node = layout_of(call.node), call.node
    height, width, _ = image(x.sample, layout)
    wanted = integers(sizes)
    if floats(weights).ndim != 4 or len(wanted) != 4:
        raise ModelError(f"its weights {list(weights.shape)} or its output {wanted} has not 4 axes")
    out = image((wanted[1], wanted[2], wanted[3]), layout)[:2]
    stride = _pair(node, "strides", layout)
    dilation = _pair(node, "dilations", layout, [1, 1, 1, 1])
    kernel = (weights.shape[0], weights.shape[1])
    top, left, _, _ = _pads(node, (out[0], out[1]), kernel, stride, dilation, layout)
    ends = []
    for axis, (size, before) in enumerate(zip((height, width), (top, left))):
        reach = (size - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1
        ends.append(reach - before - out[axis])
        if abs(ends[-1]) > _LARGEST:
            raise ModelError(f"its output {wanted} does not fit {list(x.shape)}")
    pads = (top, left, ends[0], ends[1])
    filters = weights.transpose(2, 0, 1, 3)
    call.put(ConvTranspose(filters, None, stride, pads, dilation, 1, layout), x)


def resize(call: TensorflowCall, x: Tensor, size: np.ndarray, kind: str) -> None:
    """Convert ResizeNearestNeighbor and ResizeBilinear."""
    to = integers(size)
    if len(to) != 2 or not all(1 <= side <= _WIDEST for side in to):
        raise ModelError(f"its size {to} must be height and width")
    flags = (call.node.flag("align_corners"), call.node.flag("half_pixel_centers"))
    call.put(Resize(kind, (to[0], to[1]), *flags), x)


def blocks(call: TensorflowCall, x: Tensor, back: bool) -> None:
    """Convert DepthToSpace and SpaceToDepth."""
    block, layout = call.node.integer("block_size", 0), layout_of(call.node)
    kind = SpaceToDepth if back else DepthToSpace
    call.put(kind(block, layout=layout), x)


#: Most rows and columns of a resized image.
_WIDEST = 65535


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
    "Conv2DBackpropInput": ("ccx", conv2d_transpose),
    "ResizeNearestNeighbor": ("xc", partial(resize, kind="nearest")),
    "ResizeBilinear": ("xc", partial(resize, kind="bilinear")),
    "DepthToSpace": ("x", partial(blocks, back=False)),
    "SpaceToDepth": ("x", partial(blocks, back=True)),
    "ArgMax": ("xc", partial(arg, least=False)),
    "ArgMin": ("xc", partial(arg, least=True)),
    "Sum": ("xc", partial(reduce, kind="sum")),
    "Min": ("xc", partial(reduce, kind="min")),
    "Mean": ("xc", partial(reduce, kind="average")),
    "Max": ("xc", partial(reduce, kind="max")),
}
