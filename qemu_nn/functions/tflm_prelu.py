"""PRELU of TensorFlow Lite Micro, with constant or computed slopes."""

import math
from dataclasses import dataclass
from random import Random

import numpy as np

from ..operators import Operator, PRelu, Shape
from .base import Function
from .float_semantics import FloatCall, Meant
from .random_params import SIZES, Drawn, draw_length, get_limits
from .scaling import quantize_multiplier
from .shapes import DTYPES, Array, vector

_ZERO_POINTS: tuple[str, ...] = ("input_zero_point", "output_zero_point")
_SCALE = dict(zip(("multiplier", "shift"), quantize_multiplier(0.7)))
_PAIRS = {f"{which}_{name}": n for which in ("identity", "alpha") for name, n in _SCALE.items()}


def _draw(rng: Random, function: Function) -> Drawn:
    drawn = {"outer": rng.choice(SIZES), "inner": draw_length(rng)}
    low, high = get_limits("int8") if function.type == "s8" else (0, 0)
    drawn.update({name: rng.randint(low, high) for name in _ZERO_POINTS})
    drawn["alpha_zero_point"] = rng.randint(*get_limits("int8"))
    for which, scale in (("identity", 1.0), ("alpha", 1 / 128)):
        factor = quantize_multiplier(scale * math.exp(rng.uniform(-2, 1)))
        drawn[f"{which}_multiplier"], drawn[f"{which}_shift"] = factor
    return drawn


@dataclass(frozen=True)
class _Slopes(Operator):
    """PRELU: the first input if positive, else its product with the second."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of both."""
        return inputs[0]

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return element by element."""
        x, slope = inputs
        return np.where(x >= 0, x, x * slope)


def _find_slopes(call: FloatCall) -> Meant:
    """Return the slopes: the multiplier of the negative half relative to the positive half."""
    assert call.weights is not None
    whole = call.factor("identity_multiplier", "identity_shift") or 1.0
    steps = call.weights.astype(float) - call.params["alpha_zero_point"]
    slopes = steps * call.factor("alpha_multiplier", "alpha_shift") / whole
    return Meant((PRelu(slopes.reshape(-1)),), (call.sides[0],))


def _compute_prelu(call: FloatCall) -> Meant:
    return Meant((_Slopes(),), tuple(call.sides))


def _prelu(type: str, computed: bool) -> Function:
    sides = ("outer", "inner")
    slopes = Array("alpha", "int8", sides)
    zeros = dict(zip(_ZERO_POINTS, (3, -4) if type == "s8" else (0, 0)))
    return Function(
        name=f"tflm_prelu_tensor_{type}" if computed else f"tflm_prelu_{type}",
        op="prelu_tensor" if computed else "prelu",
        type=type,
        params=(*sides, *_ZERO_POINTS, "alpha_zero_point", *_PAIRS),
        inputs=(Array("input", DTYPES[type], sides), *((slopes,) if computed else ())),
        output=Array("output", DTYPES[type], sides),
        weights=None if computed else vector("alpha", "int8", "inner"),
        draw=_draw,
        cases=({"outer": 576, "inner": 16, **zeros, "alpha_zero_point": 5, **_PAIRS},),
        meaning=_compute_prelu if computed else _find_slopes,
    )


FUNCTIONS = tuple(_prelu(type, computed) for computed in (False, True) for type in ("s8", "s16"))
