"""Functions of one number, composed of elementary ones: what a table of 256 results computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Union

import numpy as np

from ..errors import ModelError
from .activation import _Unary
from .base import Operator, Shape

#: Most steps of one function.
_MOST_STEPS = 64


def _erf(x: np.ndarray) -> np.ndarray:
    """Return the error function by its series, or by a continued fraction far from zero."""
    x64 = np.asarray(x, np.float64)
    near = np.clip(x64, -2.5, 2.5)
    term, total = near, near
    for n in range(1, 45):
        term = term * (-near * near / n)
        total = total + term / (2 * n + 1)
    far = np.maximum(np.abs(x64), 2.5)
    fraction = far
    for n in range(60, 0, -1):
        fraction = far + n / 2 / fraction
    tail = 1 - np.exp(-far * far) / (fraction * math.sqrt(math.pi))
    result = np.where(np.abs(x64) <= 2.5, total * (2 / math.sqrt(math.pi)), np.sign(x64) * tail)
    return np.asarray(result, np.asarray(x).dtype)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    result: np.ndarray = np.where(x >= 0, 1, small) / (1 + small)
    return result


def _softplus(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)
    return result


def pass_where(mask: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return x where a mask of 0 and 1 is 1, else 0, for any x that is not finite."""
    passed: np.ndarray = np.where(mask > 0.5, x, np.zeros((), np.asarray(x).dtype))
    return passed


def _greater(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.greater(x, y), np.asarray(x).dtype)


def _at_least(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.greater_equal(x, y), np.asarray(x).dtype)


def _equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.equal(x, y), np.asarray(x).dtype)


#: Name -> function of one number.
ONE: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "abs": np.absolute,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": _erf,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "round": np.rint,
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "sin": np.sin,
    "softplus": _softplus,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}

#: Name -> function of two numbers; comparisons give 1 or 0.
TWO: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "greater": _greater,
    "at_least": _at_least,
    "equal": _equal,
    "pass_where": pass_where,
}


@dataclass(frozen=True)
class Curve(_Unary):
    """A function of each element, in steps: a name of ONE or TWO, and the operands of each step.

    An operand is an index among the input and the results of steps, or -1 - an index among the
    constants. A step of ONE has its operand twice. The last step gives the result; without steps it
    is the input. X is the identity, from which methods and operators make functions:
    `X * X.of("sigmoid")`.
    """

    steps: tuple[str, ...] = ()
    operands: tuple[tuple[int, int], ...] = ()
    constants: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def shape(self, *inputs: Shape) -> Shape:
        """Return the input's; check the steps."""
        if len(self.steps) != len(self.operands) or len(self.steps) > _MOST_STEPS:
            raise ModelError(
                f"its function has {len(self.steps)} steps and {len(self.operands)} pairs "
                f"of operands; there must be one pair for each step, at most {_MOST_STEPS}"
            )
        if self.constants.ndim != 1:
            raise ModelError(f"its constants {list(self.constants.shape)} must have one axis")
        for index, (name, pair) in enumerate(zip(self.steps, self.operands)):
            if name not in ONE and name not in TWO:
                raise ModelError(f"there is no {name!r}; have: {', '.join((*ONE, *TWO))}")
            if not all(-len(self.constants) <= operand <= index for operand in pair):
                raise ModelError(f"step {index} of its function has the operands {list(pair)}")
        return super().shape(*inputs)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        (x,) = inputs
        values: list[np.ndarray] = [x]
        numbers = self.constants.astype(x.dtype)
        with np.errstate(all="ignore"):
            for name, pair in zip(self.steps, self.operands):
                one, two = (values[at] if at >= 0 else numbers[-1 - at] for at in pair)
                values.append(ONE[name](one) if name in ONE else TWO[name](one, two))
        return np.broadcast_to(np.asarray(values[-1], x.dtype), x.shape)

    def equals(self, other: Operator) -> bool:
        """True if another operator is a function of the same steps."""
        return (
            isinstance(other, Curve)
            and (self.steps, self.operands) == (other.steps, other.operands)
            and bool(np.array_equal(self.constants, other.constants))
        )

    def of(self, name: str) -> Curve:
        """Return a function of ONE of this function."""
        return self.combine(name, self)

    def combine(self, name: str, other: Union[Curve, float], swapped: bool = False) -> Curve:
        """Return a function of TWO of this function and another one of the same input.

        swapped: the other one is the first operand.
        """
        steps, operands = list(self.steps), list(self.operands)
        constants = [float(number) for number in self.constants]
        first = len(steps)
        if isinstance(other, Curve):
            second = first if other is self else self._append(other, steps, operands, constants)
        else:
            constants.append(float(other))
            second = -len(constants)
        pair = (second, first) if swapped else (first, second)
        return Curve((*steps, name), (*operands, pair), np.array(constants))

    @staticmethod
    def _append(
        other: Curve, steps: list[str], operands: list[tuple[int, int]], constants: list[float]
    ) -> int:
        """Append the steps of another function; return the place of its result."""
        ahead, before = len(steps), len(constants)
        places: list[int] = [0, *range(ahead + 1, ahead + 1 + len(other.steps))]
        steps += other.steps
        constants += [float(number) for number in other.constants]
        for one, two in other.operands:
            moved = [places[at] if at >= 0 else at - before for at in (one, two)]
            operands.append((moved[0], moved[1]))
        return places[-1]

    def after(self, inner: Curve) -> Curve:
        """Return this function of another one's result."""
        steps, operands = list(inner.steps), list(inner.operands)
        constants = [float(number) for number in inner.constants]
        start, before = len(steps), len(constants)
        for one, two in self.operands:
            moved = [at + start if at >= 0 else at - before for at in (one, two)]
            operands.append((moved[0], moved[1]))
        numbers = np.array([*constants, *(float(number) for number in self.constants)])
        return Curve((*steps, *self.steps), tuple(operands), numbers)

    def __add__(self, other: Union[Curve, float]) -> Curve:
        return self.combine("add", other)

    def __sub__(self, other: Union[Curve, float]) -> Curve:
        return self.combine("subtract", other)

    def __rsub__(self, other: float) -> Curve:
        return self.combine("subtract", other, swapped=True)

    def __mul__(self, other: Union[Curve, float]) -> Curve:
        return self.combine("multiply", other)

    def __truediv__(self, other: Union[Curve, float]) -> Curve:
        return self.combine("divide", other)

    def __rtruediv__(self, other: float) -> Curve:
        return self.combine("divide", other, swapped=True)

    def __pow__(self, other: Union[Curve, float]) -> Curve:
        return self.combine("power", other)

    def maximum(self, other: Union[Curve, float]) -> Curve:
        """Return the larger of both."""
        return self.combine("maximum", other)

    def minimum(self, other: Union[Curve, float]) -> Curve:
        """Return the smaller of both."""
        return self.combine("minimum", other)


#: The input itself.
X = Curve()


def elu(alpha: float = 1.0, scale: float = 1.0) -> Curve:
    """Return x above zero, alpha * (exp(x) - 1) below, both times a scale."""
    return (X.maximum(0.0) + X.minimum(0.0).of("expm1") * alpha) * scale


def celu(alpha: float = 1.0) -> Curve:
    """Return x above zero, alpha * (exp(x / alpha) - 1) below."""
    return X.maximum(0.0) + (X.minimum(0.0) / alpha).of("expm1") * alpha


def gelu(approximate: bool = False) -> Curve:
    """Return x times the normal distribution function; approximate: by the hyperbolic tangent."""
    if approximate:
        inner = (X + X * X * X * 0.044715) * math.sqrt(2 / math.pi)
        return X * (inner.of("tanh") + 1.0) * 0.5
    return X * ((X * math.sqrt(0.5)).of("erf") + 1.0) * 0.5


def mish() -> Curve:
    """Return x * tanh(softplus(x))."""
    return X * X.of("softplus").of("tanh")


def bent(slope: float, limit: float = math.inf) -> Curve:
    """Return x above zero, slope * x below, and at most a limit."""
    curve = X.maximum(0.0) + X.minimum(0.0) * slope if slope else X.maximum(0.0)
    return curve if limit == math.inf else curve.minimum(limit)


#: Constants of SELU: alpha and scale.
SELU = 1.6732632423543772, 1.0507009873554805

__all__ = ["ONE", "SELU", "TWO", "Curve", "X", "bent", "celu", "elu", "gelu", "mish"]
