"""Operators between layers: operations of Keras 3, and TensorFlow's functions in Keras 2."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Optional

import numpy as np

from ...operators import (
    Affine,
    Clip,
    Concat,
    Elementwise,
    Gather,
    Identity,
    MatMul,
    Operator,
    Reduce,
    Reshape,
    Slice,
    Transpose,
)
from ...operators.curve import X
from .activation import activate
from .building import KerasBuilder
from .config import OPERANDS, KerasLayer

#: Function that adds the nodes of a layer and returns the last tensor.
Converter = Callable[[KerasLayer, KerasBuilder, list[str]], str]

#: Most elements of an operand that the file holds.
_MOST_NUMBERS = 2**20


def find_operands(layer: KerasLayer, count: int) -> list[Optional[np.ndarray]]:
    """Return the operands of a call in order: None for each tensor, numbers of the file."""
    given: Any = layer.call.get(OPERANDS)
    if given is None:
        return [None] * count
    found: list[Optional[np.ndarray]] = []
    for value in given:
        if value is None:
            found.append(None)
            continue
        try:
            array = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            raise layer.error(f"its operand is {str(value)[:40]!r}; it must be a number") from None
        if array.size > _MOST_NUMBERS or not np.isfinite(array).all():
            raise layer.error("its operand has too many numbers, or such that are not finite")
        found.append(array)
    return found


def combine(
    layer: KerasLayer, build: KerasBuilder, inputs: list[str], kind: str, name: str = ""
) -> str:
    """Add an operator of two tensors, or of a tensor and numbers."""
    operands = find_operands(layer, len(inputs))
    name = name or layer.name
    if len(operands) != 2 or len(inputs) != operands.count(None) or not inputs:
        raise layer.error(f"it has {len(operands)} operands, {len(inputs)} of them tensors")
    first, second = operands
    if first is None and second is None:
        return build.add(name, Elementwise(kind), *_match(layer, build, inputs))
    number = second if second is not None else first
    assert number is not None  # one of both
    return _with_number(layer, build, inputs[0], kind, number, first is not None)


def _match(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> list[str]:
    """Return tensors with equally many axes; missing ones are before the others."""
    rank = max(len(build.shapes[name]) for name in inputs)
    found = []
    for index, name in enumerate(inputs):
        shape = build.shapes[name]
        if len(shape) < rank:
            whole = (*[1] * (rank - len(shape)), *shape)
            name = build.add(f"{layer.name}/axes{index}", Reshape(whole), name)
        found.append(name)
    return found


def _with_number(
    layer: KerasLayer,
    build: KerasBuilder,
    source: str,
    kind: str,
    number: np.ndarray,
    ahead: bool,
) -> str:
    """Add an operator of a tensor and numbers; ahead: these are the first operand."""
    one, zero = np.array(1.0), np.array(0.0)
    shape = build.shapes[source]
    if number.ndim > len(shape):
        number = number.reshape(number.shape[number.ndim - len(shape) :])
    if kind in ("maximum", "minimum", "power"):
        if number.size != 1 or (kind == "power" and ahead):
            raise layer.error("its operand must be one number, and of a power the exponent")
        limit = float(number.reshape(()))
        ends = (limit, math.inf) if kind == "maximum" else (-math.inf, limit)
        operator: Operator = X**limit if kind == "power" else Clip(*ends)
        return build.add(layer.name, operator, source)
    if kind == "divide" and ahead:
        inverse = build.add(f"{layer.name}/inverse", 1.0 / X, source)
        return build.add(layer.name, Affine(number, zero), inverse)
    with np.errstate(divide="ignore"):
        factors = {"multiply": number, "divide": 1 / number}
    scale = factors.get(kind, one)
    offset = number if kind in ("add", "subtract") else zero
    if kind == "subtract":
        scale, offset = (-one, offset) if ahead else (one, -offset)
    if not np.isfinite(scale).all():
        raise layer.error("it divides by zero; its divisor must not contain 0")
    return build.add(layer.name, Affine(scale, offset), source)


def _curve(layer: KerasLayer, build: KerasBuilder, inputs: list[str], operator: Operator) -> str:
    return build.add(layer.name, operator, inputs[0])


def _activation(layer: KerasLayer, build: KerasBuilder, inputs: list[str], name: str) -> str:
    if name == "gelu" and layer.call.get("approximate", layer.options.get("approximate")):
        name = "gelu_tanh"
    return activate(layer, build, inputs[0], layer.name, name)


def _reduce(layer: KerasLayer, build: KerasBuilder, inputs: list[str], kind: str) -> str:
    """Reduce axes of a sample, named as an option or an argument."""
    shape = build.shapes[inputs[0]]
    axes: Any = layer.call.get("axis", layer.options.get("axis"))
    rest = [value for value in layer.call.get(OPERANDS) or [] if value is not None]
    axes = rest[0] if axes is None and rest else axes
    named = axes if isinstance(axes, list) else [axes]
    if not all(type(axis) is int for axis in named):
        raise layer.error("it names no axes; samples must be independent")
    own = tuple(sorted(axis + len(shape) if axis < 0 else axis - 1 for axis in named))
    if min(own) < 0:
        raise layer.error("it reduces the batch axis; samples must be independent")
    keeps = layer.call.get("keepdims", layer.options.get("keepdims"))
    if keeps:
        return build.add(layer.name, Reduce(kind, own), inputs[0])
    made = build.add(f"{layer.name}/reduced", Reduce(kind, own), inputs[0])
    left = tuple(n for axis, n in enumerate(shape) if axis not in own)
    return build.add(layer.name, Reshape(left), made)


def _matmul(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    if len(inputs) != 2:
        raise layer.error("it multiplies by constants; only two tensors are supported")
    return build.add(layer.name, MatMul(bool(layer.call.get("transpose_b"))), *inputs)


def _concatenate(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    axis: Any = layer.call.get("axis", layer.options.get("axis", -1))
    rank = len(build.shapes[inputs[0]])
    if type(axis) is not int or axis == 0:
        raise layer.error(f"its axis is {axis!r}")
    return build.add(layer.name, Concat(axis + rank if axis < 0 else axis - 1), *inputs)


def _transpose(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    order: Any = layer.call.get("perm") or layer.options.get("axes")
    if not isinstance(order, list) or not order or order[0] != 0:
        raise layer.error(f"its order of axes is {order!r}; it must keep the batch axis first")
    return build.add(layer.name, Transpose(tuple(axis - 1 for axis in order[1:])), inputs[0])


def _reshape(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    shape = build.shapes[inputs[0]]
    named = layer.options.get("newshape", layer.options.get("new_shape"))
    target: Any = layer.call.get("shape", named)
    if not isinstance(target, list) or len(target) < 1 or target[0] not in (None, -1):
        raise layer.error(f"its shape is {target!r}; its first axis must be the batch, as -1")
    sides = list(target[1:])
    known = math.prod(n for n in sides if n != -1)
    if sides.count(-1) == 1 and known > 0:
        sides[sides.index(-1)] = math.prod(shape) // known
    return build.add(layer.name, Reshape(tuple(sides)), inputs[0])


def _get_item(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Take a slice or an element of each axis: x[:, 0, 1:5]."""
    source, shape = inputs[0], build.shapes[inputs[0]]
    given = layer.call.get("slice_spec")
    rest = [value for value in layer.call.get(OPERANDS) or [] if value is not None]
    key: Any = given if given is not None else (rest[0] if rest else None)
    if not isinstance(key, list) or not key or _get_range(key[0], 1) != range(1):
        raise layer.error("its key must begin with all samples")
    gone, last = [], source
    if len(key) - 1 > len(shape):
        raise layer.error(f"its key has {len(key)} parts, but its input {list(shape)} has fewer")
    for axis, part in enumerate(key[1:]):
        side = shape[axis]
        if type(part) is int:
            if not -side <= part < side:
                raise layer.error(f"axis {axis + 1} has no element {part}")
            kept: Optional[range] = range(part % side, part % side + 1)
            gone.append(axis)
        else:
            kept = _get_range(part, side)
        if kept is None or not kept:
            raise layer.error(f"its key {str(part)[:40]!r} is not supported")
        if kept != range(side):
            forward = Slice(axis, kept.start, kept[-1] + 1, max(kept.step, 1))
            operator = forward if kept.step > 0 else Gather(axis, tuple(kept))
            last = build.add(f"{layer.name}/axis{axis}", operator, last)
    left = tuple(n for axis, n in enumerate(build.shapes[last]) if axis not in gone)
    return build.add(layer.name, Reshape(left) if gone else Identity(), last)


def _get_range(part: Any, side: int) -> Optional[range]:
    """Return the elements of a slice of a key; None for another key."""
    inner = part.get("config", part) if isinstance(part, dict) else None
    if not isinstance(inner, dict) or not {"start", "stop", "step"} <= inner.keys():
        return None
    ends = (inner["start"], inner["stop"], inner["step"])
    if not all(end is None or type(end) is int for end in ends) or ends[2] == 0:
        return None
    return range(side)[slice(*ends)]


def _binary(kind: str) -> Converter:
    return partial(combine, kind=kind)


#: Name of an operation in Keras 3 -> its converter.
OPERATIONS: Mapping[str, Converter] = {
    **{name: _binary(name.lower()) for name in ("Add", "Subtract", "Multiply", "Divide")},
    **{name: _binary(name.lower()) for name in ("Maximum", "Minimum", "Power")},
    "TrueDivide": _binary("divide"),
    "Absolute": partial(_curve, operator=X.of("abs")),
    "Negative": partial(_curve, operator=Affine(np.array(-1.0), np.array(0.0))),
    "Square": partial(_curve, operator=X * X),
    "Reciprocal": partial(_curve, operator=1.0 / X),
    "Rsqrt": partial(_curve, operator=1.0 / X.of("sqrt")),
    **{
        name: partial(_curve, operator=X.of(name.lower()))
        for name in ("Exp", "Log", "Sqrt", "Sin", "Cos", "Erf", "Floor", "Ceil", "Sign", "Round")
    },
    **{
        name: partial(_activation, name=function)
        for name, function in (
            *(("Relu", "relu"), ("Relu6", "relu6"), ("Sigmoid", "sigmoid"), ("Tanh", "tanh")),
            *(("Silu", "silu"), ("Gelu", "gelu"), ("Elu", "elu"), ("Selu", "selu")),
            *(("Softplus", "softplus"), ("Softsign", "softsign"), ("HardSigmoid", "hard_sigmoid")),
            *(("HardSilu", "hard_silu"), ("LogSoftmax", "log_softmax"), ("Mish", "mish")),
        )
    },
    **{name: partial(_reduce, kind=name.lower()) for name in ("Mean", "Sum", "Max", "Min")},
    "Matmul": _matmul,
    "Concatenate": _concatenate,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "GetItem": _get_item,
}

#: Name of a function of TensorFlow in Keras 2 -> its converter.
FUNCTIONS: Mapping[str, Converter] = {
    **{
        name: OPERATIONS[operation]
        for operation, names in (
            ("Add", ("__operators__.add", "__operators__.radd", "math.add")),
            ("Subtract", ("__operators__.sub", "__operators__.rsub", "math.subtract")),
            ("Multiply", ("__operators__.mul", "__operators__.rmul", "math.multiply")),
            ("Divide", ("__operators__.truediv", "__operators__.rtruediv", "math.divide")),
            ("Power", ("__operators__.pow", "math.pow")),
            ("Negative", ("__operators__.neg", "math.negative")),
            ("Maximum", ("math.maximum",)),
            ("Minimum", ("math.minimum",)),
            ("Absolute", ("math.abs", "__operators__.abs")),
        )
        for name in names
    },
    **{
        f"math.{name}": OPERATIONS[name.capitalize()]
        for name in ("exp", "log", "sqrt", "rsqrt", "square", "sin", "cos", "erf", "sigmoid")
    },
    "math.tanh": OPERATIONS["Tanh"],
    "math.softplus": OPERATIONS["Softplus"],
    **{
        f"nn.{name}": OPERATIONS[name.capitalize()]
        for name in ("relu", "relu6", "elu", "selu", "gelu", "silu", "tanh")
    },
    "nn.softmax": partial(_activation, name="softmax"),
    "nn.log_softmax": partial(_activation, name="log_softmax"),
    **{
        f"math.reduce_{kind}": partial(_reduce, kind=kind) for kind in ("mean", "sum", "max", "min")
    },
    "linalg.matmul": _matmul,
    "concat": _concatenate,
    "transpose": _transpose,
    "reshape": _reshape,
    "__operators__.getitem": _get_item,
}
