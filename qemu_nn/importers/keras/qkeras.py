"""Layers of QKeras: weights as their quantizers round them, activations as functions of floats."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np

from ...operators import Curve, Operator
from ...operators.curve import X
from . import windows
from .activation import activate
from .building import KerasBuilder
from .config import KerasLayer

#: QKeras adds this number to scales before it divides by them or takes a logarithm.
_EPSILON = np.float32(1e-7)
#: Rounds of the search for the scale of a tensor.
_ROUNDS = 5
#: Threshold of a ternary quantizer without one, and the most bits of a quantizer.
_THRESHOLD, _MOST_BITS = 0.33, 24

#: Quantizer -> its arguments, in order. Rounding at random is for training alone.
_PARAMETERS: Mapping[str, Sequence[str]] = {
    "quantized_bits": (
        *("bits", "integer", "symmetric", "keep_negative", "alpha"),
        *("use_stochastic_rounding", "scale_axis", "qnoise_factor"),
    ),
    "quantized_relu": (
        *("bits", "integer", "use_sigmoid", "negative_slope", "use_stochastic_rounding"),
        *("relu_upper_bound", "is_quantized_clip", "qnoise_factor"),
    ),
    "quantized_tanh": ("bits", "use_stochastic_rounding", "symmetric", "use_real_tanh"),
    "quantized_sigmoid": ("bits", "symmetric", "use_real_sigmoid", "use_stochastic_rounding"),
    "binary": ("use_01", "alpha", "use_stochastic_rounding"),
    "ternary": ("alpha", "threshold", "use_stochastic_rounding", "number_of_unrolls"),
    "quantized_po2": (
        *("bits", "max_value", "use_stochastic_rounding", "quadratic_approximation"),
        *("log2_rounding", "qnoise_factor"),
    ),
}


@dataclass(frozen=True)
class Quantizer:
    """A quantizer of a layer, by its name and its arguments."""

    layer: KerasLayer
    name: str
    options: Mapping[str, Any]

    def number(self, key: str, default: float) -> float:
        """Return a finite number, or true or false as 1 or 0."""
        value = self.options.get(key)
        value = default if value is None else value
        if not isinstance(value, (int, float)) or not abs(value) <= 2**_MOST_BITS:
            raise self.layer.error(f"the {key} of its {self.name} is {value!r}, not a number")
        return float(value)

    def power(self, key: str, default: int, less: float = 0) -> float:
        """Return 2 to the power of an argument, less something."""
        bits = self.number(key, default) - less
        if abs(bits) > _MOST_BITS:
            raise self.layer.error(f"the {key} of its {self.name} is {bits}; at most {_MOST_BITS}")
        return float(2**bits)

    @property
    def alpha(self) -> Any:
        """The scale: a number, "auto", "auto_po2" or None."""
        value = self.options.get("alpha")
        return value if value in (None, "auto", "auto_po2") else self.number("alpha", 1.0)


def _quantizer(layer: KerasLayer, value: Any) -> Optional[Quantizer]:
    """Return the quantizer that an option describes, as an object or a call in Python."""
    if value is None:
        return None
    if isinstance(value, dict):
        name, options = value.get("class_name"), value.get("config")
    else:
        name, options = _parse_call(layer, value)
    if name not in _PARAMETERS or not isinstance(options, dict):
        have = ", ".join(_PARAMETERS)
        raise layer.error(f"its quantizer {str(name)[:60]!r} is not supported; have: {have}")
    made = Quantizer(layer, str(name), options)
    if made.number("qnoise_factor", 1.0) != 1:
        raise layer.error(f"its {name} mixes rounded and other values: set qnoise_factor to 1")
    return made


def _parse_call(layer: KerasLayer, text: Any) -> tuple[str, dict[str, Any]]:
    """Return name and arguments of "quantized_bits(4, 0, alpha=1)"."""
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Name):
            return call.id, {}
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        name, values = call.func.id, [ast.literal_eval(each) for each in call.args]
        named = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise layer.error(f"its quantizer {text!r} is not a call of a quantizer") from None
    return name, {**dict(zip(_PARAMETERS.get(name, ()), values)), **named}


# Weights


def _axes(array: np.ndarray, quantizer: Quantizer) -> tuple[int, ...]:
    """Return the axes that share a scale: all but the last, or but the chosen one."""
    if array.ndim == 1:
        return (0,)
    kept = int(quantizer.number("scale_axis", array.ndim - 1)) % array.ndim
    return tuple(axis for axis in range(array.ndim) if axis != kept)


def _power_of_two(scale: np.ndarray) -> np.ndarray:
    rounded: np.ndarray = np.exp2(np.rint(np.log2(scale + _EPSILON)))
    return rounded


def _fit_scale(x: np.ndarray, q: np.ndarray, alpha: str, quantizer: Quantizer) -> np.ndarray:
    """Return the scale of integers with the least square error."""
    if x.ndim > 1:
        axes = _axes(x, quantizer)
        products, squares = (np.mean(a * q, axes, keepdims=True) for a in (x, q))
    else:
        products, squares = x * q, q * q
    scale: np.ndarray = products / (squares + _EPSILON)
    return _power_of_two(scale) if alpha == "auto_po2" else scale


def _round_bits(x: np.ndarray, quantizer: Quantizer) -> np.ndarray:
    """Return weights of quantized_bits."""
    bits, alpha = quantizer.number("bits", 8), quantizer.alpha
    whole = np.float32(quantizer.power("integer", 0))
    if alpha in ("auto", "auto_po2"):
        most = np.float32(2 ** (bits - 1) - 1)
        x = x / whole
        scale = np.max(np.abs(x), _axes(x, quantizer), keepdims=True) * np.float32(2) / (2 * most)
        scale = _power_of_two(scale) if alpha == "auto_po2" else scale
        for _ in range(_ROUNDS if alpha == "auto_po2" else 1):
            steps = np.minimum(np.floor(np.abs(x) / scale + np.float32(0.5)), most)
            integers = np.sign(x) * steps
            if alpha == "auto_po2":
                scale = _fit_scale(x, integers, alpha, quantizer)
        found: np.ndarray = whole * integers * scale
        return found
    return _bits_curve(quantizer).evaluate(x)


def _round_binary(x: np.ndarray, quantizer: Quantizer) -> np.ndarray:
    """Return weights of binary."""
    signs = np.where(x < 0, np.float32(-1), np.float32(1))
    if quantizer.number("use_01", 0):
        signs = (signs + 1) / 2
    alpha = quantizer.alpha
    fitted = alpha in ("auto", "auto_po2")
    scale = (
        _fit_scale(x, signs, alpha, quantizer)
        if fitted
        else np.float32(1 if alpha is None else alpha)
    )
    found: np.ndarray = scale * signs
    return found


def _round_ternary(x: np.ndarray, quantizer: Quantizer) -> np.ndarray:
    """Return weights of ternary."""
    alpha = quantizer.alpha
    if alpha not in ("auto", "auto_po2"):
        return _ternary_curve(quantizer).evaluate(x)
    axes = tuple(range(x.ndim - 1)) or None
    scale = np.float32(2) * np.max(np.abs(x), axes, keepdims=True) / np.float32(3)
    scale = _power_of_two(scale) if alpha == "auto_po2" else scale
    rounds = int(quantizer.number("number_of_unrolls", _ROUNDS))
    if not 1 <= rounds <= 100:
        raise quantizer.layer.error(f"its ternary has {rounds} rounds; have: 1 to 100")
    for _ in range(rounds):
        held = np.abs(scale * np.rint(x / scale)) >= scale / 2
        q = held * np.sign(x)
        scale = _fit_scale(x, q, alpha, replace(quantizer, options={}))
    found: np.ndarray = scale * q
    return found


def _round_power(x: np.ndarray, quantizer: Quantizer) -> np.ndarray:
    """Return weights of quantized_po2: powers of two."""
    most, quadratic = (
        quantizer.options.get("max_value"),
        quantizer.number("quadratic_approximation", 0),
    )
    signed = most is None or quantizer.number("max_value", 0) > 1
    span = 2 ** int(np.clip(quantizer.number("bits", 8) - 1 - signed, 0, _MOST_BITS))
    low, high = -span, span - 1
    high = 2 * (high // 2) if quadratic else high
    size = np.maximum(np.abs(x), _EPSILON)
    size = size if most is None else np.minimum(size, np.float32(quantizer.number("max_value", 0)))
    if quantizer.options.get("log2_rounding", "rnd") not in ("rnd", "floor"):
        raise quantizer.layer.error("the log2_rounding of its quantized_po2 must be rnd or floor")
    rounded = np.floor if quantizer.options.get("log2_rounding") == "floor" else np.rint
    exponent = np.clip(rounded(np.log2(np.sqrt(size) if quadratic else size)), low, high)
    exponent = np.where(np.abs(x) < _EPSILON, low, exponent * (2 if quadratic else 1))
    found: np.ndarray = np.where(x < 0, -1, 1) * np.exp2(exponent)
    return found


_ROUNDED: Mapping[str, Callable[[np.ndarray, Quantizer], np.ndarray]] = {
    "quantized_bits": _round_bits,
    "binary": _round_binary,
    "ternary": _round_ternary,
    "quantized_po2": _round_power,
}


def _round_weights(layer: KerasLayer, key: str, array: np.ndarray, kernel: bool) -> np.ndarray:
    """Return weights as the quantizer of an option rounds them.

    kernel: true for weights, whose scale QKeras chooses if the quantizer has none.
    """
    quantizer = _quantizer(layer, layer.options.get(key))
    if quantizer is None:
        return array
    if quantizer.name not in _ROUNDED:
        have = ", ".join(_ROUNDED)
        raise layer.error(f"its {key} {quantizer.name!r} is not supported; have: {have}")
    if kernel and quantizer.alpha is None and quantizer.name != "quantized_po2":
        quantizer = replace(quantizer, options={**quantizer.options, "alpha": "auto_po2"})
    if not np.isfinite(array).all():
        raise layer.error("its weights must be finite")
    with np.errstate(all="ignore"):
        found = _ROUNDED[quantizer.name](array.astype(np.float32), quantizer)
    if not np.isfinite(found).all():
        raise layer.error(f"its {key} {quantizer.name!r} gives weights that are not finite")
    return found.astype(np.float32)


# Activations


def _clip(curve: Curve, low: float, high: float) -> Curve:
    return curve.maximum(float(low)).minimum(float(high))


def _number_alpha(quantizer: Quantizer) -> float:
    """Return the scale of a quantizer of activations."""
    alpha = quantizer.alpha
    if isinstance(alpha, str):
        raise quantizer.layer.error(
            f"its {quantizer.name} has alpha={alpha!r}, a scale of the data of each batch; give "
            "a number"
        )
    return 1.0 if alpha is None else float(alpha)


def _sign() -> Curve:
    """Return 1 from 0 on, else -1."""
    return X.combine("at_least", 0.0) * 2.0 - 1.0


def _bits_curve(quantizer: Quantizer) -> Curve:
    negative = float(bool(quantizer.number("keep_negative", 1)))
    scale, whole = _number_alpha(quantizer), quantizer.power("integer", 0)
    if quantizer.number("bits", 8) <= negative:
        return _sign() * scale if negative else X.combine("at_least", 0.0) * scale
    steps = quantizer.power("bits", 8, negative)
    low = negative * (quantizer.number("symmetric", 0) - steps)
    rounded = (X * steps / whole).of("round")
    return _clip(rounded, low, steps - 1) * whole / steps * scale


def _relu_curve(quantizer: Quantizer) -> Curve:
    slope = quantizer.number("negative_slope", 0.0)
    steps = quantizer.power("bits", 8, float(slope != 0))
    whole = quantizer.power("integer", 0)
    if not quantizer.number("is_quantized_clip", 1):
        raise quantizer.layer.error("its quantized_relu has is_quantized_clip=False; have: True")
    hard = bool(quantizer.number("use_sigmoid", 0))
    p = _hard_sigmoid(X * (1 / whole)) * steps if hard else X * steps / whole

    def grow(curve: Curve) -> Curve:
        return curve * 2.0 - 1.0 if hard else curve

    made = _clip(grow(p.of("round") * 1 / steps), 0.0, 1 - 1 / steps) * whole
    if not slope:
        return made
    below = grow((p * slope).of("round") * (1 / (slope * steps)))
    return made + _clip(below, -1.0, 0.0) * (whole * slope)


def _hard_sigmoid(curve: Curve) -> Curve:
    return _clip(curve * 0.5 + 0.5, 0.0, 1.0)


def _tanh_curve(quantizer: Quantizer) -> Curve:
    steps = quantizer.power("bits", 8, 1)
    real = bool(quantizer.number("use_real_tanh", 0))
    p = X.of("tanh") if real else _hard_sigmoid(X) * 2.0 - 1.0
    low = -1.0 + quantizer.number("symmetric", 0) / steps
    return _clip((p * steps).of("round") * (1 / steps), low, 1 - 1 / steps)


def _sigmoid_curve(quantizer: Quantizer) -> Curve:
    steps = quantizer.power("bits", 8)
    p = X.of("sigmoid") if quantizer.number("use_real_sigmoid", 0) else _hard_sigmoid(X)
    low = quantizer.number("symmetric", 0) / steps
    return _clip((p * steps).of("round") * (1 / steps), low, 1 - 1 / steps)


def _binary_curve(quantizer: Quantizer) -> Curve:
    scale = _number_alpha(quantizer)
    return (X.combine("at_least", 0.0) if quantizer.number("use_01", 0) else _sign()) * scale


def _ternary_curve(quantizer: Quantizer) -> Curve:
    scale = _number_alpha(quantizer)
    least = quantizer.number("threshold", _THRESHOLD)
    return X.of("abs").combine("at_least", least) * X.of("sign") * scale


_CURVES: Mapping[str, Callable[[Quantizer], Operator]] = {
    "quantized_bits": _bits_curve,
    "quantized_relu": _relu_curve,
    "quantized_tanh": _tanh_curve,
    "quantized_sigmoid": _sigmoid_curve,
    "binary": _binary_curve,
    "ternary": _ternary_curve,
}


def _add_activation(layer: KerasLayer, build: KerasBuilder, source: str) -> str:
    """Add the activation of a layer: a quantizer, or a function of Keras."""
    value = layer.options.get("activation")
    if isinstance(value, str) and "(" not in value and value not in _PARAMETERS:
        return activate(layer, build, source, layer.name)
    quantizer = _quantizer(layer, value)
    if quantizer is None or quantizer.name not in _CURVES:
        name, have = getattr(quantizer, "name", None), ", ".join(_CURVES)
        raise layer.error(f"its activation {name!r} is not supported; have: {have}")
    return build.add(layer.name, _CURVES[quantizer.name](quantizer), source)


def _activation(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    return _add_activation(layer, build, inputs[0])


def _weighted(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Convert a layer with weights as the layer of Keras with the rounded weights."""
    kernel = "depthwise_quantizer" if layer.kind == "QDepthwiseConv2D" else "kernel_quantizer"
    keys = [kernel, "bias_quantizer"][: len(layer.weights)]
    weights = [
        _round_weights(layer, key, array, key == kernel) for key, array in zip(keys, layer.weights)
    ]
    plain = layer.options.get("activation") in (None, "linear")
    options = {**layer.options, "activation": "linear"}
    inner = replace(
        layer,
        kind=layer.kind[1:],
        name=layer.name if plain else f"{layer.name}/linear",
        options=options,
        weights=[*weights, *layer.weights[len(keys) :]],
    )
    made = windows.CONVERTERS[inner.kind][1](inner, build, inputs)
    return made if plain else _add_activation(layer, build, made)


CONVERTERS: dict[str, tuple[bool, Callable[[KerasLayer, KerasBuilder, list[str]], str]]] = {
    "QActivation": (False, _activation),
    **dict.fromkeys(("QConv1D", "QConv2D", "QDense", "QDepthwiseConv2D"), (True, _weighted)),
}
