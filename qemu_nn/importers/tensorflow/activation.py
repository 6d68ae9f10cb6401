"""Functions of one element, and softmax."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import Clip, Elementwise, Identity, Operator, Relu, Sigmoid, Softmax, Tanh
from ...operators.curve import SELU, X, elu
from ..tensor import Tensor
from .building import Converter, TensorflowCall, scalar

#: Largest float32, which means "no limit".
_UNLIMITED = float(np.finfo(np.float32).max)


def simple(call: TensorflowCall, x: Tensor, operator: Operator) -> None:
    """Convert a function without attributes."""
    call.put(operator, x)


def leaky_relu(call: TensorflowCall, x: Tensor) -> None:
    """Convert LeakyRelu."""
    alpha = call.node.number("alpha", 0.2)
    if not math.isfinite(alpha):
        raise ModelError(f"its alpha must be finite, not {alpha}")
    call.put(Relu(alpha), x)


def clip(call: TensorflowCall, x: Tensor, low: np.ndarray, high: np.ndarray) -> None:
    """Convert ClipByValue."""
    convert_limits(call, x, scalar(low), scalar(high))


def convert_limits(
    call: TensorflowCall, x: Tensor, low: float = -_UNLIMITED, high: float = _UNLIMITED
) -> None:
    """Return min(max(x, low), high) as the operator that has this meaning."""
    if low >= high:
        raise ModelError(f"its limits {low} and {high} leave no values between them")
    unlimited = high >= _UNLIMITED
    call.put(Relu(limit=None if unlimited else high) if low == 0 else Clip(low, high), x)


def softmax(call: TensorflowCall, x: Tensor, log: bool) -> None:
    """Convert Softmax and LogSoftmax, along the last axis."""
    call.put(Softmax(x.axis(-1), log), x)


def square(call: TensorflowCall, x: Tensor) -> None:
    """Convert Square: a product of a tensor with itself."""
    call.put(Elementwise("multiply"), x, x)


def power(call: TensorflowCall, x: Tensor, exponent: np.ndarray) -> None:
    """Convert Pow by a number."""
    number = scalar(exponent)
    if number == 2:
        square(call, x)
    else:
        call.put(Identity() if number == 1 else X**number, x)


#: Operator -> its function of each element.
_CURVES = {
    **{name: X.of(name.lower()) for name in ("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Log")},
    **{name: X.of(name.lower()) for name in ("Sign", "Sin", "Softplus", "Sqrt")},
    "Elu": elu(),
    "Erfc": 1.0 - X.of("erf"),
    **dict.fromkeys(("Inv", "Reciprocal"), 1.0 / X),
    "Rint": X.of("round"),
    "Rsqrt": 1.0 / X.of("sqrt"),
    "Selu": elu(*SELU),
    "Softsign": X / (X.of("abs") + 1.0),
}

ACTIVATIONS: dict[str, Converter] = {
    **{name: ("x", partial(simple, operator=curve)) for name, curve in _CURVES.items()},
    "Square": ("x", square),
    "Pow": ("xc", power),
    "Relu": ("x", partial(simple, operator=Relu())),
    "Relu6": ("x", partial(simple, operator=Relu(limit=6.0))),
    "LeakyRelu": ("x", leaky_relu),
    "ClipByValue": ("xcc", clip),
    "Sigmoid": ("x", partial(simple, operator=Sigmoid())),
    "Tanh": ("x", partial(simple, operator=Tanh())),
    "Softmax": ("x", partial(softmax, log=False)),
    "LogSoftmax": ("x", partial(softmax, log=True)),
}
