"""Functions of one element, and softmax."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from ....errors import ModelError
from ....operators import (
    Affine,
    Clip,
    Curve,
    Elementwise,
    Identity,
    Operator,
    PRelu,
    Relu,
    Sigmoid,
    Softmax,
    Tanh,
)
from ....operators.curve import X, elu, gelu
from .building import FloatCall, FloatConverter

#: Scale, offset and limit of the gate of HARD_SWISH.
_GATE = Affine(np.array(1 / 6), np.array(0.5)), Relu(limit=1.0)


def simple(call: FloatCall, operator: Operator) -> None:
    """Convert a function without options."""
    call.check_counts(1, 1)
    call.put(operator, call.tensor())


def cast(call: FloatCall) -> None:
    """Convert CAST and DEQUANTIZE to floats, or between integers: the numbers stay the same."""
    tensors = (
        call.builder.model.tensor(ends[0]) for ends in (call.operator.inputs, call.operator.outputs)
    )
    given, made = (tensor.type for tensor in tensors)
    if made == "BOOL" or (given.startswith("FLOAT") and not made.startswith("FLOAT")):
        raise ModelError(f"it converts {given} to {made}; only numbers that stay the same are read")
    simple(call, Identity())


def leaky_relu(call: FloatCall) -> None:
    """Convert LEAKY_RELU."""
    call.check_counts(1, 1)
    call.put(Relu(call.read_options("LeakyReluOptions").number("Alpha")), call.tensor())


def prelu(call: FloatCall) -> None:
    """Convert PRELU: a constant slope that broadcasts to the input."""
    call.check_counts(2, 2)
    x, slope = call.tensor(), call.floats(1)
    if slope.size == 1:
        call.put(Relu(float(slope.reshape(()))), x)
        return
    if x.batched and slope.ndim == len(x.shape):
        slope = slope[0]
    call.put(PRelu(slope), x)


def hard_swish(call: FloatCall) -> None:
    """Convert HARD_SWISH: x * min(max(x / 6 + 0.5, 0), 1)."""
    call.check_counts(1, 1)
    line, limit = _GATE
    gate = call.put(limit, call.put(line, call.tensor(), part="line"), part="gate")
    call.put(Elementwise("multiply"), call.tensor(), gate)


def convert_gelu(call: FloatCall) -> None:
    """Convert GELU, exact or by the hyperbolic tangent."""
    simple(call, gelu(call.read_options("GeluOptions").flag("Approximate")))


def power(call: FloatCall) -> None:
    """Convert POW with one constant exponent."""
    call.check_counts(2, 2)
    exponent = call.number(1)
    if not math.isfinite(exponent):
        raise ModelError(f"its exponent is {exponent}; it must be finite")
    call.put(X**exponent, call.tensor())


def softmax(call: FloatCall, log: bool) -> None:
    """Convert SOFTMAX and LOG_SOFTMAX over the last axis."""
    call.check_counts(1, 1)
    x = call.tensor()
    if not log:
        beta = call.read_options("SoftmaxOptions").number("Beta")
        if beta <= 0:
            raise ModelError(f"its beta is {beta}; it must be positive")
        if beta != 1:
            x = call.put(Affine(np.array(beta), np.array(0.0)), x, part="scaled")
    call.put(Softmax(x.axis(-1), log), x)


#: Operator -> its function of one element.
_CURVES: Mapping[str, Curve] = {
    **{name.upper(): X.of(name) for name in ("abs", "ceil", "cos", "exp", "floor", "log")},
    **{name.upper(): X.of(name) for name in ("round", "sign", "sin", "sqrt")},
    "RSQRT": 1.0 / X.of("sqrt"),
    "SQUARE": X * X,
    "ELU": elu(),
}

ACTIVATIONS: dict[str, FloatConverter] = {
    "RELU": partial(simple, operator=Relu()),
    "RELU6": partial(simple, operator=Relu(limit=6.0)),
    "RELU_N1_TO_1": partial(simple, operator=Clip(-1.0, 1.0)),
    "RELU_0_TO_1": partial(simple, operator=Relu(limit=1.0)),
    "LOGISTIC": partial(simple, operator=Sigmoid()),
    "TANH": partial(simple, operator=Tanh()),
    **dict.fromkeys(("CAST", "DEQUANTIZE"), cast),
    **{name: partial(simple, operator=curve) for name, curve in _CURVES.items()},
    "GELU": convert_gelu,
    "POW": power,
    "LEAKY_RELU": leaky_relu,
    "PRELU": prelu,
    "HARD_SWISH": hard_swish,
    "SOFTMAX": partial(softmax, log=False),
    "LOG_SOFTMAX": partial(softmax, log=True),
}
