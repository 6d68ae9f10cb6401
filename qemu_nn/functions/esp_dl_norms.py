"""Comparisons, powers, normalizations and updates of slices of ESP-DL; the table of all functions
is in esp_dl.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Callable

import numpy as np

from .base import Function
from .esp_dl import NOT_CALLED
from .float_semantics import FloatCall, Meaning, Meant, Real, define_meaning
from .random_params import SIZES, Drawn, draw_length
from .shapes import DTYPES, Array, vector
from .tflm_float import bits

_TYPES = ("s8", "s16")

#: Comparison -> its number in csrc/include/qn_params_s.h and its function.
_COMPARISONS: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "equal": (0, np.equal),
    "greater": (1, np.greater),
    "greater_or_equal": (2, np.greater_equal),
    "less": (3, np.less),
    "less_or_equal": (4, np.less_equal),
}

#: Reduction of ScatterND -> its number.
UPDATES = {"none": 0, "add": 1, "mul": 2, "max": 3, "min": 4}


# ---- random arguments ----


def _draw_length(rng: Random, function: Function) -> Drawn:
    return {"block_size": draw_length(rng)}


def _draw_powers(rng: Random, function: Function) -> Drawn:
    low = -6 if function.type == "s8" else -12
    names = ("input1_exponent", "input2_exponent", "output_exponent")
    p = {name: rng.randint(low, 0) for name in names}
    return {"block_size": draw_length(rng), **p, "chip": rng.randrange(3)}


def _draw_norm(rng: Random, function: Function) -> Drawn:
    sides = ("outer", "size", "inner")
    p: Drawn = {name: rng.choice(SIZES) for name in sides if name in function.params}
    exponents = (name for name in function.params if name.endswith("_exponent"))
    p.update({name: rng.randint(-9, -1) for name in exponents}, chip=rng.randrange(3))
    if "p" in function.params:
        p["p"] = rng.randint(1, 2)
    if "epsilon_bits" in function.params:
        p["epsilon_bits"] = bits(rng.choice((1e-5, 1e-6, 1e-3)))
    return p


def _draw_scatter(rng: Random, function: Function) -> Drawn:
    slice_ = rng.choice(SIZES)
    p = {"block_size": slice_ + _PLACES - 1, "slices": rng.choice(SIZES), "slice": slice_}
    return {**p, "kind": rng.randrange(5)}


# ---- meanings in floats ----


def _mean_norm(of: Callable[[np.ndarray, dict[str, int]], np.ndarray]) -> Meaning:
    def mean(call: FloatCall) -> Meant:
        return Meant((Real(lambda x: of(x, dict(call.params))),), (call.sides[0],))

    return mean


def _divide_by_norm(x: np.ndarray, params: dict[str, int]) -> np.ndarray:
    size = np.linalg.norm(x, params["p"], axis=2, keepdims=True)
    return np.asarray(np.divide(x, size, out=np.zeros_like(x), where=size > 0))


# ---- declarations ----


def _compare(name: str, type: str) -> Function:
    kind, of = _COMPARISONS[name]
    return Function(
        name=f"esp_dl_{name}_{type}",
        op="dl_compare",
        type=type,
        params=("block_size",),
        fixed={"kind": kind},
        inputs=tuple(vector(each, DTYPES[type], "block_size") for each in ("input1", "input2")),
        output=vector("output", "bool", "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_length,
        cases=({"block_size": 4096},),
        meaning=define_meaning(of, inputs=2),
    )


def _power(name: str, type: str) -> Function:
    exponents = {"input1_exponent": -4, "input2_exponent": -4, "output_exponent": -4}
    return Function(
        name=f"esp_dl_{name}_{type}",
        op=f"dl_{name}",
        type=type,
        params=("block_size", *exponents, "chip"),
        defaults={"chip": 0},
        inputs=tuple(vector(each, DTYPES[type], "block_size") for each in ("input1", "input2")),
        output=vector("output", DTYPES[type], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_powers,
        cases=({"block_size": 4096, **exponents, "chip": 0},),
        meaning=define_meaning(np.power if name == "pow" else np.fmod, inputs=2),
    )


def _norm(name: str, type: str, exponents: Sequence[str], scale: str, **own: Any) -> Function:
    """Return a normalization of rows; scale: the type of its weights."""
    more = {**dict.fromkeys(exponents, -5), "epsilon_bits": bits(1e-5), "chip": 0}
    sides = ("outer", "size")
    return Function(
        name=f"esp_dl_{name}_{type}",
        op=f"dl_{name}",
        type=type,
        params=(*sides, *more),
        defaults={"chip": 0},
        inputs=(Array("input", DTYPES[type], sides),),
        weights=vector("scale", scale, "size"),
        output=Array("output", DTYPES[type], sides),
        not_called=NOT_CALLED,
        draw=_draw_norm,
        cases=({"outer": 16, "size": 64, **more},),
        **own,
    )


def _layer_norm(type: str) -> Function:
    exponents = ("input_exponent", "scale_exponent", "bias_exponent", "output_exponent")
    bias = Array("bias", DTYPES[type], ("size",), optional=True)
    fixed = {"inner": 1, "p": 2}
    return _norm("layer_norm", type, exponents, DTYPES[type], bias=bias, fixed=fixed)


def _rms_norm(type: str) -> Function:
    fixed = {"inner": 1, "p": 2, "scale_exponent": 0, "bias_exponent": 0}
    exponents = ("input_exponent", "output_exponent")
    return _norm("rms_norm", type, exponents, "float32", fixed=fixed)


def _lp_norm(type: str) -> Function:
    sides = ("outer", "size", "inner")
    unused = ("input_exponent", "scale_exponent", "bias_exponent", "epsilon_bits")
    more = {"output_exponent": -7, "p": 2, "chip": 0}
    return Function(
        name=f"esp_dl_lp_norm_{type}",
        op="dl_lp_norm",
        type=type,
        params=(*sides, *more),
        defaults={"chip": 0},
        fixed=dict.fromkeys(unused, 0),
        inputs=(Array("input", DTYPES[type], sides),),
        output=Array("output", DTYPES[type], sides),
        not_called=NOT_CALLED,
        draw=_draw_norm,
        cases=({"outer": 16, "size": 64, "inner": 1, **more},),
        meaning=_mean_norm(_divide_by_norm),
    )


#: Places from which random calls of scatter draw offsets.
_PLACES = 16


def _scatter(type: str) -> Function:
    return Function(
        name=f"esp_dl_scatter_{type}",
        op="dl_scatter",
        type=type,
        params=("block_size", "slices", "slice", "kind"),
        inputs=(
            vector("data", DTYPES[type], "block_size"),
            Array("updates", DTYPES[type], ("slices", "slice")),
        ),
        weights=Array("offsets", "int32", ("slices",), below=_PLACES),
        output=vector("output", DTYPES[type], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_scatter,
        cases=({"block_size": 1024 + _PLACES - 1, "slices": 4, "slice": 1024, "kind": 0},),
    )


FUNCTIONS = (
    *(_compare(name, type) for name in _COMPARISONS for type in _TYPES),
    *(_power(name, type) for name in ("pow", "mod") for type in _TYPES),
    *(make(type) for make in (_layer_norm, _rms_norm, _lp_norm, _scatter) for type in _TYPES),
)
