"""Convolutions, fully connected layers and pooling of floats; images are NHWC."""

from __future__ import annotations

import math
from functools import partial
from typing import Optional

import numpy as np

from ....errors import ModelError
from ....operators import (
    Affine,
    Conv,
    ConvTranspose,
    Dense,
    Identity,
    MatMul,
    Pool,
    Shape,
    Transpose,
)
from ....operators.base import Pads, Pair, compute_same_pads
from ...tensor import Tensor
from ..call import Options
from .building import FloatCall, FloatConverter, read_image

#: Maximum stride, dilation, or side of a pooling window.
_LARGEST = 4096


def _pair(options: Options, before: str, after: str = "") -> Pair:
    """Return an option's numbers along height and width."""
    high, wide = (options.integer(f"{before}{axis}{after}", 1, _LARGEST) for axis in "HW")
    return high, wide


def read_pads(options: Options, size: Pair, kernel: Pair, stride: Pair, dilation: Pair) -> Pads:
    """Return the cells of padding around an image of a height and a width."""
    if options.choice("Padding", "Padding") == "VALID":
        return (0, 0, 0, 0)
    return compute_same_pads(size, kernel, stride, dilation)


def read_bias(call: FloatCall, at: int, count: int) -> Optional[np.ndarray]:
    """Return a constant with a number for each channel; None if it is missing."""
    if not call.has(at):
        return None
    bias = call.floats(at)
    if bias.size != count:
        raise ModelError(f"its bias has {bias.size} elements; it must have {count}")
    return bias.reshape(-1)


def _read_weights(call: FloatCall, axes: int) -> np.ndarray:
    weights = call.floats(1)
    if weights.ndim != axes or not weights.size:
        raise ModelError(f"its weights are {list(weights.shape)}; they must have {axes} axes")
    return weights


def convolve(call: FloatCall, depthwise: bool) -> None:
    """Convert CONV_2D, weights [out, y, x, in / groups], and DEPTHWISE_CONV_2D, [1, y, x, out]."""
    call.check_counts(2, 3)
    options = call.read_options("DepthwiseConv2DOptions" if depthwise else "Conv2DOptions")
    x, weights = read_image(call), _read_weights(call, 4)
    channels = x.shape[3]
    if depthwise:
        weights = weights.transpose(3, 1, 2, 0)
    groups = channels if depthwise else channels // weights.shape[3]
    kernel = (weights.shape[1], weights.shape[2])
    stride, dilation = _pair(options, "Stride"), _pair(options, "Dilation", "Factor")
    pads = read_pads(options, (x.shape[1], x.shape[2]), kernel, stride, dilation)
    bias = read_bias(call, 2, len(weights))
    operator = Conv(weights, bias, stride, pads, dilation, groups)
    call.finish(operator, x, options=options, part="conv")


def convolve_transposed(call: FloatCall) -> None:
    """Convert TRANSPOSE_CONV, weights [out, y, x, in], to the file's size of the output."""
    call.check_counts(3, 4)
    options, x = call.read_options("TransposeConvOptions"), read_image(call, 2)
    weights, shape = _read_weights(call, 4), call.get_output_shape()
    if len(shape) != 4:
        raise ModelError(f"its output is {list(shape)}; it must be an image [1, H, W, C]")
    kernel, stride = (weights.shape[1], weights.shape[2]), _pair(options, "Stride")
    before = read_pads(options, (shape[1], shape[2]), kernel, stride, (1, 1))[:2]
    ends = [
        (n - 1) * step + side - first - out
        for n, step, side, first, out in zip(x.sample, stride, kernel, before, shape[1:])
    ]
    if any(end >= side for end, side in zip(ends, kernel)):
        raise ModelError(f"its output {list(shape)} is too small for its input {list(x.shape)}")
    bias = read_bias(call, 3, len(weights))
    operator = ConvTranspose(weights, bias, stride, (*before, ends[0], ends[1]))
    call.finish(operator, x, options=options, part="conv")


def dense(call: FloatCall) -> None:
    """Convert FULLY_CONNECTED, weights [out, in], over the last axis or over rows of `in`."""
    call.check_counts(2, 3)
    options = call.read_options("FullyConnectedOptions")
    if options.choice("WeightsFormat", "FullyConnectedOptionsWeightsFormat") != "DEFAULT":
        raise ModelError("its weights are shuffled; they must have the format DEFAULT")
    x, weights = call.tensor(), call.value(1)
    if len(weights.shape) != 2:
        raise ModelError(f"its weights are {list(weights.shape)}; they must have 2 axes")
    depth = weights.shape[1]
    if not (options.flag("KeepNumDims") or len(x.shape) == 2) or x.shape[-1] != depth:
        rows, rest = divmod(math.prod(x.shape), max(depth, 1))
        if rest or not rows:
            raise ModelError(
                f"its input {list(x.shape)} is no multiple of the {depth} columns of its weights"
            )
        x = call.reshape(x, (rows, depth), part="rows")
    bias = read_bias(call, 2, weights.shape[0])
    if isinstance(weights, np.ndarray):
        call.finish(Dense(call.floats(1), bias), x, options=options, part="linear")
        return
    made = call.put(MatMul(transposed=True), *_as_matrices(call, x, weights), part="product")
    if bias is not None:
        made = call.put(Affine(np.array(1.0), bias), made, part="biased")
    made = call.reshape(made, (*x.shape[:-1], weights.shape[0]), part="linear")
    call.finish(Identity(), made, options=options, part="copy")


def _as_matrices(call: FloatCall, *tensors: Tensor) -> list[Tensor]:
    """Return tensors whose samples are matrices, of all axes but the last and the last."""
    found = []
    for at, x in enumerate(tensors):
        shape = (math.prod(x.shape[:-1]), x.shape[-1])
        fits = x.sample == shape
        found.append(x if fits else call.reshape(x, shape, part=f"matrix{at}", batched=False))
    return found


def matmul(call: FloatCall) -> None:
    """Convert BATCH_MATMUL of two tensors, or by a constant matrix."""
    call.check_counts(2, 2)
    options, x, other = call.read_options("BatchMatMulOptions"), call.tensor(), call.value(1)
    if options.flag("AdjX"):
        x = call.put(_swap(x.sample), x, part="adjoint")
    if isinstance(other, Tensor):
        axes = max(len(x.shape), len(other.shape))
        x, other = _add_axes(call, x, axes, "left"), _add_axes(call, other, axes, "right")
        call.put(MatMul(options.flag("AdjY")), x, other)
        return
    weights = call.floats(1)
    if weights.size != math.prod(weights.shape[-2:]) or weights.ndim < 2:
        raise ModelError(
            f"its second input is a constant {list(weights.shape)}; a constant must be one matrix"
        )
    weights = weights.reshape(weights.shape[-2:])
    call.put(Dense(weights if options.flag("AdjY") else weights.T), x)


def _swap(sample: Shape) -> Transpose:
    """Return the exchange of the last two axes."""
    axes = list(range(len(sample)))
    if len(axes) < 2:
        raise ModelError(f"its input {list(sample)} has no two axes to exchange")
    return Transpose((*axes[:-2], axes[-1], axes[-2]))


def _add_axes(call: FloatCall, x: Tensor, axes: int, part: str) -> Tensor:
    if len(x.shape) == axes:
        return x
    return call.reshape(x, (1,) * (axes - len(x.shape)) + x.shape, part=part)


def pool(call: FloatCall, kind: str) -> None:
    """Convert AVERAGE_POOL_2D and MAX_POOL_2D; an average does not count padding."""
    call.check_counts(1, 1)
    options, x = call.read_options("Pool2DOptions"), read_image(call)
    stride = _pair(options, "Stride")
    kernel = (
        options.integer("FilterHeight", 1, _LARGEST),
        options.integer("FilterWidth", 1, _LARGEST),
    )
    pads = read_pads(options, (x.shape[1], x.shape[2]), kernel, stride, (1, 1))
    call.finish(Pool(kind, kernel, stride, pads), x, options=options, part="pool")


WINDOWS: dict[str, FloatConverter] = {
    "CONV_2D": partial(convolve, depthwise=False),
    "DEPTHWISE_CONV_2D": partial(convolve, depthwise=True),
    "TRANSPOSE_CONV": convolve_transposed,
    "FULLY_CONNECTED": dense,
    "BATCH_MATMUL": matmul,
    "AVERAGE_POOL_2D": partial(pool, kind="average"),
    "MAX_POOL_2D": partial(pool, kind="max"),
}
