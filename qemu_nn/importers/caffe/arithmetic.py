"""BatchNorm, Scale, Bias, Power, PReLU and Eltwise of Caffe."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import FloatNode
from ...operators import Affine, Elementwise, Normalize, Operator, PRelu, Shape
from ...operators.curve import X
from .layer import CaffeLayer, finite


def batch_norm(layer: CaffeLayer) -> Operator:
    """Convert BatchNorm; the third array divides the sums in the first two (0: no samples)."""
    fields = layer.parameters("batch_norm_param")
    if not fields.use_global_stats:
        raise ModelError(
            "use_global_stats is false, so that every batch has its own mean; set it to true"
        )
    channels = layer.shape[:1]
    mean, variance, total = (a.astype(np.float64) for a in layer.arrays(channels, channels, (1,)))
    factor = 1 / total[0] if total[0] else 0.0
    variance = variance * factor + fields.eps
    if not (variance > 0).all():
        raise ModelError("its variance has values of 0 or below; they must be positive")
    scale = 1 / np.sqrt(variance)
    shape = _broadcast(channels, layer.shape)
    return Affine(scale.reshape(shape), (-mean * factor * scale).reshape(shape))


def scale(layer: CaffeLayer) -> Operator:
    """Convert Scale: a factor, and with bias_term a summand, for each element of the axes it
    covers.
    """
    fields = layer.parameters("scale_param")
    covered, shape = _find_covered_axes(layer, fields)
    factor, bias = layer.weights_and_bias(covered, covered, fields.bias_term)
    offset = np.zeros_like(factor) if bias is None else bias
    return Affine(*(array.astype(np.float64).reshape(shape) for array in (factor, offset)))


def bias(layer: CaffeLayer) -> Operator:
    """Convert Bias: a summand for each element of the axes it covers."""
    covered, shape = _find_covered_axes(layer, layer.parameters("bias_param"))
    (offset,) = layer.arrays(covered)
    return Affine(np.ones(shape), offset.astype(np.float64).reshape(shape))


def power(layer: CaffeLayer) -> Operator:
    """Convert (shift + scale * x) ** power."""
    fields = layer.parameters("power_param")
    if fields.power != 1:
        return (X * finite(fields.scale) + finite(fields.shift)) ** finite(fields.power)
    return Affine(np.array(finite(fields.scale)), np.array(finite(fields.shift)))


def exponential(layer: CaffeLayer) -> Operator:
    """Convert Exp: base ** (shift + scale * x); base -1 is e."""
    fields = layer.parameters("exp_param")
    factor = _log_of_base(fields.base)
    return (X * (factor * finite(fields.scale)) + factor * finite(fields.shift)).of("exp")


def logarithm(layer: CaffeLayer) -> Operator:
    """Convert Log: the logarithm of shift + scale * x to a base; base -1 is e."""
    fields = layer.parameters("log_param")
    inner = X * finite(fields.scale) + finite(fields.shift)
    return inner.of("log") * (1 / _log_of_base(fields.base))


def _log_of_base(base: float) -> float:
    if base == -1:
        return 1.0
    if not finite(base) > 0 or base == 1:
        raise ModelError(f"its base is {base:g}; it must be -1 for e, or above 0 and not 1")
    return math.log(base)


def normalize(layer: CaffeLayer) -> list[FloatNode]:
    """Convert MVN, whose epsilon is a part of the deviation."""
    fields = layer.parameters("mvn_param")
    if not fields.normalize_variance:
        raise ModelError("it subtracts the mean alone (normalize_variance: false)")
    rank = len(layer.shape)
    if rank < 2 and not fields.across_channels:
        raise ModelError(f"its input {list(layer.shape)} has no pixels")
    axes = tuple(range(0 if fields.across_channels else 1, rank))
    return [layer.node(Normalize(axes, finite(fields.eps) ** 2))]


def prelu(layer: CaffeLayer) -> Operator:
    """Return one slope for each channel, or for all."""
    shape = (1,) if layer.parameters("prelu_param").channel_shared else layer.shape[:1]
    (slope,) = layer.arrays(shape)
    return PRelu(slope.reshape(_broadcast(shape, layer.shape)))


def eltwise(layer: CaffeLayer) -> list[FloatNode]:
    """Return two at a time, from the first on."""
    fields, terms = layer.parameters("eltwise_param"), list(layer.step.reads)
    kind = ("multiply", "add", "maximum")[fields.operation]
    factors = list(fields.coeff) or [1.0] * len(terms)
    if len(terms) < 2 or len(set(layer.shapes)) > 1:
        raise ModelError(
            f"its blobs have the shapes {list(layer.shapes)}; it needs two or more of one shape"
        )
    if len(factors) != len(terms) or (fields.coeff and kind != "add"):
        raise ModelError("coeff must be empty or, for SUM, have one number for each blob")
    if factors == [1, -1]:
        kind, factors = "subtract", [1.0, 1.0]
    nodes = []
    for i, factor in enumerate(factors):
        if factor != 1:
            affine = Affine(np.array(finite(factor)), np.array(0.0))
            nodes.append(layer.node(affine, terms[i], part=f"coeff{i}"))
            terms[i] = nodes[-1].name
    total = terms[0]
    for i, term in enumerate(terms[1:], 1):
        part = "" if i == len(terms) - 1 else f"{kind}{i}"
        nodes.append(layer.node(Elementwise(kind), total, term, part=part))
        total = nodes[-1].name
    return nodes


def _find_covered_axes(layer: CaffeLayer, fields: Any) -> tuple[Shape, Shape]:
    """Return the axes that a scale or bias covers, and their shape for broadcasting."""
    rest = layer.shape[layer.axis(fields.axis) :]
    count = len(rest) if fields.num_axes == -1 else fields.num_axes
    if not 0 <= count <= len(rest):
        raise ModelError(f"num_axes is {count}, but its input has {len(rest)} axes from axis on")
    return rest[:count], _broadcast(rest[:count], rest)


def _broadcast(covered: Shape, whole: Shape) -> Shape:
    """Return a shape with ones for the axes after it."""
    return covered + (1,) * (len(whole) - len(covered))
