"""Kernels of ExecuTorch's cortex_m backend that CMSIS-NN has not."""

from random import Random

import numpy as np

from .base import Function
from .float_semantics import FloatCall, Meant, Real, define_meaning
from .random_params import Drawn, draw_ends, draw_length, get_limits
from .shapes import DTYPES, vector
from .tflm_float import bits

_CASE = {"length": 4096}


def _draw_quantize(rng: Random, function: Function) -> Drawn:
    dtype = function.output.dtype
    return {
        "length": draw_length(rng),
        "zero_point": rng.randint(*get_limits(dtype)),
        "scale_bits": bits(2.0 ** rng.uniform(-16, 4)),
        **draw_ends(rng, dtype, "quant_min", "quant_max"),
    }


def _draw_div(rng: Random, function: Function) -> Drawn:
    zeros = {name: rng.randint(*get_limits(function.output.dtype)) for name in _ZEROS}
    return {"length": draw_length(rng), **zeros, "factor_bits": bits(2.0 ** rng.uniform(-6, 8))}


_ZEROS = ("zero_point_1", "zero_point_2", "output_zero_point")


def _quantize(type: str) -> Function:
    own = dict(zip(("quant_min", "quant_max"), get_limits(DTYPES[type])))
    return Function(
        name=f"executorch_quantize_per_tensor_{type}",
        op="quantize_per_tensor",
        type=f"f32_{type}",
        params=("length", "zero_point", "scale_bits", *own),
        inputs=(vector("input", "float32", "length"),),
        output=vector("output", DTYPES[type], "length"),
        draw=_draw_quantize,
        meaning=define_meaning(lambda x: x),
        cases=({**_CASE, "zero_point": 3, "scale_bits": bits(0.05), **own},),
    )


def _div(type: str) -> Function:
    dtype = DTYPES[type]
    return Function(
        name=f"executorch_quantized_div_{type}",
        op="quantized_div",
        type=type,
        params=("length", *_ZEROS, "factor_bits"),
        inputs=(vector("input1", dtype, "length"), vector("input2", dtype, "length")),
        output=vector("output", dtype, "length"),
        draw=_draw_div,
        meaning=define_meaning(lambda x, y: np.where(y == 0, 0, x / y), inputs=2),
        cases=({**_CASE, **dict(zip(_ZEROS, (3, -7, 5))), "factor_bits": bits(20.0)},),
    )


def _interpolate_table(call: FloatCall) -> Meant:
    """Interpolate linearly between the results of the table."""
    assert call.weights is not None
    places = call.source.scale * (np.arange(-128, 128) - call.source.zero_point)
    results = call.output.scale * (call.weights.astype(float) - call.output.zero_point)

    def between(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.interp(x, places, results))

    return Meant((Real(between),), (None,))


def _activation() -> Function:
    return Function(
        name="executorch_quantized_activation_s8",
        op="lookup",
        type="s8",
        params=("length",),
        inputs=(vector("input", "int8", "length"),),
        output=vector("output", "int8", "length"),
        weights=vector("lut", "int8", 256),
        note="lut: the results of -128, -127, ... 127.",
        draw=lambda rng, function: {"length": draw_length(rng)},
        cases=(_CASE,),
        meaning=_interpolate_table,
    )


FUNCTIONS = (
    _activation(),
    *(_quantize(type) for type in ("s8", "s16")),
    *(_div(type) for type in ("s8", "s16")),
)
