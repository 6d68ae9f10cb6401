"""Element-wise operators and functions of quantized files."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Callable

import numpy as np

from ....errors import ModelError
from ....functions.scaling import add_scaling, quantize_multiplier, softmax_scaling
from ....functions.tflm_float import bits
from ....ir.formats import Format, activation_limits
from ...arguments import sides
from ..call import Call
from .site import Converter, Site
from .values import Fixed, Int, Pending, broadcast

#: The format that softmax writes.
_SOFTMAX = Format("int8", 1 / 256, -128)


def _pair(site: Site) -> tuple[Int, Int]:
    """Both operands in one shape and order."""
    shapes = []
    for index in range(2):
        value: Any = site.call.value(index)
        if isinstance(value, Fixed):
            shapes.append(value.data.shape[1:] if value.data.ndim > 3 else value.data.shape)
        else:
            shapes.append(site.integers(index).shape)
    whole = broadcast(*shapes)
    one, two = site.operands(len(whole))
    return site.builder.spread(one, whole), site.builder.spread(two, whole)


def _made(name: str, like: Int, form: Format) -> Int:
    return replace(like, name=name, format=form)


def _combined(
    site: Site, function: str, scaling: Callable[[float, float, float], dict[str, int]]
) -> Pending:
    """A call of both operands; scaling: its multipliers, of the scales of all three tensors."""
    one, two = _pair(site)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params = {
            **scaling(one.format.scale, two.format.scale, form.scale),
            **{"input_1_offset": -one.format.zero_point, "input_2_offset": -two.format.zero_point},
            **{"out_offset": form.zero_point, "block_size": one.size},
            **activation_limits(*ends, form),
        }
        return site.builder.call(function, params, [one, two], _made(name, one, form))

    return Pending(emit, one.shape, clamps=True)


def add(site: Site, sign: int = 1) -> Pending:
    """Add and Sub; of a product of matrices and a constant, its bias."""
    for index in range(2):
        value: Any = site.call.value(index)
        other: Any = site.call.value(1 - index)
        product = isinstance(value, Pending) and value.matrix is not None and sign == 1
        if product and isinstance(other, (Fixed, np.ndarray)):
            return replace(value, emit=value.matrix(other), matrix=None)

    def scaling(one: float, two: float, made: float) -> dict[str, int]:
        params = add_scaling(one, two, made)
        return {**params, "input_2_mult": sign * params["input_2_mult"]}

    return _combined(site, "arm_elementwise_add_s8", scaling)


def multiply(site: Site) -> Pending:
    """Mul."""

    def scaling(one: float, two: float, made: float) -> dict[str, int]:
        return dict(zip(("out_mult", "out_shift"), quantize_multiplier(one * two / made)))

    return _combined(site, "arm_elementwise_mul_s8", scaling)


def divide(site: Site) -> Pending:
    """Div, which CMSIS-NN has not: the kernel that ExecuTorch has."""
    one, two = _pair(site)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        factor = one.format.scale / (two.format.scale * form.scale)
        zeros = (one.format.zero_point, two.format.zero_point, form.zero_point)
        params = dict(zip(("zero_point_1", "zero_point_2", "output_zero_point"), zeros))
        params.update(length=one.size, factor_bits=bits(factor))
        made = _made(name, one, form)
        return site.builder.call("executorch_quantized_div_s8", params, [one, two], made)

    return Pending(emit, one.shape)


def choose(site: Site, function: str) -> Pending:
    """Max and Min: of operands in the format of the output."""
    if len(site.call.inputs) != 2:
        raise ModelError(f"it has {len(site.call.inputs)} inputs; only 2 are supported")
    one, two = _pair(site)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        first = site.builder.rescaled(one, form, f"{name}/first")
        second = site.builder.rescaled(two, form, f"{name}/second")
        params = {**sides("input1", first.memory), **sides("input2", second.memory)}
        return site.builder.call(function, params, [first, second], _made(name, one, form))

    return Pending(emit, one.shape)


def softmax(site: Site) -> Pending:
    """Softmax along the last axis."""
    x, axis = site.integers(0), site.call.integer("axis", -1)
    rank = len(x.shape) + 1
    plain = axis in (-1, rank - 1) or (site.builder.opset < 13 and rank == 2)
    if not plain:
        raise ModelError(f"it runs along axis {axis}; the functions take the last one")
    x = site.builder.ordered(x, range(len(x.shape)))
    row = x.shape[-1]

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        mult, shift, least = softmax_scaling(1.0, x.format.scale)
        params = {"num_rows": x.size // row, "row_size": row}
        params.update(mult=mult, shift=shift, diff_min=least)
        made = _made(name if form == _SOFTMAX else f"{name}/softmax", x, _SOFTMAX)
        made = site.builder.call("arm_softmax_s8", params, [x], made)
        return site.builder.rescaled(made, form, name)

    return Pending(emit, x.shape)


# ---- functions of one number ----

Curve = Callable[[np.ndarray], np.ndarray]


def _curve(site: Site, function: Curve) -> Pending:
    x = site.integers(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        return site.builder.table(x, form, name, function)

    return Pending(emit, x.shape)


def clamp(site: Site, limits: Callable[[Call], tuple[float, float]]) -> Pending:
    """Relu and Clip: fused into the call in front of them, or a table."""
    low, high = limits(site.call)
    if not low <= high:
        raise ModelError(f"its limits {low} and {high} leave no values between them")
    value: Any = site.call.value(0)
    if isinstance(value, Pending) and value.clamps:
        ends = tuple(min(max(end, low), high) for end in value.ends)
        return replace(value, ends=(ends[0], ends[1]), matrix=None)
    return _curve(site, lambda x: np.clip(x, np.float32(low), np.float32(high)))


def _clip_limits(call: Call) -> tuple[float, float]:
    return call.limit("min", 1, -math.inf), call.limit("max", 2, math.inf)


def _leaky(site: Site) -> Pending:
    alpha = np.float32(site.call.number("alpha", 0.01))
    return _curve(site, lambda x: np.where(x < 0, alpha * x, x))


def _elu(site: Site) -> Pending:
    alpha = site.call.number("alpha", 1.0)
    return _curve(site, lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0.0)), x))


def _hard_sigmoid(site: Site) -> Pending:
    alpha, beta = site.call.number("alpha", 0.2), site.call.number("beta", 0.5)
    one, two = np.float32(alpha), np.float32(beta)
    return _curve(site, lambda x: np.clip(one * x + two, 0, 1))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = 1 / (1 + np.exp(-x.astype(np.float64)))
    return found


def _gelu(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(float)])


_CURVES: dict[str, Curve] = {
    "Sigmoid": _sigmoid,
    "Tanh": lambda x: np.tanh(x.astype(np.float64)),
    "HardSwish": lambda x: x * np.clip(x / np.float32(6) + np.float32(0.5), 0, 1),
    "Gelu": _gelu,
    "com.microsoft.Gelu": _gelu,
    "Erf": lambda x: np.array([math.erf(v) for v in x.astype(float)]),
    "Exp": lambda x: np.exp(x.astype(np.float64)),
    "Log": lambda x: np.log(x.astype(np.float64)),
    "Sqrt": lambda x: np.sqrt(x.astype(np.float64)),
    "Abs": np.abs,
    "Neg": np.negative,
    "Softplus": lambda x: np.log1p(np.exp(x.astype(np.float64))),
    "Floor": np.floor,
    "Ceil": np.ceil,
}

ELEMENTWISE: dict[str, Converter] = {
    "Add": add,
    "Sub": partial(add, sign=-1),
    "Mul": multiply,
    "Div": divide,
    "Max": partial(choose, function="arm_maximum_s8"),
    "Min": partial(choose, function="arm_minimum_s8"),
    "Softmax": softmax,
    "Relu": partial(clamp, limits=lambda call: (0.0, math.inf)),
    "Clip": partial(clamp, limits=_clip_limits),
    "LeakyRelu": _leaky,
    "Elu": _elu,
    "HardSigmoid": _hard_sigmoid,
    **{name: partial(_curve, function=function) for name, function in _CURVES.items()},
}
