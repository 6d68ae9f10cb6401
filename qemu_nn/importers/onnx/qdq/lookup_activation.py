"""Functions of one number of quantized files: tables of 8 bits, float32 for 16."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Optional

import numpy as np

from ....errors import ModelError
from ....functions.scaling import leaky_relu_scaling, logistic_scaling_s16
from ....functions.tflm_float import bits
from ....ir.formats import Format, activation_limits
from ..call import Call
from .building import rescaling
from .float32 import constant, step, through
from .site import Converter, Site
from .symbols import Int, Pending

Curve = Callable[[np.ndarray], np.ndarray]


#: Steps of float32, one after the other: a function with its arguments, or one of two tensors with
#: the number that the second one is.
Steps = tuple[tuple[str, Any], ...]


def _curve(site: Site, function: Curve, steps: Optional[Steps] = None) -> Pending:
    """Return a function of each integer; steps: what of float32 computes it, for 16 bits."""
    x = site.integers(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        if (x.kind, form.dtype) == ("s8", "int8"):
            return site.builder.table(x, form, name, function)
        if steps is None:
            raise ModelError(
                "there is no function of 16 bits, and none of float32, for it: give its input and "
                "its output 8 bits, with a pair of QuantizeLinear and DequantizeLinear at each; "
                "then a table computes it"
            )
        _check(function, x.format)
        return through(site.builder, [x], form, name, partial(_stepped, site, steps))

    return Pending(emit, x.shape)


def _check(function: Curve, form: Format) -> None:
    low, high = form.limits
    with np.errstate(all="ignore"):
        values = function(form.dequantize(np.arange(low, high + 1)).astype(np.float32))
    if not np.isfinite(np.asarray(values, np.float32)).all():
        raise ModelError("its function has no value for some of the input's integers")


def _stepped(site: Site, steps: Steps, x: Int) -> Int:
    for function, given in steps:
        if isinstance(given, Mapping):
            x = step(site.builder, function, [x], {"length": x.size, **given})
        else:
            other = constant(site.builder, x, np.full(x.size, given))
            params = {"length": x.size, "activation": 0}
            x = step(site.builder, function, [x, other], params)
    return x


def clamp(site: Site, limits: Callable[[Call], tuple[float, float]]) -> Pending:
    """Convert Relu and Clip: fused into the call before them, or a table."""
    low, high = limits(site.call)
    if not low <= high:
        raise ModelError(f"its limits {low} and {high} leave no values between them")
    value: Any = site.call.value(0)
    if isinstance(value, Pending) and value.clamps:
        ends = tuple(min(max(end, low), high) for end in value.ends)
        return replace(value, ends=(ends[0], ends[1]), matrix=None)
    if site.integers(0).kind == "s16":
        return _kept(site, low, high)
    return _curve(site, lambda x: np.clip(x, np.float32(low), np.float32(high)))


def _kept(site: Site, low: float, high: float) -> Pending:
    """Return the numbers between two limits, of 16 bits."""
    x = site.integers(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params = {**rescaling(x, form), **activation_limits(low, high, form)}
        made = replace(x, name=name, format=form)
        return site.builder.call(f"tflm_relu_{x.kind}", params, [x], made)

    return Pending(emit, x.shape)


def _clip_limits(call: Call) -> tuple[float, float]:
    return call.limit("min", 1, -math.inf), call.limit("max", 2, math.inf)


def _leaky(site: Site) -> Pending:
    alpha = np.float32(site.call.number("alpha", 0.01))
    x = site.integers(0)
    if x.kind == "s8" or alpha < 0:
        steps = (("leaky_relu", {"alpha_bits": bits(float(alpha))}),)
        return _curve(site, lambda x: np.where(x < 0, alpha * x, x), steps)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params, pairs = rescaling(x, form), leaky_relu_scaling(x.format.scale, form.scale, alpha)
        for kind, pair in zip(("identity", "alpha"), pairs):
            params.update(zip((f"{kind}_multiplier", f"{kind}_shift"), pair))
        made = replace(x, name=name, format=form)
        return site.builder.call("tflm_leaky_relu_s16", params, [x], made)

    return Pending(emit, x.shape)


def _elu(site: Site) -> Pending:
    alpha = site.call.number("alpha", 1.0)
    steps: Optional[Steps] = _one("elu") if alpha == 1 else None
    function: Curve = lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0.0)), x)  # noqa: E731
    return _curve(site, function, steps)


def _hard_sigmoid(site: Site) -> Pending:
    alpha, beta = site.call.number("alpha", 0.2), site.call.number("beta", 0.5)
    one, two = np.float32(alpha), np.float32(beta)
    steps = (("mul", one), ("add", two), ("maximum", 0.0), ("minimum", 1.0))
    return _curve(site, lambda x: np.clip(one * x + two, 0, 1), steps)


def _s_curve(site: Site, what: str, function: Curve) -> Pending:
    """Sigmoid and Tanh: of 16 bits by their own function, where the output has its format."""
    real = _curve(site, function, ((what, {}),))
    x = site.integers(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        whole = (x.kind, form.dtype, form.zero_point) == ("s16", "int16", 0)
        if not (whole and form.scale == 1 / 32768 and x.format.zero_point == 0):
            return real.emit(form, name, ends)
        names = ("input_multiplier", "input_left_shift")
        params = dict(zip(names, logistic_scaling_s16(x.format.scale, what == "tanh")))
        made = replace(x, name=name, format=form)
        return site.builder.call(f"tflm_{what}_s16", {"length": x.size, **params}, [x], made)

    return replace(real, emit=emit)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = 1 / (1 + np.exp(-x.astype(np.float64)))
    return found


def _gelu(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(float)])


def _gelu_of(site: Site) -> Pending:
    """Gelu, exact or by a hyperbolic tangent."""
    way = site.call.text("approximate", "none")
    if way not in ("none", "tanh"):
        raise ModelError(f"its attribute 'approximate' is {way!r}; have: none, tanh")
    return _curve(site, _gelu if way == "none" else _gelu_by_tanh)


def _gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    real = x.astype(np.float64)
    cubic = math.sqrt(2 / math.pi) * (real + 0.044715 * real**3)
    result: np.ndarray = 0.5 * real * (1 + np.tanh(cubic))
    return result


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.astype(float)])


def _one(function: str) -> Steps:
    return ((function, {}),)


_CURVES: dict[str, tuple[Curve, Optional[Steps]]] = {
    "HardSwish": (
        lambda x: x * np.clip(x / np.float32(6) + np.float32(0.5), 0, 1),
        _one("hard_swish"),
    ),
    "com.microsoft.Gelu": (_gelu, None),
    "Erf": (_erf, None),
    "Exp": (lambda x: np.exp(x.astype(np.float64)), _one("exp")),
    "Log": (lambda x: np.log(x.astype(np.float64)), _one("log")),
    "Sqrt": (lambda x: np.sqrt(x.astype(np.float64)), _one("sqrt")),
    "Abs": (np.abs, _one("abs")),
    "Neg": (np.negative, _one("neg")),
    "Softplus": (
        lambda x: np.log1p(np.exp(x.astype(np.float64))),
        (("exp", {}), ("add", 1.0), ("log", {})),
    ),
    "Floor": (np.floor, _one("floor")),
    "Ceil": (np.ceil, _one("ceil")),
}

CURVES: dict[str, Converter] = {
    "Relu": partial(clamp, limits=lambda call: (0.0, math.inf)),
    "Clip": partial(clamp, limits=_clip_limits),
    "LeakyRelu": _leaky,
    "Gelu": _gelu_of,
    "Elu": _elu,
    "HardSigmoid": _hard_sigmoid,
    "Sigmoid": partial(_s_curve, what="logistic", function=_sigmoid),
    "Tanh": partial(_s_curve, what="tanh", function=lambda x: np.tanh(x.astype(np.float64))),
    **{
        name: partial(_curve, function=function, steps=steps)
        for name, (function, steps) in _CURVES.items()
    },
}
