"""Operators of TensorFlow Lite Micro on rows, images and matrices of float32."""

from dataclasses import dataclass
from random import Random

import numpy as np

from ..operators import Operator, Shape
from .base import Function
from .float_semantics import FloatCall, Meant, Real
from .random_params import SIZES, Drawn
from .s8_broadcast import make_width_constant
from .shapes import Array, Either, Extent, Largest
from .tflm_elementwise import NORMALIZED
from .tflm_float import ACTIVATIONS, REAL_NOTE, bits

#: Operations, in the order of csrc/include/qn_params_f.h.
POOLS = ("average", "max", "l2")
SUMS = ("sum", "mean", "reduce_max", "reduce_min")

_ROWS: tuple[str, ...] = ("num_rows", "row_size")
_ENDS: tuple[str, ...] = ("input_h", "input_w", "channels", "output_h", "output_w")
_WINDOW: tuple[str, ...] = ("filter_h", "filter_w", "stride_h", "stride_w", "pad_h", "pad_w")
_FLAGS: tuple[str, ...] = ("align_corners", "half_pixel_centers")
_KEPT: tuple[Extent, ...] = ("kept_0", "kept_1", "kept_2")
_AXES: tuple[str, ...] = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")
_OUTER: tuple[str, ...] = ("lhs_n", "lhs_h", "rhs_n", "rhs_h")
_INNER: tuple[str, ...] = ("rows", "depth", "columns")

_INPUT = Array("input", "float32", ("batches", "input_h", "input_w", "channels"))
_OUTPUT = Array("output", "float32", ("batches", "output_h", "output_w", "channels"))


# ---- random arguments ----


def _draw_sizes(names: tuple[str, ...], rng: Random) -> Drawn:
    return {name: rng.choice(SIZES) for name in names}


def _draw_softmax(rng: Random, function: Function) -> Drawn:
    beta = {"beta_bits": bits(rng.uniform(0.1, 2))} if "beta_bits" in function.params else {}
    return {**_draw_sizes(_ROWS, rng), **beta}


def _draw_pool(rng: Random, function: Function) -> Drawn:
    drawn = {"batches": rng.randint(1, 3), "channels": rng.choice(SIZES)}
    for axis in "hw":
        size, kernel, stride = rng.randint(1, 11), rng.randint(1, 5), rng.randint(1, 3)
        pad = rng.randint(0, kernel - 1)
        sides = {"input": size, "filter": kernel, "stride": stride, "pad": pad}
        sides["output"] = (size + pad - 1) // stride + 1
        drawn.update({f"{name}_{axis}": n for name, n in sides.items()})
    return {**drawn, "activation": rng.randrange(len(ACTIVATIONS))}


def _draw_resize(rng: Random, function: Function) -> Drawn:
    flags = rng.choice(((0, 0), (1, 0), (0, 1)))
    return {"batches": rng.randint(1, 3), **_draw_sizes(_ENDS, rng), **dict(zip(_FLAGS, flags))}


def _draw_reduce(rng: Random, function: Function) -> Drawn:
    return _draw_sizes(_AXES, rng)


def _draw_matmul(rng: Random, function: Function) -> Drawn:
    """Make one of two different outer sides 1."""
    drawn = _draw_sizes(_INNER, rng)
    for axis in "nh":
        side = rng.randint(1, 3)
        drawn.update({f"{operand}_{axis}": rng.choice((1, side)) for operand in ("lhs", "rhs")})
    return {**drawn, "adj_x": rng.randrange(2), "adj_y": rng.randrange(2)}


# ---- meaning ----


def _compute_softmax(call: FloatCall) -> Meant:
    beta = float(np.int32(call.params.get("beta_bits", bits(1))).view(np.float32))

    def compute(x: np.ndarray) -> np.ndarray:
        less = beta * (x - x.max(-1, keepdims=True))
        sums = np.exp(less).sum(-1, keepdims=True)
        result: np.ndarray = (
            less - np.log(sums) if call.function.fixed["is_log"] else np.exp(less) / sums
        )
        return result

    return Meant((Real(compute),), (call.sides[0],))


@dataclass(frozen=True)
class _Sums(Operator):
    """Sums or means over the axes 1 and 3 of five."""

    mean: bool

    def shape(self, *inputs: Shape) -> Shape:
        """Return the axes that stay."""
        return inputs[0][::2]

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the sums of each sample."""
        (x,) = inputs
        result: np.ndarray = x.mean((2, 4)) if self.mean else x.sum((2, 4))
        return result


def _make_reduction(call: FloatCall) -> Meant:
    return Meant((_Sums(call.function.name == "tflm_mean_f32"),), (call.sides[0],))


# ---- declarations ----


def _softmax(log: bool) -> Function:
    beta = () if log else ("beta_bits",)
    return Function(
        name="tflm_log_softmax_f32" if log else "tflm_softmax_f32",
        op="float_softmax",
        type="f32",
        params=(*_ROWS, *beta),
        inputs=(Array("input", "float32", _ROWS),),
        output=Array("output", "float32", _ROWS),
        fixed={"is_log": int(log), **({"beta_bits": bits(1)} if log else {})},
        note=REAL_NOTE,
        draw=_draw_softmax,
        meaning=_compute_softmax,
        cases=({"num_rows": 1, "row_size": 10, **dict.fromkeys(beta, bits(1))},),
    )


def _pool(kind: str) -> Function:
    image = {"batches": 1, "channels": 16, "activation": 0}
    sides = {"input": 16, "output": 8, "filter": 2, "stride": 2, "pad": 0}
    window = {f"{name}_{axis}": n for name, n in sides.items() for axis in "hw"}
    return Function(
        name=f"tflm_{kind}_pool_f32",
        op="float_pool",
        type="f32",
        params=("batches", *_ENDS, *_WINDOW, "activation"),
        inputs=(_INPUT,),
        output=_OUTPUT,
        fixed={"what": POOLS.index(kind)},
        note=REAL_NOTE,
        draw=_draw_pool,
        cases=({**image, **window},),
    )


def _reduce(kind: str) -> Function:
    return Function(
        name=f"tflm_{kind}_f32",
        op="float_reduce",
        type="f32",
        params=_AXES,
        inputs=(Array("input", "float32", _AXES),),
        output=Array("output", "float32", _KEPT),
        fixed={"what": SUMS.index(kind)},
        note=REAL_NOTE,
        draw=_draw_reduce,
        meaning=_make_reduction,
        cases=(dict(zip(_AXES, (1, 49, 1, 1, 64))),),
    )


FUNCTIONS = (
    *(_softmax(log) for log in (False, True)),
    *(_pool(kind) for kind in POOLS),
    Function(
        name="tflm_resize_bilinear_f32",
        op="float_resize",
        fixed=make_width_constant("f32"),
        type="f32",
        params=("batches", *_ENDS, *_FLAGS),
        inputs=(_INPUT,),
        output=_OUTPUT,
        note=REAL_NOTE,
        draw=_draw_resize,
        cases=(dict(zip(("batches", *_ENDS, *_FLAGS), (1, 8, 8, 16, 16, 16, 0, 1))),),
    ),
    *(_reduce(kind) for kind in SUMS),
    Function(
        name="tflm_l2_normalization_f32",
        op="l2_norm",
        type="f32",
        params=_ROWS,
        inputs=(Array("input", "float32", _ROWS),),
        output=Array("output", "float32", _ROWS),
        fixed={"input_zero_point": 0},
        note=REAL_NOTE,
        draw=_draw_softmax,
        cases=({"num_rows": 1, "row_size": 64},),
        meaning=NORMALIZED,
    ),
    Function(
        name="tflm_batch_matmul_f32",
        op="float_matmul",
        type="f32",
        params=(*_OUTER, *_INNER, "adj_x", "adj_y"),
        inputs=(
            Array(
                "lhs",
                "float32",
                (
                    "lhs_n",
                    "lhs_h",
                    Either("adj_x", "depth", "rows"),
                    Either("adj_x", "rows", "depth"),
                ),
            ),
            Array(
                "rhs",
                "float32",
                (
                    "rhs_n",
                    "rhs_h",
                    Either("adj_y", "columns", "depth"),
                    Either("adj_y", "depth", "columns"),
                ),
            ),
        ),
        output=Array(
            "output",
            "float32",
            (Largest(("lhs_n", "rhs_n")), Largest(("lhs_h", "rhs_h")), "rows", "columns"),
        ),
        note=REAL_NOTE,
        draw=_draw_matmul,
        cases=(dict(zip((*_OUTER, *_INNER, "adj_x", "adj_y"), (1, 1, 1, 1, 16, 32, 16, 0, 0))),),
    ),
)
