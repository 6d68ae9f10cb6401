"""Functions of one number of quantized files: tables of 8 bits, float32 for 16."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Optional

import numpy as np

from ....errors import ModelError
from ....functions.scaling import scale_leaky_relu, scale_logistic_s16
from ....functions.tflm_float import bits
from ....ir.formats import Format, activation_limits
from ..call import OnnxCall
from .building import rescaling
from .float32 import constant, floated, step
from .pairs import shift_of
from .site import NO_FUNCTION, Converter, Site, once
from .symbols import Curve, Function, Int, Pending

#: Steps of float32, one after the other: a function with its arguments, or one of two tensors with
#: the number that the second one is.
Steps = tuple[tuple[str, Any], ...]


def _curve(site: Site, function: Function, steps: Optional[Steps] = None) -> Pending:
    """Return a function of each element; steps: what of float32 computes it."""
    held = site.curve(0)
    real: Optional[Callable[[], Int]] = None
    if held is None or (steps is not None and _has_floats(site)):
        floats = site.floats(0)
        if steps is None:
            raise ModelError(NO_FUNCTION)
        real = lambda: _stepped(site, steps, floats())  # noqa: E731
    curve = None if held is None else Curve(held.x, partial(_after, function, held.function))
    return floated(site, site.shape(), real, curve)


def _has_floats(site: Site) -> bool:
    value: Any = site.call.value(0)
    return not isinstance(value, Pending) or value.real is not None


def _after(function: Function, first: Function, x: np.ndarray) -> np.ndarray:
    """Return one function of another, each rounded to float32."""
    return function(np.asarray(first(x), np.float32))


def _stepped(site: Site, steps: Steps, x: Int) -> Int:
    for function, given in steps:
        if isinstance(given, Mapping):
            x = step(site.builder, function, [x], {"length": x.size, **given})
        else:
            other = constant(site.builder, x, np.full(x.size, given))
            params = {"length": x.size, "activation": 0}
            x = step(site.builder, function, [x, other], params)
    return x


def clamp(site: Site, limits: Callable[[OnnxCall], tuple[float, float]]) -> Pending:
    """Convert Relu and Clip: fused into the call before them, or a table."""
    low, high = limits(site.call)
    if not low <= high:
        raise ModelError(f"its limits {low} and {high} leave no values between them")
    value: Any = site.call.value(0)
    if isinstance(value, Int):  # the file's integers themselves
        return _bounded(site, value, low, high)
    bounds = (("maximum", np.float32(low)), ("minimum", np.float32(high)))
    steps = tuple(bound for bound in bounds if np.isfinite(bound[1]))
    if isinstance(value, Pending) and value.curve is None:
        ends = tuple(min(max(end, low), high) for end in value.ends)
        floats = value.real
        real = None if floats is None else once(lambda: _stepped(site, steps, floats()))
        return replace(value, ends=(ends[0], ends[1]), matrix=None, real=real)
    if not isinstance(value, Pending) and site.integers(0).kind == "s16":
        return _kept(site, low, high)
    return _curve(site, lambda x: np.clip(x, np.float32(low), np.float32(high)), steps)


def _bounded(site: Site, x: Int, low: float, high: float) -> Pending:
    """Return integers of the file between two integers."""
    shift = shift_of(x.element)
    codes = [min(max(end, -_MOST), _MOST) + shift - x.format.zero_point for end in (low, high)]
    least, most = (x.format.scale * code for code in codes)

    def emit(form: Format, name: str, _: tuple[float, float]) -> Int:
        return site.builder.kept(x, (least, most), name)

    return Pending(emit, x.shape)


#: More than any integer of a tensor.
_MOST = 2.0**20


def _kept(site: Site, low: float, high: float) -> Pending:
    """Return the numbers between two limits, of 16 bits."""
    x = site.integers(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params = {**rescaling(x, form), **activation_limits(low, high, form)}
        made = replace(x, name=name, format=form)
        return site.builder.call(f"tflm_relu_{x.kind}", params, [x], made)

    return Pending(emit, x.shape)


def _bound(call: OnnxCall, index: int, default: float) -> float:
    """Return a bound of integers."""
    if not call.has(index):
        return default
    given = call.array(index)
    if given.size != 1 or given.dtype.kind not in "iu":
        raise ModelError("its bounds must be integers, as its input is")
    return float(given.reshape(()))


def _clip_limits(call: OnnxCall) -> tuple[float, float]:
    if isinstance(call.value(0), Int):
        return _bound(call, 1, -math.inf), _bound(call, 2, math.inf)
    return call.limit("min", 1, -math.inf), call.limit("max", 2, math.inf)


def _leaky(site: Site) -> Pending:
    alpha = np.float32(site.call.number("alpha", 0.01))
    steps = (("leaky_relu", {"alpha_bits": bits(float(alpha))}),)
    real = _curve(site, lambda x: np.where(x < 0, alpha * x, x), steps)
    if isinstance(site.call.value(0), Pending) or site.integers(0).kind == "s8" or alpha < 0:
        return real
    x = site.integers(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params, pairs = rescaling(x, form), scale_leaky_relu(x.format.scale, form.scale, alpha)
        for kind, pair in zip(("identity", "alpha"), pairs):
            params.update(zip((f"{kind}_multiplier", f"{kind}_shift"), pair))
        made = replace(x, name=name, format=form)
        return site.builder.call("tflm_leaky_relu_s16", params, [x], made)

    return replace(real, emit=emit)


def _elu(site: Site) -> Pending:
    alpha = site.call.number("alpha", 1.0)
    function: Function = lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0.0)), x)  # noqa: E731
    made = _curve(site, function, _one("elu"))
    if alpha == 1 or made.real is None:
        return made
    floats = site.floats(0)

    def real() -> Int:
        x = floats()
        above = _stepped(site, (("maximum", 0.0),), x)
        steps: Steps = (("minimum", 0.0), ("exp", {}), ("sub", 1.0), ("mul", np.float32(alpha)))
        below = _stepped(site, steps, x)
        return step(site.builder, "add", [above, below], {"length": x.size, "activation": 0})

    return floated(site, site.shape(), real, made.curve)


def _hard_sigmoid(site: Site) -> Pending:
    alpha, beta = site.call.number("alpha", 0.2), site.call.number("beta", 0.5)
    one, two = np.float32(alpha), np.float32(beta)
    steps = (("mul", one), ("add", two), ("maximum", 0.0), ("minimum", 1.0))
    return _curve(site, lambda x: np.clip(one * x + two, 0, 1), steps)


def _s_curve(site: Site, what: str, function: Function) -> Pending:
    """Sigmoid and Tanh: of 16 bits by their own function, where the output has its format."""
    real = _curve(site, function, ((what, {}),))
    if isinstance(site.call.value(0), Pending):
        return real
    x = site.integers(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        whole = (x.kind, form.dtype, form.zero_point) == ("s16", "int16", 0)
        if not (whole and form.scale == 1 / 32768 and x.format.zero_point == 0):
            return real.emit(form, name, ends)
        names = ("input_multiplier", "input_left_shift")
        params = dict(zip(names, scale_logistic_s16(x.format.scale, what == "tanh")))
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
    if way == "tanh":
        return _composed(site, _gelu_by_tanh, _compute_gelu_by_tanh)
    return _composed(site, _gelu, _compute_gelu)


def _composed(site: Site, function: Function, compute: Callable[[Site, Int], Int]) -> Pending:
    """Return a function of each element; compute: adds the calls of float32 that compute it."""
    made = _curve(site, function, ())
    if made.real is None:
        return made
    floats = site.floats(0)
    return floated(site, site.shape(), lambda: compute(site, floats()), made.curve)


def _combine(site: Site, function: str, first: Int, second: Int) -> Int:
    return step(site.builder, function, [first, second], {"length": first.size, "activation": 0})


def _compute_gelu(site: Site, x: Int) -> Int:
    """Return x * (1 + erf(x / sqrt(2))) / 2."""
    erf = _compute_erf(site, _stepped(site, (("mul", math.sqrt(0.5)),), x))
    return _combine(site, "mul", x, _stepped(site, (("add", 1.0), ("mul", 0.5)), erf))


def _compute_gelu_by_tanh(site: Site, x: Int) -> Int:
    """Return x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2."""
    one = math.sqrt(2 / math.pi)
    square = _combine(site, "mul", x, x)
    inner = _combine(
        site, "mul", x, _stepped(site, (("mul", 0.044715 * one), ("add", one)), square)
    )
    share = _stepped(site, (("tanh", {}), ("add", 1.0), ("mul", 0.5)), inner)
    return _combine(site, "mul", x, share)


#: Coefficients of the error function: Abramowitz and Stegun, 7.1.26, within 1.5e-7.
_ERF_SHARE, _ERF = 0.3275911, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)

#: Factor after which limits of -1 and 1 give the sign of a number.
_STEEP = 1e20


def _compute_erf(site: Site, x: Int) -> Int:
    """Return the error function by a polynomial of 1 / (1 + 0.3275911 * |x|) and exp(-x * x)."""
    steps: Steps = (("abs", {}), ("mul", _ERF_SHARE), ("add", 1.0))
    below = _stepped(site, steps, x)
    share = _combine(site, "div", constant(site.builder, x, np.ones(x.size)), below)
    total = _stepped(site, (("mul", _ERF[0]),), share)
    for coefficient in _ERF[1:]:
        total = _combine(site, "mul", _stepped(site, (("add", coefficient),), total), share)
    fall = _stepped(site, (("neg", {}), ("exp", {})), _combine(site, "mul", x, x))
    rest = _stepped(site, (("neg", {}), ("add", 1.0)), _combine(site, "mul", total, fall))
    sign = _stepped(site, (("mul", _STEEP), ("minimum", 1.0), ("maximum", -1.0)), x)
    return _combine(site, "mul", rest, sign)


def _gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    real = x.astype(np.float64)
    cubic = math.sqrt(2 / math.pi) * (real + 0.044715 * real**3)
    result: np.ndarray = 0.5 * real * (1 + np.tanh(cubic))
    return result


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.astype(float)])


def _one(function: str) -> Steps:
    return ((function, {}),)


_CURVES: dict[str, tuple[Function, Optional[Steps]]] = {
    "HardSwish": (
        lambda x: x * np.clip(x / np.float32(6) + np.float32(0.5), 0, 1),
        _one("hard_swish"),
    ),
    "Exp": (lambda x: np.exp(x.astype(np.float64)), _one("exp")),
    "Log": (lambda x: np.log(x.astype(np.float64)), _one("log")),
    "Sqrt": (lambda x: np.sqrt(x.astype(np.float64)), _one("sqrt")),
    "Abs": (np.abs, _one("abs")),
    "Neg": (np.negative, _one("neg")),
    "Softplus": (
        lambda x: np.log1p(np.exp(x.astype(np.float64))),
        (("exp", {}), ("add", 1.0), ("log", {})),
    ),
    "Reciprocal": (np.reciprocal, None),
    "Floor": (np.floor, _one("floor")),
    "Ceil": (np.ceil, _one("ceil")),
}

CURVES: dict[str, Converter] = {
    "Relu": partial(clamp, limits=lambda call: (0.0, math.inf)),
    "Clip": partial(clamp, limits=_clip_limits),
    "LeakyRelu": _leaky,
    "Gelu": _gelu_of,
    "com.microsoft.Gelu": partial(_composed, function=_gelu, compute=_compute_gelu),
    "Erf": partial(_composed, function=_erf, compute=_compute_erf),
    "Elu": _elu,
    "HardSigmoid": _hard_sigmoid,
    "Sigmoid": partial(_s_curve, what="logistic", function=_sigmoid),
    "Tanh": partial(_s_curve, what="tanh", function=lambda x: np.tanh(x.astype(np.float64))),
    **{
        name: partial(_curve, function=function, steps=steps)
        for name, (function, steps) in _CURVES.items()
    },
}
