"""Functions of one element, and softmax."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import (
    Affine,
    Clip,
    Elementwise,
    Identity,
    Operator,
    PRelu,
    Relu,
    Sigmoid,
    Softmax,
    Tanh,
)
from ...operators.curve import SELU, X, celu, elu, gelu, mish
from ..tensor import Tensor
from .call import Converter, OnnxCall

#: Values for "no limit" in files with explicit limits.
_UNLIMITED = float(np.finfo(np.float32).max)


def simple(call: OnnxCall, operator: Operator) -> None:
    """Convert a function without attributes."""
    call.put(operator, call.tensor())


def clip(call: OnnxCall) -> None:
    """Convert Clip, whose limits are attributes or inputs."""
    low, high = call.limit("min", 1, -math.inf), call.limit("max", 2, math.inf)
    convert_clip(call, call.tensor(), low, high)


def convert_clip(call: OnnxCall, x: Tensor, low: float, high: float, part: str = "") -> Tensor:
    """Return min(max(x, low), high) as the operator that has this meaning."""
    if not low < high:
        raise ModelError(f"its limits {low} and {high} leave no values between them")
    low, high = max(low, -_UNLIMITED), min(high, _UNLIMITED)
    if low == 0:
        return call.put(Relu(limit=high if high < _UNLIMITED else None), x, part=part)
    limited = low > -_UNLIMITED or high < _UNLIMITED
    return call.put(Clip(low, high) if limited else Identity(), x, part=part)


def leaky_relu(call: OnnxCall) -> None:
    """Convert LeakyRelu."""
    call.put(Relu(call.number("alpha", 0.01)), call.tensor())


def prelu(call: OnnxCall) -> None:
    """Convert PRelu: a constant slope that broadcasts to the input."""
    x, slope = call.tensor(), call.floats(1)
    if slope.size == 1:
        call.put(Relu(float(slope.reshape(()))), x)
        return
    if x.batched and slope.ndim == len(x.shape):
        slope = slope[0]
    call.put(PRelu(slope), x)


def hard_sigmoid(call: OnnxCall) -> None:
    """Convert HardSigmoid: min(max(alpha * x + beta, 0), 1)."""
    alpha, beta = call.number("alpha", 0.2), call.number("beta", 0.5)
    line = call.put(Affine(np.array(alpha), np.array(beta)), call.tensor(), part="line")
    call.put(Relu(limit=1.0), line)


def hard_swish(call: OnnxCall) -> None:
    """Convert HardSwish: x * min(max(x / 6 + 0.5, 0), 1)."""
    line = call.put(Affine(np.array(1 / 6), np.array(0.5)), call.tensor(), part="line")
    gate = call.put(Relu(limit=1.0), line, part="gate")
    call.put(Elementwise("multiply"), call.tensor(), gate)


def exponential(call: OnnxCall, kind: str) -> None:
    """Convert Elu, Celu and Selu: exponentials below zero."""
    if kind == "selu":
        alpha, scale = call.number("alpha", SELU[0]), call.number("gamma", SELU[1])
        call.put(elu(alpha, scale), call.tensor())
        return
    alpha = call.number("alpha", 1.0)
    if kind == "celu" and alpha == 0:
        raise ModelError("its alpha is 0; it must be another number")
    call.put(celu(alpha) if kind == "celu" else elu(alpha), call.tensor())


def convert_gelu(call: OnnxCall) -> None:
    """Convert Gelu, exact or approximated by a hyperbolic tangent."""
    call.put(gelu(call.text("approximate", "none") == "tanh"), call.tensor())


def swish(call: OnnxCall) -> None:
    """Convert Swish: x * sigmoid(alpha * x)."""
    x, alpha = call.tensor(), call.number("alpha", 1.0)
    scaled = x
    if alpha != 1:
        scaled = call.put(Affine(np.array(alpha), np.array(0.0)), x, part="scaled")
    call.put(Elementwise("multiply"), x, call.put(Sigmoid(), scaled, part="gate"))


def softmax(call: OnnxCall, log: bool) -> None:
    """Convert Softmax and LogSoftmax of one axis; before operator set 13, of all axes from `axis`
    on.
    """
    x = call.tensor()
    if call.builder.opset >= 13:
        call.put(Softmax(x.axis(call.integer("axis", -1)), log), x)
        return
    first = x.axis(call.integer("axis", 1))
    many = [axis for axis in range(first, len(x.sample)) if x.sample[axis] > 1]
    if len(many) < 2:
        call.put(Softmax(many[0] if many else first, log), x)
        return
    rows = (*x.shape[: first + x.batched], math.prod(x.sample[first:]))
    flat = call.reshape(x, rows, part="rows", batched=x.batched)
    call.reshape(call.put(Softmax(first, log), flat, part="softmax"), x.shape, batched=x.batched)


#: Operator -> its function of each element.
_CURVES = {
    **{name: X.of(name.lower()) for name in ("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Log")},
    **{name: X.of(name.lower()) for name in ("Round", "Sign", "Sin", "Softplus", "Sqrt")},
    "Mish": mish(),
    "Reciprocal": 1.0 / X,
    "Softsign": X / (X.of("abs") + 1.0),
}

ACTIVATIONS: dict[str, Converter] = {
    **{name: partial(simple, operator=curve) for name, curve in _CURVES.items()},
    "Elu": partial(exponential, kind="elu"),
    "Celu": partial(exponential, kind="celu"),
    "Selu": partial(exponential, kind="selu"),
    **dict.fromkeys(("Gelu", "com.microsoft.Gelu"), convert_gelu),
    "Swish": swish,
    "Relu": partial(simple, operator=Relu()),
    "Sigmoid": partial(simple, operator=Sigmoid()),
    "Tanh": partial(simple, operator=Tanh()),
    "Clip": clip,
    "LeakyRelu": leaky_relu,
    "PRelu": prelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "Softmax": partial(softmax, log=False),
    "LogSoftmax": partial(softmax, log=True),
}
