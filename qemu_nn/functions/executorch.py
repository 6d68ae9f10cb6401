"""Kernels of ExecuTorch's cortex_m backend that CMSIS-NN has not."""

from random import Random

from .base import Function
from .drawing import Drawn, ends, length, limits
from .extents import DTYPES, vector
from .tflm_float import bits

_CASE = {"length": 4096}


def _draw_quantize(rng: Random, function: Function) -> Drawn:
    dtype = function.output.dtype
    return {
        "length": length(rng),
        "zero_point": rng.randint(*limits(dtype)),
        "scale_bits": bits(2.0 ** rng.uniform(-16, 4)),
        **ends(rng, dtype, "quant_min", "quant_max"),
    }


def _draw_div(rng: Random, function: Function) -> Drawn:
    zeros = {name: rng.randint(*limits(function.output.dtype)) for name in _ZEROS}
    return {"length": length(rng), **zeros, "factor_bits": bits(2.0 ** rng.uniform(-6, 8))}


_ZEROS = ("zero_point_1", "zero_point_2", "output_zero_point")


def _quantize(type: str) -> Function:
    own = dict(zip(("quant_min", "quant_max"), limits(DTYPES[type])))
    return Function(
        name=f"executorch_quantize_per_tensor_{type}",
        op="quantize_per_tensor",
        type=f"f32_{type}",
        params=("length", "zero_point", "scale_bits", *own),
        inputs=(vector("input", "float32", "length"),),
        output=vector("output", DTYPES[type], "length"),
        draw=_draw_quantize,
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
        cases=({**_CASE, **dict(zip(_ZEROS, (3, -7, 5))), "factor_bits": bits(20.0)},),
    )


FUNCTIONS = (
    *(_quantize(type) for type in ("s8", "s16")),
    *(_div(type) for type in ("s8", "s16")),
)
