"""Normalizations and LogSoftmax of quantized files, which the device computes in float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ....errors import ModelError
from ....functions.tflm_float import bits
from ....operators import Shape
from .float32 import constant, floated, step
from .site import Converter, Site
from .symbols import Fixed, Int, Pending


def layer(site: Site) -> Pending:
    """Convert LayerNormalization: over all axes from one on."""
    shape, epsilon = site.shape(), site.call.number("epsilon", 1e-5)
    row = shape[_first(site, shape) :]
    _check_precision(site)
    weight, bias = (_row(site, index, row, value) for index, value in ((1, 1.0), (2, 0.0)))
    return _over_rows(site, math.prod(row), epsilon, weight, bias)


def instance(site: Site) -> Pending:
    """Convert InstanceNormalization: over the pixels of each channel."""
    return _groups(site, site.shape()[0])


def group(site: Site) -> Pending:
    """Convert GroupNormalization: over the pixels of the channels of each group."""
    count, channels = site.call.integer("num_groups", 0), site.shape()[0]
    _check_precision(site)
    if count < 1 or channels % count:
        raise ModelError(f"its {count} groups do not divide {channels} channels")
    return _groups(site, count)


def root_mean_square(site: Site) -> Pending:
    """Convert RMSNormalization: over all axes from one on."""
    shape, epsilon = site.shape(), site.call.number("epsilon", 1e-5)
    row = shape[_first(site, shape) :]
    _check_precision(site)
    weight = _row(site, 1, row, 1.0)
    floats, builder, size = site.floats(0), site.builder, math.prod(row)
    rows = math.prod(shape) // size

    def real() -> Int:
        x = builder.ordered(floats(), range(len(shape)))
        flat = replace(x, shape=(rows, size), order=(0, 1))
        squares = step(builder, "square", [flat], {"length": x.size})
        kept = {"kept_0": rows, "reduced_0": size, "kept_1": 1, "reduced_1": 1, "kept_2": 1}
        mean = step(builder, "mean", [squares], kept, (rows, 1))
        shifted = _with(site, "add", mean, np.full(rows, epsilon))
        scale = step(builder, "rsqrt", [shifted], {"length": rows})
        whole = builder.spread(scale, (rows, size))
        scaled = step(builder, "mul", [flat, whole], {"length": x.size, "activation": 0})
        made = _with(site, "mul", scaled, np.broadcast_to(weight, (rows, size)))
        return replace(made, shape=x.shape, order=x.order)

    return floated(site, shape, real)


def batch(site: Site) -> Pending:
    """Convert BatchNormalization with the file's mean and variance."""
    call, shape = site.call, site.shape()
    call.ignore("momentum")  # which only training reads
    if call.integer("training_mode", 0) or call.integer("spatial", 1) != 1:
        raise ModelError("it is in training mode, or not per channel; export for inference")
    parts = (_row(site, index, shape[:1], 0.0) for index in range(1, 5))
    gamma, beta, mean, variance = (part.astype(np.float64) for part in parts)
    factor = gamma / np.sqrt(variance + call.number("epsilon", 1e-5))
    return _scaled(site, site.floats(0), factor, beta - mean * factor)


def log_softmax(site: Site) -> Pending:
    """Convert LogSoftmax along one axis."""
    shape, axis = site.shape(), site.call.integer("axis", -1 if site.builder.opset >= 13 else 1)
    axis = axis % (len(shape) + 1) - 1
    if axis < 0 or (site.builder.opset < 13 and axis != len(shape) - 1):
        raise ModelError(
            "it normalizes along the batch or along several axes; it must be one axis of a sample"
        )
    floats, builder = site.floats(0), site.builder
    order = [*(i for i in range(len(shape)) if i != axis), axis]

    def real() -> Int:
        x = builder.ordered(floats(), order)
        params = {"num_rows": x.size // shape[axis], "row_size": shape[axis]}
        return step(builder, "log_softmax", [x], params)

    return floated(site, shape, real)


def _scaled(
    site: Site, floats: Callable[[], Int], factor: np.ndarray, offset: np.ndarray
) -> Pending:
    """Return channels times a factor, plus an offset."""
    shape = site.shape()
    column = (len(factor), *[1] * (len(shape) - 1))

    def real() -> Int:
        x = site.builder.ordered(floats(), range(len(shape)))
        scaled = _with(site, "mul", x, np.broadcast_to(factor.reshape(column), shape))
        return _with(site, "add", scaled, np.broadcast_to(offset.reshape(column), shape))

    return floated(site, shape, real)


def _first(site: Site, shape: Shape) -> int:
    """Return the first axis of a sample that is normalized."""
    axis = site.call.integer("axis", -1)
    first = axis - 1 if axis > 0 else axis + len(shape)
    if not 0 <= first < len(shape):
        raise ModelError(
            f"it normalizes from axis {axis} on, including the batch; samples must be independent"
        )
    return first


def _check_precision(site: Site) -> None:
    if site.call.integer("stash_type", 1) != 1:
        raise ModelError("its stash_type is not float32; it must be")


def _row(site: Site, index: int, row: Shape, default: float) -> np.ndarray:
    """Return a number for each element of a row."""
    given: Any = site.call.optional(index)
    array = given.real if isinstance(given, Fixed) else given
    if array is None:
        return np.full(math.prod(row), default, np.float32)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise ModelError("its scale and bias are computed; they must be constants")
    try:
        spread = np.broadcast_to(array, row)
    except ValueError:
        raise ModelError(
            f"its scale or bias is {list(array.shape)}; it must broadcast to {row}"
        ) from None
    return spread.reshape(-1).astype(np.float32)


def _groups(site: Site, count: int) -> Pending:
    """Return channels less the mean of their group, by its deviation, scaled and shifted."""
    shape, epsilon = site.shape(), site.call.number("epsilon", 1e-5)
    channels, size = shape[0], math.prod(shape) // count
    if len(shape) < 2:
        raise ModelError(f"its input is {[1, *shape]}; it must have pixels after the channels")
    weight, bias = (_row(site, index, (channels,), value) for index, value in ((1, 1.0), (2, 0.0)))
    plain = _over_rows(site, size, epsilon, np.ones(size), np.zeros(size))
    assert plain.real is not None
    return _scaled(site, plain.real, weight, bias)


def _over_rows(
    site: Site, size: int, epsilon: float, weight: np.ndarray, bias: np.ndarray
) -> Pending:
    """Return rows of elements in the file's order, normalized."""
    shape, floats, builder = site.shape(), site.floats(0), site.builder

    def real() -> Int:
        x = builder.ordered(floats(), range(len(shape)))
        params = {"num_rows": x.size // size, "row_size": size, "eps_bits": bits(epsilon)}
        made = replace(x, name=f"{x.name}/normalized")
        arrays = (array.astype(np.float32) for array in (weight, bias))
        return builder.call("executorch_layer_norm_f32", params, [x], made, *arrays)

    return floated(site, shape, real)


def _with(site: Site, function: str, x: Int, numbers: np.ndarray) -> Int:
    """Return a tensor whose axes are in the file's order with numbers of that shape."""
    other = constant(site.builder, x, np.ascontiguousarray(numbers).reshape(-1))
    return step(site.builder, function, [x, other], {"length": x.size, "activation": 0})


NORMALIZING: dict[str, Converter] = {
    "LayerNormalization": layer,
    "InstanceNormalization": instance,
    "GroupNormalization": group,
    "BatchNormalization": batch,
    "LogSoftmax": log_softmax,
    "RMSNormalization": root_mean_square,
}
