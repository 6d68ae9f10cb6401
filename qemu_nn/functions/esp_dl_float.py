"""Operators of ESP-DL that compute in floats; the table of all functions is in esp_dl.py."""

from __future__ import annotations

from random import Random
from typing import Callable

import numpy as np

from ..operators import Pool, Resize
from .base import Function
from .esp_dl import NOT_CALLED
from .float_semantics import (
    FloatCall,
    Meaning,
    Meant,
    Real,
    define_meaning,
    get_pads,
)
from .random_params import SIZES, Drawn, draw_length
from .s8_windows import SIDES, draw_windows
from .shapes import DTYPES, Array, vector
from .tflm_float import bits
from .tflm_reduce import AXES, KEPT, define_reduction, draw_axes

_TYPES = ("s8", "s16")

#: Curve -> its number in csrc/include/qn_params_s.h, its function, and arguments as floats.
_CURVES: dict[str, tuple[int, Meaning, dict[str, float]]] = {}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


def _alpha(call: FloatCall, name: str = "alpha_bits") -> float:
    return float(np.int32(call.params[name]).view(np.float32))


def _mean_elu(call: FloatCall) -> Meant:
    alpha = _alpha(call)
    return define_meaning(lambda x: np.where(x >= 0, x, alpha * np.expm1(x)))(call)


def _mean_leaky(call: FloatCall) -> Meant:
    alpha = _alpha(call)
    return define_meaning(lambda x: np.where(x >= 0, x, alpha * x))(call)


def _mean_hard_sigmoid(call: FloatCall) -> Meant:
    alpha, beta = _alpha(call), _alpha(call, "beta_bits")
    return define_meaning(lambda x: np.clip(alpha * x + beta, 0, 1))(call)


_CURVES.update(
    sigmoid=(0, define_meaning(_sigmoid), {}),
    tanh=(1, define_meaning(np.tanh), {}),
    exp=(2, define_meaning(np.exp), {}),
    log=(3, define_meaning(np.log), {}),
    sqrt=(4, define_meaning(np.sqrt), {}),
    elu=(5, _mean_elu, {"alpha_bits": 1.0}),
    leaky_relu=(6, _mean_leaky, {"alpha_bits": 0.1}),
    hard_swish=(7, define_meaning(lambda x: x * np.clip(x / 6 + 0.5, 0, 1)), {}),
    hard_sigmoid=(8, _mean_hard_sigmoid, {"alpha_bits": 0.2, "beta_bits": 0.5}),
    swish=(9, define_meaning(lambda x: x * _sigmoid(x)), {}),
)

_WINDOWS = ("batches", "input_h", "input_w", "channels", "filter_h", "filter_w", *SIDES)
_WINDOWS += ("stride_h", "stride_w", "pad_h", "pad_w")
_IMAGES = ("batches", "input_h", "input_w", "channels", "output_h", "output_w")
_INVERSES = ("inverse_h_bits", "inverse_w_bits")


# ---- random arguments ----


def _draw_curve(rng: Random, function: Function) -> Drawn:
    low = -8 if function.type == "s8" else -16
    p = {"block_size": draw_length(rng), "chip": rng.randrange(3)}
    p.update({name: rng.randint(low, 0) for name in ("input_exponent", "output_exponent")})
    return {**p, **{n: bits(rng.uniform(0, 1)) for n in function.params if n.endswith("_bits")}}


def _draw_convert(rng: Random, function: Function) -> Drawn:
    p = {"block_size": draw_length(rng), "right_shift": rng.randint(-9, 9)}
    return {**p, **({"chip": rng.randrange(3)} if "chip" in function.params else {})}


def _draw_pool(rng: Random, function: Function) -> Drawn:
    p = {**draw_windows(rng), "channels": rng.choice(SIZES)}
    own = {name: p[name] for name in _WINDOWS}
    return {**own, "right_shift": rng.randint(-2, 2), "chip": rng.randrange(3)}


def _draw_reduce(rng: Random, function: Function) -> Drawn:
    p = draw_axes(rng, function)
    if "chip" in function.params:
        p.update(chip=rng.randrange(3))
    if "right_shift" in function.params:
        p.update(right_shift=rng.randint(-2, 5))
    for name in ("input_exponent", "output_exponent"):
        if name in function.params:
            p[name] = rng.randint(-8, 0)
    return p


def _draw_resize(rng: Random, function: Function) -> Drawn:
    linear = "axes" in function.params
    p = {name: rng.choice(SIZES) + (name.startswith("input") and linear) for name in _IMAGES}
    p.update(chip=rng.randrange(3), input_exponent=-5, output_exponent=-5 + rng.randint(-2, 1))
    if linear:
        p.update(align_corners=rng.randrange(2), axes=rng.choice((1, 2, 2)))
        if p["axes"] == 1:
            p.update(input_h=1, output_h=1)
    p.update({f"inverse_{a}_bits": bits(p[f"input_{a}"] / p[f"output_{a}"]) for a in "hw"})
    return p


def _draw_softmax(rng: Random, function: Function) -> Drawn:
    p = {name: rng.choice(SIZES) for name in ("outer", "size", "inner")}
    return {**p, "input_exponent": rng.randint(-12, -1)}


# ---- declarations ----


def _curve(name: str, type: str) -> Function:
    kind, meaning, given = _CURVES[name]
    more = {key: bits(value) for key, value in given.items()}
    exponents = {"input_exponent": -4, "output_exponent": -4}
    return Function(
        name=f"esp_dl_{name}_{type}",
        op="dl_curve",
        type=type,
        params=("block_size", *exponents, *more, "chip"),
        defaults={"chip": 0},
        fixed={"kind": kind, **dict.fromkeys({"alpha_bits", "beta_bits"} - set(more), 0)},
        inputs=(vector("input", DTYPES[type], "block_size"),),
        output=vector("output", DTYPES[type], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_curve,
        cases=({"block_size": 4096, **exponents, **more, "chip": 0},),
        meaning=meaning,
    )


def _convert(source: str, target: str) -> Function:
    name = "quantize" if source == "f32" else "dequantize"
    chip = {"chip": 0} if source == "f32" else {}
    return Function(
        name=f"esp_dl_{name}_{source}_{target}",
        op=f"dl_{name}",
        type=f"{source}_{target}",
        params=("block_size", "right_shift", *chip),
        defaults=chip,
        fixed={} if chip else {"chip": 0},
        inputs=(vector("input", DTYPES[source], "block_size"),),
        output=vector("output", DTYPES[target], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_convert,
        cases=({"block_size": 4096, "right_shift": -4, **chip},),
        meaning=define_meaning(lambda x: x),
    )


def _pool(type: str) -> Function:
    sides = dict(zip(_WINDOWS, (1, 24, 24, 16, 2, 2, 12, 12, 2, 2, 0, 0)))
    return Function(
        name=f"esp_dl_average_pool_{type}",
        op="dl_average_pool",
        type=type,
        params=(*_WINDOWS, "right_shift", "chip"),
        defaults={"chip": 0},
        inputs=(Array("input", DTYPES[type], ("batches", "input_h", "input_w", "channels")),),
        output=Array("output", DTYPES[type], ("batches", *SIDES, "channels")),
        note="Cells outside of the image count as 0.",
        not_called=NOT_CALLED,
        draw=_draw_pool,
        cases=({**sides, "right_shift": 0, "chip": 0},),
        meaning=_mean_pool,
    )


def _mean_pool(call: FloatCall) -> Meant:
    p = call.params
    top, left, bottom, right = get_pads(p)
    around = (top, left, max(bottom, 0), max(right, 0))
    kernel, stride = ((p[f"{name}_h"], p[f"{name}_w"]) for name in ("filter", "stride"))
    return Meant((Pool("average", kernel, stride, around, count_pads=True),), (call.image,))


#: Reductions computed in floats -> their functions of numpy.
_FLOAT_REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "l2": lambda x, axis: np.sqrt(np.sum(np.square(x), axis)),
    "prod": np.prod,
    "log_sum": lambda x, axis: np.log(np.sum(x, axis)),
    "log_sum_exp": lambda x, axis: np.log(np.sum(np.exp(x), axis)),
}

#: Reductions whose sums are shifted, besides those that numpy has.
_SHIFTED_REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "l1": lambda x, axis: np.sum(np.abs(x), axis),
    "sum_square": lambda x, axis: np.sum(np.square(x), axis),
}


def _find_reduction(name: str) -> Meaning:
    of = {**_FLOAT_REDUCTIONS, **_SHIFTED_REDUCTIONS}.get(name)
    if of is None:
        return define_reduction(name)
    return lambda call: Meant((Real(lambda x: of(x, axis=(1, 3))),), (call.sides[0],))


def _reduce(name: str, type: str) -> Function:
    is_choice = name in ("max", "min")
    scale = {} if is_choice else {"right_shift": 0, "chip": 0}
    if name in _FLOAT_REDUCTIONS:
        scale = {"input_exponent": -4, "output_exponent": -4, "chip": 0}
    unused = {"right_shift", "input_exponent", "output_exponent", "chip"} - set(scale)
    small = is_choice and type == "s8"
    zeros = ("input_zero_point", "output_zero_point", "multiplier", "shift")
    return Function(
        name=f"esp_dl_reduce_{name}_{type}",
        op=f"reduce_{name}" if small else f"dl_reduce_{name}",
        type=type,
        params=(*AXES, *scale),
        defaults={"chip": 0} if scale else {},
        fixed=dict.fromkeys(zeros if small else unused, 0),
        inputs=(Array("input", DTYPES[type], AXES),),
        output=Array("output", DTYPES[type], KEPT),
        not_called=NOT_CALLED,
        draw=_draw_reduce,
        cases=({**dict(zip(AXES, (1, 49, 1, 1, 64))), **scale},),
        meaning=_find_reduction(name),
    )


def _resize(name: str) -> Function:
    linear = {"align_corners": 0, "axes": 2} if name == "linear" else {}
    exponents = {"input_exponent": -5, "output_exponent": -5}
    params = (*_IMAGES, *_INVERSES, *linear, *exponents, "chip")
    sides = {**dict(zip(_IMAGES, (1, 12, 12, 16, 24, 24))), **dict.fromkeys(_INVERSES, bits(0.5))}
    return Function(
        name=f"esp_dl_resize_{name}_s8",
        op=f"dl_resize_{name}",
        type="s8",
        params=params,
        defaults={"chip": 0},
        fixed={} if linear else {"align_corners": 0, "axes": 2},
        inputs=(Array("input", "int8", ("batches", "input_h", "input_w", "channels")),),
        output=Array("output", "int8", ("batches", *SIDES, "channels")),
        not_called=NOT_CALLED,
        draw=_draw_resize,
        cases=({**sides, **linear, **exponents, "chip": 0},),
        meaning=_mean_resize,
    )


def _mean_resize(call: FloatCall) -> Meant:
    size = call.params["output_h"], call.params["output_w"]
    if call.function.op == "dl_resize_nearest":
        return Meant((Resize("nearest", size, False, False),), (call.image,))
    corners = bool(call.params["align_corners"])
    return Meant((Resize("bilinear", size, corners, not corners),), (call.image,))


def _softmax(name: str, type: str) -> Function:
    sides = ("outer", "size", "inner")
    return Function(
        name=f"esp_dl_{name}_{type}_f32",
        op=f"dl_{name}",
        type=f"{type}_f32",
        params=(*sides, "input_exponent"),
        inputs=(Array("input", DTYPES[type], sides),),
        output=Array("output", "float32", sides),
        not_called=NOT_CALLED,
        draw=_draw_softmax,
        cases=({"outer": 1, "size": 10, "inner": 1, "input_exponent": -4},),
    )


FUNCTIONS = (
    *(_curve(name, type) for name in _CURVES for type in _TYPES),
    *(_convert("f32", type) for type in _TYPES),
    *(_convert(type, "f32") for type in _TYPES),
    *(_pool(type) for type in _TYPES),
    *(_reduce(name, type) for name in ("mean", "sum", "max", "min") for type in _TYPES),
    *(_reduce(name, type) for name in _SHIFTED_REDUCTIONS for type in _TYPES),
    *(_reduce(name, type) for name in _FLOAT_REDUCTIONS for type in _TYPES),
    *(_resize(name) for name in ("nearest", "linear")),
    *(_softmax(name, type) for name in ("softmax", "log_softmax") for type in _TYPES),
)
