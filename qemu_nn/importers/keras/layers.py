"""Conversion of every supported layer of Keras to operators."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from ...operators import (
    Affine,
    Concat,
    Elementwise,
    Gather,
    Identity,
    Normalize,
    Operator,
    Pad,
    PRelu,
    Relu,
    Reshape,
    Softmax,
    Transpose,
)
from ...operators.curve import elu
from . import qkeras, recurrent, windows
from .activation import activate
from .building import KerasBuilder
from .config import KerasLayer
from .operations import FUNCTIONS, combine, find_operands

#: Function that adds the nodes of a layer and returns the last tensor.
Converter = Callable[[KerasLayer, KerasBuilder, list[str]], str]


def _make_converter(make: Callable[[KerasLayer], Operator]) -> Converter:
    """Return a converter to one operator, for any input shape."""
    return lambda layer, build, inputs: build.add(layer.name, make(layer), inputs[0])


def _axis(layer: KerasLayer, axis: Any, rank: int) -> int:
    """Return the axis of a sample for an axis of Keras, which counts the batch, or from the end."""
    if isinstance(axis, list) and len(axis) == 1:
        axis = axis[0]
    if type(axis) is not int:
        raise layer.error(f"its axis is {axis!r}; only one axis is supported")
    found = axis + rank if axis < 0 else axis - 1
    if not 0 <= found < rank:
        raise layer.error(f"axis {axis} is not an axis of a sample")
    return found


def _normalization(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    rank = len(build.shapes[inputs[0]])
    axis = _axis(layer, layer.options.get("axis", -1), rank)
    names = [n for n, key in (("gamma", "scale"), ("beta", "center")) if layer.flag(key, True)]
    values = dict(zip([*names, "mean", "variance"], layer.arrays(*[1] * (len(names) + 2))))
    arrays = {name: np.asarray(array, np.float64) for name, array in values.items()}
    scale = arrays.get("gamma", np.float64(1)) / np.sqrt(
        arrays["variance"] + layer.number("epsilon", 1e-3)
    )
    offset = arrays.get("beta", np.float64(0)) - arrays["mean"] * scale
    shape = [-1 if i == axis else 1 for i in range(rank)]
    affine = Affine(np.reshape(scale, shape), np.reshape(offset, shape))
    return build.add(layer.name, affine, inputs[0])


def _layer_normalization(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Convert LayerNormalization and RMSNormalization over one axis or several."""
    shape, axes = build.shapes[inputs[0]], layer.options.get("axis", -1)
    own = sorted(
        _axis(layer, axis, len(shape)) for axis in (axes if isinstance(axes, list) else [axes])
    )
    plain = layer.kind == "RMSNormalization" or layer.flag("rms_scaling", False)
    normalize = Normalize(tuple(own), layer.number("epsilon", 1e-3), not plain)
    return _scale(layer, build, build.add(f"{layer.name}/normal", normalize, inputs[0]), own, plain)


def _scale(
    layer: KerasLayer, build: KerasBuilder, source: str, axes: list[int], plain: bool = False
) -> str:
    """Multiply by gamma and add beta, of these axes; plain: gamma alone."""
    shape = build.shapes[source]
    names = [n for n, key in (("gamma", "scale"), ("beta", "center")) if layer.flag(key, True)]
    names = ["gamma"] if plain else names
    arrays = dict(zip(names, layer.arrays(*[len(axes) if layer.weights else 1] * len(names))))
    sides = tuple(n if axis in axes else 1 for axis, n in enumerate(shape))
    gamma, beta = (arrays.get(n, d) for n, d in (("gamma", np.ones(())), ("beta", np.zeros(()))))
    given = [each.reshape(sides) if each.ndim else each for each in (gamma, beta)]
    return build.add(layer.name, Affine(given[0], given[1]), source)


def _group_normalization(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    shape = build.shapes[inputs[0]]
    axis, count = (
        _axis(layer, layer.options.get("axis", -1), len(shape)),
        layer.integer("groups", 32),
    )
    count = shape[axis] if count == -1 else count
    if count < 1 or shape[axis] % count:
        raise layer.error(f"its {count} groups do not divide {shape[axis]} channels")
    split = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    groups = build.add(f"{layer.name}/groups", Reshape(split), inputs[0])
    rest = tuple(at for at in range(len(split)) if at != axis)
    normalize = Normalize(rest, layer.number("epsilon", 1e-3))
    normal = build.add(f"{layer.name}/normal", normalize, groups)
    whole = build.add(f"{layer.name}/channels", Reshape(shape), normal)
    return _scale(layer, build, whole, [axis])


def _unit_normalization(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Divide by the length of vectors along an axis."""
    shape = build.shapes[inputs[0]]
    axis = _axis(layer, layer.options.get("axis", -1), len(shape))
    normalize = Normalize((axis,), 1e-12, centered=False)
    normal = build.add(f"{layer.name}/normal", normalize, inputs[0])
    share = Affine(np.array(shape[axis] ** -0.5), np.array(0.0))
    return build.add(layer.name, share, normal)


def _repeat(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Convert RepeatVector: a vector as equal time steps."""
    shape, count = build.shapes[inputs[0]], layer.length("n")
    row = build.add(f"{layer.name}/row", Reshape((1, *shape)), inputs[0])
    return build.add(layer.name, Gather(0, (0,) * count), row)


def _rescaling(layer: KerasLayer) -> Affine:
    return Affine(np.array(layer.number("scale", 1.0)), np.array(layer.number("offset", 0.0)))


def _standardization(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Convert Normalization: its statistics are weights, or options."""
    if layer.weights:
        mean, variance = (np.asarray(array, np.float64) for array in layer.weights[:2])
    else:
        try:
            mean, variance = (
                np.asarray(layer.options.get(k), np.float64) for k in ("mean", "variance")
            )
        except (TypeError, ValueError):
            raise layer.error("it has neither statistics nor a mean and a variance") from None
    if layer.flag("invert", False) or not (np.isfinite(mean).all() and np.isfinite(variance).all()):
        raise layer.error("only the usual direction is supported, with a finite mean and variance")
    scale = 1 / np.maximum(np.sqrt(variance), 1e-7)
    axis = layer.options.get("axis", -1)
    rank = len(build.shapes[inputs[0]])
    shape = [1] * rank
    if axis is not None and mean.size > 1:
        shape[_axis(layer, axis, rank)] = -1
    affine = Affine(np.reshape(scale, shape), np.reshape(-mean * scale, shape))
    return build.add(layer.name, affine, inputs[0])


def _relu(layer: KerasLayer) -> Operator:
    if layer.number("threshold", 0.0) != 0:
        raise layer.error("its threshold is not 0; only 0 is supported")
    limit = layer.options.get("max_value")
    slope = layer.number("negative_slope", 0.0)
    return Relu(slope, None if limit is None else layer.number("max_value"))


def _leaky(layer: KerasLayer) -> Operator:
    return Relu(layer.number("alpha" if "alpha" in layer.options else "negative_slope", 0.3))


def _prelu(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    (slope,) = layer.weights if len(layer.weights) == 1 else [np.zeros(0)]
    return build.add(layer.name, PRelu(slope), inputs[0])


def _softmax(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    axis = _axis(layer, layer.options.get("axis", -1), len(build.shapes[inputs[0]]))
    return build.add(layer.name, Softmax(axis), inputs[0])


def _activation(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    return activate(layer, build, inputs[0], layer.name)


def _flatten(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Always in the order of channels last."""
    source, shape = inputs[0], build.shapes[inputs[0]]
    if layer.layout() == "NCHW" and len(shape) > 1:
        order = (*range(1, len(shape)), 0)
        source = build.add(f"{layer.name}/channels_last", Transpose(order), source)
    return build.add(layer.name, Reshape((math.prod(shape),)), source)


def _reshape(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    return _reshape_to(layer, build, inputs[0], layer.integers("target_shape"))


def _reshape_to(layer: KerasLayer, build: KerasBuilder, source: str, target: list[int]) -> str:
    """Return a shape in which one axis may be -1."""
    size, known = math.prod(build.shapes[source]), math.prod(n for n in target if n != -1)
    if target.count(-1) > 1 or known < 1 or size % known:
        raise layer.error(
            f"its input {list(build.shapes[source])} cannot be reshaped to {target}: the "
            "elements must be as many"
        )
    return build.add(
        layer.name, Reshape(tuple(size // known if n == -1 else n for n in target)), source
    )


def _expand(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """expand_dims: of a sample, never of the batch."""
    axis = layer.call.get("axis", layer.options.get("axis"))
    shape = list(build.shapes[inputs[0]])
    if type(axis) is not int:
        raise layer.error(f"its axis is {axis!r}")
    place = axis + len(shape) + 1 if axis < 0 else axis - 1
    if not 0 <= place <= len(shape):
        raise layer.error(f"axis {axis} is not an axis of a sample")
    shape.insert(place, 1)
    return build.add(layer.name, Reshape(tuple(shape)), inputs[0])


def _function(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Return a function of TensorFlow in a model of Keras 2."""
    name = str(layer.options.get("function"))
    if name == "expand_dims":
        return _expand(layer, build, inputs)
    if name in FUNCTIONS:
        return FUNCTIONS[name](layer, build, inputs)
    raise layer.error(
        f"the function {name!r} is not supported; have: expand_dims, {', '.join(FUNCTIONS)}"
    )


def _permute(layer: KerasLayer) -> Operator:
    return Transpose(tuple(axis - 1 for axis in layer.integers("dims")))


def _pad(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """ZeroPadding and Cropping."""
    sign, key = (-1, "cropping") if layer.kind.startswith("Cropping") else (1, "padding")
    if layer.kind.endswith("1D"):
        value = layer.options.get(key)
        both = KerasLayer(layer.kind, layer.name, {key: [value, 0]}, [], {})
        ends = both.edges(key)[0]
        pads = [(sign * ends[0], sign * ends[1]), (0, 0)]
    else:
        rows, columns = layer.edges(key)
        pads = [(sign * rows[0], sign * rows[1]), (sign * columns[0], sign * columns[1])]
        pads.insert(0 if layer.layout() == "NCHW" else 2, (0, 0))
    return build.add(layer.name, Pad(tuple(pads)), inputs[0])


def _merge(kind: str, average: bool = False) -> Converter:
    """Convert any number of inputs, two by two."""

    def convert(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
        if len(inputs) == 1 and len(find_operands(layer, 1)) > 1:  # an operation of Keras 3
            return combine(layer, build, inputs, kind)
        if len(inputs) < 2:
            raise layer.error("it needs two inputs or more")
        total = inputs[0]
        for index, other in enumerate(inputs[1:], 1):
            last = index == len(inputs) - 1 and not average
            name = layer.name if last else f"{layer.name}/{index}"
            total = build.add(name, Elementwise(kind), total, other)
        if average:
            share = Affine(np.array(1 / len(inputs)), np.array(0.0))
            total = build.add(layer.name, share, total)
        return total

    return convert


def _concatenate(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    axis = _axis(layer, layer.options.get("axis", -1), len(build.shapes[inputs[0]]))
    return build.add(layer.name, Concat(axis), *inputs)


def _time_distributed(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Convert a fully connected layer, or an activation, of every time step."""
    entry: Any = layer.options.get("layer")
    kind = entry.get("class_name") if isinstance(entry, dict) else None
    alike = ("Dense", "Activation", "ReLU", "LeakyReLU", "Dropout", "LayerNormalization")
    if kind not in alike or not isinstance(entry.get("config"), dict):
        raise layer.error(f"it wraps {kind!r}; have: {', '.join(alike)}")
    inner = KerasLayer(kind, layer.name, entry["config"], layer.weights, {}, layer.version)
    return CONVERTERS[kind][1](inner, build, inputs)


#: Layers that are identities outside training.
_IDLE = (
    *("Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise", "GaussianDropout"),
    *("AlphaDropout", "ActivityRegularization", "Identity"),
)

#: Class in Keras -> true if it has weights, and its converter.
CONVERTERS: dict[str, tuple[bool, Converter]] = {
    **windows.CONVERTERS,
    **recurrent.CONVERTERS,
    **qkeras.CONVERTERS,
    "TimeDistributed": (True, _time_distributed),
    "BatchNormalization": (True, _normalization),
    "Normalization": (True, _standardization),
    "Rescaling": (False, _make_converter(_rescaling)),
    "Activation": (False, _activation),
    "ReLU": (False, _make_converter(_relu)),
    "ELU": (False, _make_converter(lambda layer: elu(layer.number("alpha", 1.0)))),
    "LayerNormalization": (True, _layer_normalization),
    "RMSNormalization": (True, _layer_normalization),
    "GroupNormalization": (True, _group_normalization),
    "UnitNormalization": (False, _unit_normalization),
    "RepeatVector": (False, _repeat),
    "LeakyReLU": (False, _make_converter(_leaky)),
    "PReLU": (True, _prelu),
    "Softmax": (False, _softmax),
    "Flatten": (False, _flatten),
    "Reshape": (False, _reshape),
    "Permute": (False, _make_converter(_permute)),
    **dict.fromkeys(("TFOpLambda", "SlicingOpLambda"), (False, _function)),
    "ExpandDims": (False, _expand),
    **dict.fromkeys(("ZeroPadding1D", "ZeroPadding2D", "Cropping1D", "Cropping2D"), (False, _pad)),
    "Add": (False, _merge("add")),
    "Subtract": (False, _merge("subtract")),
    "Multiply": (False, _merge("multiply")),
    "Maximum": (False, _merge("maximum")),
    "Minimum": (False, _merge("minimum")),
    "Average": (False, _merge("add", average=True)),
    "Concatenate": (False, _concatenate),
    **dict.fromkeys(_IDLE, (False, _make_converter(lambda layer: Identity()))),
}
