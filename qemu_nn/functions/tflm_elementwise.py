"""Elementwise operators of TensorFlow Lite Micro that CMSIS-NN has no function for."""

import math
from collections.abc import Mapping
from random import Random
from typing import Callable

import numpy as np

from ..operators import Elementwise
from .base import Function, Params
from .float_semantics import Meaning, Meant, Real, define_meaning, define_operator_meaning
from .random_params import SIZES, Draw, Drawn, draw_activation, draw_length, get_limits
from .scaling import (
    compute_rsqrt_factor,
    div_factor,
    log_softmax_scaling,
    quantize_multiplier,
    scale_hard_swish,
    scale_squared_difference,
)
from .shapes import Array, vector
from .tflm_tables import make_elu_table

_DTYPES = {"s8": "int8", "s16": "int16"}
_ZEROS: tuple[str, ...] = ("input_zero_point", "output_zero_point")
_SCALE: tuple[str, ...] = ("multiplier", "shift")
_BOTH = ("s8", "s16")


def _rows(compute: Callable[[np.ndarray], np.ndarray]) -> Meaning:
    return lambda call: Meant((Real(compute),), (call.sides[0],))


def _log_softmax(x: np.ndarray) -> np.ndarray:
    away = x - x.max(axis=-1, keepdims=True)
    result: np.ndarray = away - np.log(np.exp(away).sum(axis=-1, keepdims=True))
    return result


def _elu_of(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.expm1(x), x)


def _normal(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = x / np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return result


def _ends(type: str) -> Params:
    return dict(zip(("act_min", "act_max"), get_limits(_DTYPES[type])))


# ---- one tensor ----


def _scale(rng: Random, low: float = -7, high: float = -0.01) -> float:
    return math.exp(rng.uniform(low, high))


def _zeros(rng: Random, function: Function) -> Drawn:
    if function.type == "s16":
        return dict.fromkeys(_ZEROS, 0)
    return {name: rng.randint(-128, 127) for name in _ZEROS}


def _draw_hard_swish(rng: Random, function: Function) -> Drawn:
    scale = _scale(rng, -9, 3)
    scales = scale_hard_swish(scale, scale * _scale(rng, -4, 4))
    return {"length": draw_length(rng), **_zeros(rng, function), **scales}


def _draw_abs(rng: Random, function: Function) -> Drawn:
    pair = quantize_multiplier(_scale(rng, -2, 1))
    return {"length": draw_length(rng), **_zeros(rng, function), **dict(zip(_SCALE, pair))}


def _draw_rsqrt(rng: Random, function: Function) -> Drawn:
    """Draw a zero point without negative numbers, because those stop the device."""
    low, high = get_limits(_DTYPES[function.type])
    pair = dict(zip(_SCALE, quantize_multiplier(_scale(rng, -3, 9))))
    zeros = dict(zip(_ZEROS, (low, rng.randint(low, high))))
    return {"length": draw_length(rng), **zeros, **pair}


def _row_sizes(rng: Random) -> Drawn:
    return {"num_rows": rng.choice(SIZES), "row_size": draw_length(rng)}


def _draw_log_softmax(rng: Random, function: Function) -> Drawn:
    return {**_row_sizes(rng), **log_softmax_scaling(_scale(rng))}


def _draw_l2(rng: Random, function: Function) -> Drawn:
    return {**_row_sizes(rng), "input_zero_point": rng.randint(-128, 127)}


def _make_unary(
    name: str,
    op: str,
    type: str,
    params: tuple[str, ...],
    draw: Draw,
    case: Params,
    meaning: Meaning,
    fixed: Mapping[str, int] = {},
) -> Function:
    """Declare a function of the elements of one tensor, or of its rows."""
    rows = "row_size" in params
    axes = ("num_rows", "row_size") if rows else ("length",)
    params = params if rows else ("length", *params)
    sizes = {"num_rows": 64, "row_size": 64} if rows else {"length": 4096}
    return Function(
        name=f"tflm_{name}_{type}",
        op=op,
        type=type,
        params=params,
        inputs=(Array("input", _DTYPES[type], axes),),
        output=Array("output", _DTYPES[type], axes),
        fixed=fixed,
        draw=draw,
        cases=({**sizes, **case},),
        meaning=meaning,
    )


def _elu() -> Function:
    return Function(
        name="tflm_elu_s8",
        op="lookup",
        type="s8",
        params=("length",),
        inputs=(vector("input", "int8", "length"),),
        output=vector("output", "int8", "length"),
        weights=vector("table", "int8", 256),
        note="table: tflm_tables.elu_table().",
        draw=lambda rng, function: {"length": draw_length(rng)},
        tables=lambda: {"table": make_elu_table(0.05, 3, 0.04, -100)[0]},
        cases=({"length": 4096},),
        meaning=define_meaning(_elu_of),
    )


def _absolute(type: str) -> Function:
    case = {**dict.fromkeys(_ZEROS, 0), **dict(zip(_SCALE, quantize_multiplier(0.7)))}
    params = (*_ZEROS, *_SCALE)
    return _make_unary(
        "abs", "abs", type, params, _draw_abs, case, define_meaning(np.abs), _ends(type)
    )


def _inverse_root(type: str) -> Function:
    zeros = dict(zip(_ZEROS, (get_limits(_DTYPES[type])[0], 0)))
    case = {**zeros, **dict(zip(_SCALE, quantize_multiplier(compute_rsqrt_factor(0.05, 0.05))))}
    meaning = define_meaning(lambda x: 1 / np.sqrt(x))
    params = (*_ZEROS, *_SCALE)
    return _make_unary("rsqrt", "rsqrt", type, params, _draw_rsqrt, case, meaning, _ends(type))


def _hard_swish() -> Function:
    scales = scale_hard_swish(0.05, 0.04)
    case = {"input_zero_point": 3, "output_zero_point": -100, **scales}
    meaning = define_meaning(lambda x: x * np.clip(x + 3, 0, 6) / 6)
    params = (*_ZEROS, *scales)
    return _make_unary("hard_swish", "hard_swish", "s8", params, _draw_hard_swish, case, meaning)


def _log_soft() -> Function:
    scales = log_softmax_scaling(0.1)
    params = ("num_rows", "row_size", *scales)
    draw, meaning = _draw_log_softmax, _rows(_log_softmax)
    return _make_unary("log_softmax", "log_softmax", "s8", params, draw, scales, meaning)


#: Rows over their lengths.
NORMALIZED = _rows(_normal)


def _l2() -> Function:
    params = ("num_rows", "row_size", "input_zero_point")
    case = {"input_zero_point": 3}
    return _make_unary("l2_normalization", "l2_norm", "s8", params, _draw_l2, case, NORMALIZED)


# ---- several ----


def _draw_add_n(rng: Random, function: Function) -> Drawn:
    pair = quantize_multiplier(_scale(rng, -2, 1) * 2.0**-19)
    sizes = {"count": rng.randint(1, 15), "length": draw_length(rng)}
    return {**sizes, **_zeros(rng, function), **dict(zip(_SCALE, pair))}


def _add_n() -> Function:
    return Function(
        name="tflm_add_n_s8",
        op="add_n",
        type="s8",
        params=("count", "length", *_ZEROS, *_SCALE),
        inputs=(Array("inputs", "int8", ("count", "length")),),
        output=vector("output", "int8", "length"),
        note="The device takes the inputs' zero point off once more than there are inputs.",
        draw=_draw_add_n,
        cases=(
            {
                **{"count": 3, "length": 4096, "input_zero_point": 3, "output_zero_point": -4},
                **dict(zip(_SCALE, quantize_multiplier(0.5 * 2.0**-19))),
            },
        ),
    )


_INPUTS: tuple[str, ...] = ("input_1_offset", "input_1_mult", "input_1_shift")
_INPUTS += ("input_2_offset", "input_2_mult", "input_2_shift")


def _offsets(rng: Random, type: str) -> Drawn:
    names = ("input_1_offset", "input_2_offset")
    return {name: 0 if type == "s16" else rng.randint(-127, 128) for name in names}


def _draw_difference(rng: Random, function: Function) -> Drawn:
    first, wide = _scale(rng), function.type == "s16"
    second = first * _scale(rng, -2, 2)
    reach = 2 ** (16 if wide else 8) * max(first, second) ** 2
    scales = scale_squared_difference(first, second, reach * _scale(rng), 0 if wide else 7)
    out = 0 if wide else rng.randint(-128, 127)
    p = {
        "block_size": draw_length(rng),
        "out_offset": out,
        **_offsets(rng, function.type),
        **scales,
    }
    return {**p, **draw_activation(rng, function)}


def _difference(type: str) -> Function:
    shift = {"s8": 7, "s16": 0}[type]
    scales = scale_squared_difference(0.05, 0.04, 0.1, shift)
    zeros = {"input_1_offset": 0, "input_2_offset": 0, "out_offset": 0}
    output = ("out_offset", "out_mult", "out_shift", "act_min", "act_max")
    return Function(
        name=f"tflm_squared_difference_{type}",
        op="squared_difference",
        type=type,
        params=(*_INPUTS, "left_shift", *output, "block_size"),
        inputs=tuple(vector(f"input{i}", _DTYPES[type], "block_size") for i in (1, 2)),
        output=vector("output", _DTYPES[type], "block_size"),
        draw=_draw_difference,
        cases=({"block_size": 4096, **zeros, **scales, **_ends(type)},),
        meaning=define_meaning(lambda x, y: (x - y) ** 2, inputs=2),
    )


_DIV: tuple[str, ...] = ("input_1_zero_point", "input_2_zero_point", "output_zero_point")


def _draw_div(rng: Random, function: Function) -> Drawn:
    """Draw numbers above 0, and shifts at which no quotient stops the device."""
    p = {name: rng.randint(-200, -129) for name in _DIV[:2]}
    p.update(output_zero_point=rng.randint(-128, 127))
    pair = {"multiplier": rng.randint(2**30, 2**31 - 1), "shift": rng.randint(8, 21)}
    return {"length": draw_length(rng), **p, **pair, **draw_activation(rng, function)}


def _div() -> Function:
    zeros = dict(zip(_DIV, (-129, -129, -4)))
    scales = dict(zip(_SCALE, quantize_multiplier(div_factor(0.05, 0.02, 0.02))))
    return Function(
        name="tflm_div_s8",
        op="div",
        type="s8",
        params=("length", *_DIV, *_SCALE, "act_min", "act_max"),
        inputs=tuple(vector(f"input{i}", "int8", "length") for i in (1, 2)),
        output=vector("output", "int8", "length"),
        note="Refused where the device stops: by 0, and of numerators that its scales shift away.",
        draw=_draw_div,
        cases=({"length": 4096, **zeros, **{**scales, "shift": 8}, **_ends("s8")},),
        meaning=define_meaning(lambda x, y: x / y, inputs=2),
    )


def _extreme(name: str) -> Function:
    return Function(
        name=f"tflm_{name}_s16",
        op=name,
        type="s16",
        params=("length",),
        inputs=tuple(vector(f"input{i}", "int16", "length") for i in (1, 2)),
        output=vector("output", "int16", "length"),
        draw=lambda rng, function: {"length": draw_length(rng)},
        cases=({"length": 4096},),
        meaning=define_operator_meaning(Elementwise(name), inputs=2),
    )


FUNCTIONS = (
    *(_elu(), _hard_swish(), _log_soft(), _l2(), _add_n(), _div()),
    *(make(type) for make in (_absolute, _inverse_root, _difference) for type in _BOTH),
    *(_extreme(name) for name in ("maximum", "minimum")),
)
