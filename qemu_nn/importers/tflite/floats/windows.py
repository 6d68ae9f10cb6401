"""Convolutions, fully connected layers and pooling of floats; images are NHWC."""

from __future__ import annotations

import math
from dataclasses import replace
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


def convolve(call: FloatCall) -> None:
    """Convert CONV_2D, weights [out, y, x, in / groups], and DEPTHWISE_CONV_2D, [1, y, x, out]."""
    x = read_image(call)
    operator, options = _read_convolution(call, x.shape[3])
    kernel, stride, dilation = operator.kernel, operator.stride, operator.dilation
    pads = read_pads(options, (x.shape[1], x.shape[2]), kernel, stride, dilation)
    call.finish(replace(operator, pads=pads), x, options=options, part="conv")


def _read_convolution(call: FloatCall, channels: int) -> tuple[Conv, Options]:
    """Return a convolution of an image with this many channels, without padding; its options."""
    call.check_counts(2, 3)
    depthwise = call.operator.name == "DEPTHWISE_CONV_2D"
    options = call.read_options("DepthwiseConv2DOptions" if depthwise else "Conv2DOptions")
    weights = _read_weights(call, 4)
    if depthwise:
        weights = weights.transpose(3, 1, 2, 0)
    groups = channels if depthwise else channels // weights.shape[3]
    operator = Conv(
        weights,
        read_bias(call, 2, len(weights)),
        _pair(options, "Stride"),
        dilation=_pair(options, "Dilation", "Factor"),
        groups=groups,
    )
    return operator, options


def dilate(call: FloatCall) -> None:
    """Convert SPACE_TO_BATCH_ND, a convolution and BATCH_TO_SPACE_ND to a dilated convolution."""
    call.check_counts(3, 3)
    x, sides, borders = call.tensor(), call.integers(1), call.integers(2)
    inner, last = _follow(call)
    if last.integers(1) != sides:
        raise ModelError("BATCH_TO_SPACE_ND after it has different blocks; both must be equal")
    crops = last.integers(2)
    operator, options = _read_convolution(inner, x.shape[-1])
    if len(x.shape) == 3:  # a signal: an image of one row, or of one column
        row = operator.kernel[0] == 1
        _, length, depth = x.shape
        shape = (1, 1, length, depth) if row else (1, length, 1, depth)
        x = call.reshape(x, shape, part="image", batched=True)
        sides = [1, *sides] if row else [*sides, 1]
        borders, crops = ([0, 0, *n] if row else [*n, 0, 0] for n in (borders, crops))
    if len(x.shape) != 4 or not len(sides) == 2 == len(borders) / 2 == len(crops) / 2:
        raise ModelError(f"its input is {list(x.shape)}; it must be an image or a signal")
    if operator.stride != (1, 1) or options.choice("Padding", "Padding") != "VALID":
        raise ModelError("the convolution after it must have strides of 1 and no padding")
    top, bottom, left, right = (a - b for a, b in zip(borders, crops))
    spread = (operator.dilation[0] * sides[0], operator.dilation[1] * sides[1])
    operator = replace(operator, pads=(top, left, bottom, right), dilation=spread)
    made = last.finish(operator, x, options=options, part="conv")
    if len(call.tensor().shape) == 3:
        last.reshape(made, (1, max(made.shape[1:3]), made.shape[3]), batched=True)


def _follow(call: FloatCall) -> tuple[FloatCall, FloatCall]:
    """Return the convolution between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, and the latter."""
    builder, at = call.builder, call.operator.outputs[0]
    found = []
    while True:
        readers = [each for each in builder.model.operators if at in each.inputs]
        if len(readers) != 1 or at in builder.outputs:
            raise ModelError("several operators read it; it must belong to one convolution")
        (reader,) = readers
        builder.done.add(reader.index)
        at = reader.outputs[0] if reader.outputs else -1
        if reader.name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            found.append(reader)
        elif reader.name == "BATCH_TO_SPACE_ND" and len(found) == 1:
            return FloatCall(found[0], builder), FloatCall(reader, builder)
        elif reader.name not in ("RESHAPE", "EXPAND_DIMS", "SQUEEZE"):
            raise ModelError(
                f"{reader} reads it; only one convolution may be between it and BATCH_TO_SPACE_ND"
            )


def convolve_transposed(call: FloatCall) -> None:
    """Convert TRANSPOSE_CONV, weights [out, y, x, in]."""
    call.check_counts(3, 4)
    options, x = call.read_options("TransposeConvOptions"), read_image(call, 2)
    weights, shape = _read_weights(call, 4), call.read_shape(0, x)
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
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), convolve),
    "SPACE_TO_BATCH_ND": dilate,
    "TRANSPOSE_CONV": convolve_transposed,
    "FULLY_CONNECTED": dense,
    "BATCH_MATMUL": matmul,
    "AVERAGE_POOL_2D": partial(pool, kind="average"),
    "MAX_POOL_2D": partial(pool, kind="max"),
}
