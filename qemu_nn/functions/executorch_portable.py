"""Portable operators of ExecuTorch on float32 whose order of computation no further
function has.
"""

from random import Random

from .base import Function
from .random_params import SIZES, Drawn
from .shapes import Array
from .tflm_float import REAL_NOTE, bits

_IMAGE: tuple[str, ...] = ("batches", "input_h", "input_w", "input_c")
_MADE: tuple[str, ...] = ("output_h", "output_w", "output_c")
_FILTER: tuple[str, ...] = ("filter_h", "filter_w", "filter_c")
_WINDOW: tuple[str, ...] = (
    *("stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w"),
)
_ENDS: tuple[str, ...] = ("batches", "input_h", "input_w", "channels", "output_h", "output_w")
_SCALES: tuple[str, ...] = ("scale_h_bits", "scale_w_bits", "align_corners")
_PLANES: tuple[str, ...] = ("planes", "input_h", "input_w", "output_h", "output_w")


# ---- random arguments ----


def _draw_convolve(rng: Random, function: Function) -> Drawn:
    groups, taken, made = (rng.randint(1, 4) for _ in range(3))
    transposed = function.fixed["transposed"]
    drawn = {"batches": rng.randint(1, 3), "input_c": groups * taken, "output_c": groups * made}
    drawn["filter_c"] = made if transposed else taken
    for axis in "hw":
        sides = {"input": rng.randint(1, 8), "filter": rng.randint(1, 4)}
        sides.update(stride=rng.randint(1, 3), pad=rng.randint(0, 3), dilation=rng.randint(1, 2))
        sides["output"] = rng.randint(1, 9)
        drawn.update({f"{name}_{axis}": n for name, n in sides.items()})
    return drawn


def _draw_upsample(rng: Random, function: Function) -> Drawn:
    drawn = {"batches": rng.randint(1, 3), "channels": rng.choice(SIZES)}
    drawn["align_corners"] = rng.randrange(2)
    for axis in "hw":
        side, made = rng.randint(1, 9), rng.randint(1, 17)
        drawn.update({f"input_{axis}": side, f"output_{axis}": made})
        ratio = (side - 1) / max(made - 1, 1) if drawn["align_corners"] else side / made
        drawn[f"scale_{axis}_bits"] = bits(ratio)
    return drawn


def _draw_norm(rng: Random, function: Function) -> Drawn:
    return {"num_rows": rng.choice(SIZES), "row_size": rng.choice(SIZES), "eps_bits": bits(1e-5)}


def _draw_adaptive(rng: Random, function: Function) -> Drawn:
    return {name: rng.choice(SIZES) for name in _PLANES}


# ---- declarations ----


def _convolution(name: str, transposed: int) -> Function:
    outer = "input_c" if transposed else "output_c"
    case = {"batches": 1, "input_c": 16, "output_c": 16, "filter_c": 16}
    ends = {"input": 8, "output": 8, "filter": 3, "stride": 1, "pad": 1, "dilation": 1}
    sides = _IMAGE[1:] if transposed else _MADE
    return Function(
        name=f"executorch_{name}_f32",
        op="float_convolve",
        type="f32",
        params=(*_IMAGE, *_MADE, *_FILTER, *_WINDOW),
        inputs=(Array("input", "float32", ("batches", "input_c", "input_h", "input_w")),),
        weights=Array("filter", "float32", (outer, "filter_c", "filter_h", "filter_w")),
        bias=Array("bias", "float32", ("output_c",)),
        output=Array("output", "float32", ("batches", "output_c", "output_h", "output_w")),
        fixed={"transposed": transposed},
        macs=("batches", *sides, *_FILTER),
        note=REAL_NOTE,
        draw=_draw_convolve,
        cases=({**case, **{f"{side}_{axis}": n for side, n in ends.items() for axis in "hw"}},),
    )


FUNCTIONS = (
    _convolution("convolution", 0),
    _convolution("transpose_convolution", 1),
    Function(
        name="executorch_upsample_bilinear_f32",
        op="float_upsample",
        type="f32",
        params=(*_ENDS, *_SCALES),
        inputs=(Array("input", "float32", _ENDS[:4]),),
        output=Array("output", "float32", ("batches", "output_h", "output_w", "channels")),
        note=REAL_NOTE,
        draw=_draw_upsample,
        cases=(dict(zip((*_ENDS, *_SCALES), (1, 8, 8, 16, 16, 16, bits(0.5), bits(0.5), 0))),),
    ),
    Function(
        name="executorch_layer_norm_f32",
        op="float_layer_norm",
        type="f32",
        params=("num_rows", "row_size", "eps_bits"),
        inputs=(Array("input", "float32", ("num_rows", "row_size")),),
        weights=Array("weight", "float32", ("row_size",)),
        bias=Array("bias", "float32", ("row_size",)),
        output=Array("output", "float32", ("num_rows", "row_size")),
        note=REAL_NOTE,
        draw=_draw_norm,
        cases=({"num_rows": 16, "row_size": 64, "eps_bits": bits(1e-5)},),
    ),
    Function(
        name="executorch_adaptive_average_f32",
        op="float_adaptive_pool",
        type="f32",
        params=_PLANES,
        inputs=(Array("input", "float32", _PLANES[:3]),),
        output=Array("output", "float32", ("planes", "output_h", "output_w")),
        note=REAL_NOTE,
        draw=_draw_adaptive,
        cases=(dict(zip(_PLANES, (16, 8, 8, 3, 3))),),
    ),
)
