"""Functions of TensorFlow Lite Micro without a counterpart in CMSIS-NN."""

import math
from collections.abc import Mapping
from random import Random
from typing import Optional

import numpy as np

from ..operators import Identity, Operator, Relu, Sigmoid, Tanh
from .base import Function, Params
from .float_semantics import FloatCall, Meaning, Meant, define_operator_meaning
from .random_params import Draw, Drawn, draw_length, get_limits
from .s8_elementwise import combine
from .scaling import (
    compute_rescale_factors,
    quantize_multiplier,
    scale_logistic,
    scale_logistic_s16,
)
from .shapes import DTYPES, Array, vector
from .tflm_reduce import AXES, IMAGE, KEPT, define_reduction, draw_axes

_ZERO_POINTS: tuple[str, ...] = ("input_zero_point", "output_zero_point")
_SCALE: tuple[str, ...] = ("multiplier", "shift")
_LIMITS = {"s8": (-128, 127), "s16": (-(2**15), 2**15 - 1), "u8": (0, 255)}
_LIMITS["s32"] = (-(2**31), 2**31 - 1)
_REQUANTIZED = (
    *("s8_s8", "s8_u8", "u8_s8", "s8_s16", "s16_s8", "s16_s16"),
    *("s16_s32", "s8_s32", "s32_s8", "s32_s16"),
)

#: Functions that change only the format.
_SAME = define_operator_meaning(Identity())

#: Parameters of tensors with usual scales.
_CASE_ZEROS = {"input_zero_point": 3, "output_zero_point": -4}
_CASE_SCALE = dict(zip(_SCALE, quantize_multiplier(0.7)))
_PAIRS = {
    f"{which}_{name}": n for which in ("identity", "alpha") for name, n in _CASE_SCALE.items()
}

# ---- random arguments ----


def _draw_zeros(rng: Random, function: Function) -> Drawn:
    ends = {"input": function.inputs[0].dtype, "output": function.output.dtype}
    most = 2**30
    allowed = {end: np.clip(get_limits(dtype), -most, most) for end, dtype in ends.items()}
    return {f"{end}_zero_point": rng.randint(*map(int, allowed[end])) for end in ends}


def _draw_factor(rng: Random, function: Function) -> tuple[int, int]:
    """Return one that mostly keeps the input's size in the output's range."""
    wide = np.dtype(function.output.dtype).itemsize - np.dtype(function.inputs[0].dtype).itemsize
    return quantize_multiplier(math.exp(rng.uniform(-2, 1)) * 256.0 ** min(wide, 1))


def _draw_requantize(rng: Random, function: Function) -> Drawn:
    multiplier, shift = _draw_factor(rng, function)
    p = {"length": draw_length(rng), "multiplier": multiplier, "shift": shift}
    p.update(_draw_zeros(rng, function))
    if "act_min" in function.params:
        low, high = get_limits(function.output.dtype)
        p.update(act_min=rng.randint(low, high), act_max=high)
    return p


def _draw_leaky_relu(rng: Random, function: Function) -> Drawn:
    p = {"length": draw_length(rng), **_draw_zeros(rng, function)}
    for which in ("identity", "alpha"):
        p[f"{which}_multiplier"], p[f"{which}_shift"] = _draw_factor(rng, function)
    p["alpha_multiplier"] *= rng.choice((1, 1, -1))
    return p


def _draw_rescale(rng: Random, function: Function) -> Drawn:
    return {"length": draw_length(rng), "output_zero_point": rng.randint(0, 255)}


def _draw_logistic(rng: Random, function: Function) -> Drawn:
    scale = math.exp(rng.uniform(-7, 0))
    if function.type == "s16":
        names: tuple[str, ...] = ("input_multiplier", "input_left_shift")
        wide = scale / 256 if rng.randrange(4) else 2.0**-12
        numbers: tuple[int, ...] = scale_logistic_s16(wide, "tanh" in function.name)
    else:
        names = ("input_multiplier", "input_left_shift", "input_range_radius", "input_zero_point")
        numbers = (*scale_logistic(scale), rng.randint(-128, 127))
    return {"length": draw_length(rng), **dict(zip(names, numbers))}


def _draw_mean(rng: Random, function: Function) -> Drawn:
    p = draw_axes(rng, function)
    p["multiplier"], p["shift"] = _draw_factor(rng, function)
    return {**p, **_draw_zeros(rng, function)}


# ---- declarations ----


def _make_elementwise(
    name: str,
    op: str,
    type: str,
    params: tuple[str, ...],
    draw: Draw,
    case: Params,
    meaning: Meaning = _SAME,
    fixed: Mapping[str, int] = {},
    makes: Optional[tuple[float, int]] = None,
) -> Function:
    """Return a function of each element: of one type, or from one to another."""
    source, target = type.split("_") if "_" in type else (type, type)
    return Function(
        name=name,
        op=op,
        type=type,
        params=("length", *params),
        inputs=(vector("input", DTYPES[source], "length"),),
        output=vector("output", DTYPES[target], "length"),
        fixed=fixed,
        draw=draw,
        cases=({"length": 4096, **case},),
        meaning=meaning,
        makes=makes,
    )


#: Prefix of the names of functions that change the format of a tensor.
REQUANTIZE = "tflm_requantize_"


def _requantize(types: str) -> Function:
    limits = dict(zip(("act_min", "act_max"), _LIMITS[types.split("_")[1]]))
    params = (*_ZERO_POINTS, *_SCALE)
    case = {**dict.fromkeys(_ZERO_POINTS, 0), **_CASE_SCALE}
    return _make_elementwise(
        name=REQUANTIZE + types,
        op="requantize",
        type=types,
        params=params,
        draw=_draw_requantize,
        case=case,
        fixed=limits,
    )


def _relu(type: str) -> Function:
    ends = dict(zip(("act_min", "act_max"), _LIMITS[type]))
    return _make_elementwise(
        name=f"tflm_relu_{type}",
        op="requantize",
        type=f"{type}_{type}",
        params=(*_ZERO_POINTS, *_SCALE, *ends),
        draw=_draw_requantize,
        case={**_CASE_ZEROS, **_CASE_SCALE, **ends},
    )


def _leaky(call: FloatCall) -> Meant:
    whole = call.factor("identity_multiplier", "identity_shift") or 1.0
    slope = call.factor("alpha_multiplier", "alpha_shift") / whole
    return Meant((Relu(slope=slope),), (None,))


def _leaky_relu(type: str) -> Function:
    return _make_elementwise(
        name=f"tflm_leaky_relu_{type}",
        op="leaky_relu",
        type=type,
        params=(*_ZERO_POINTS, *_PAIRS),
        draw=_draw_leaky_relu,
        case={**_CASE_ZEROS, **_PAIRS},
        meaning=_leaky,
    )


def _logistic_case(op: str, type: str) -> Params:
    """Draw arguments of usual scales."""
    if type == "s16":
        multiplier, shift = scale_logistic_s16(0.0003, op == "tanh")
        return {"input_multiplier": multiplier, "input_left_shift": shift}
    names = ("input_multiplier", "input_left_shift", "input_range_radius")
    return {**dict(zip(names, scale_logistic(0.05))), "input_zero_point": 3}


#: Op -> its operator, and the scale and zero point of the result by type.
_CURVES: Mapping[str, tuple[Operator, dict[str, tuple[float, int]]]] = {
    "logistic": (Sigmoid(), {"s8": (2.0**-8, -128), "s16": (2.0**-15, 0)}),
    "tanh": (Tanh(), {"s8": (2.0**-7, 0), "s16": (2.0**-15, 0)}),
}


def _logistic(op: str, type: str) -> Function:
    operator, makes = _CURVES[op]
    own = ("input_zero_point", "input_range_radius")
    scale = ("input_multiplier", "input_left_shift")
    return _make_elementwise(
        name=f"tflm_{op}_{type}",
        op=op,
        type=type,
        params=(*own, *scale) if type == "s8" else scale,
        draw=_draw_logistic,
        case=_logistic_case(op, type),
        meaning=define_operator_meaning(operator),
        fixed={} if type == "s8" else dict.fromkeys(own, 0),
        makes=makes[type],
    )


def _mean(op: str, type: str) -> Function:
    folded = "multiplier and shift: of the scales alone; the count is folded in here."
    return Function(
        name=f"tflm_{op}_{type}",
        op=op,
        type=type,
        params=(*AXES, *_ZERO_POINTS, *_SCALE),
        inputs=(Array("input", DTYPES[type], AXES),),
        output=Array("output", DTYPES[type], KEPT),
        note=folded if op == "mean" else "",
        draw=_draw_mean,
        cases=({**IMAGE, **_CASE_ZEROS, **_CASE_SCALE},),
        meaning=define_reduction(op),
    )


_BOTH = ("s8", "s16")

FUNCTIONS = (
    combine("tflm_add_u8", "elementwise_add", "u8"),
    *(combine(f"tflm_sub_{type}", "elementwise_sub", type) for type in _BOTH),
    *(_requantize(types) for types in _REQUANTIZED),
    Function(
        name="tflm_rescale_u8",
        op="rescale",
        type="u8",
        params=("length", "output_zero_point"),
        inputs=(vector("input", "uint8", "length"),),
        output=vector("output", "uint8", "length"),
        weights=vector("factors", "int32", 2),
        note="Of TensorFlow Lite 1.15. factors: scaling.rescale_factors().",
        draw=_draw_rescale,
        tables=lambda: {"factors": compute_rescale_factors(0.02, 128, 0.03)},
        cases=({"length": 4096, "output_zero_point": 128},),
        meaning=_SAME,
    ),
    *(_relu(type) for type in _BOTH),
    *(_leaky_relu(type) for type in _BOTH),
    *(_logistic(op, type) for op in ("logistic", "tanh") for type in _BOTH),
    *(_mean(op, type) for op in ("mean", "sum") for type in _BOTH),
)
