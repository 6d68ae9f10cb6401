"""Products of matrices of the s8 and s16 API."""

from dataclasses import dataclass
from random import Random

import numpy as np

from ..operators import Operator, Shape
from .base import Function, Params
from .c_signature import Struct, dims, nhwc, order
from .float_semantics import FloatCall, Meant
from .random_params import SIZES, Drawn, draw_ends, draw_output_offset, draw_scale
from .s8_dense import count_row_sum_bytes
from .s8_weighted import PER_TENSOR, RANGE
from .s8_windows import DTYPES
from .shapes import Array, Largest

#: Now and then beyond the 512 products that some cores add up in 32 bits.
DEPTHS = (*SIZES, 31, 64, 70, 511, 512, 515)

_SCALES: tuple[str, ...] = ("act_min", "act_max", "multiplier", "shift")
_LHS: tuple[str, ...] = ("lhs_n", "lhs_h", "lhs_w", "lhs_c")
_RHS: tuple[str, ...] = ("rhs_n", "rhs_h", "rhs_w", "rhs_c")
_PRODUCTS = (Largest(("lhs_n", "rhs_n")), Largest(("lhs_h", "rhs_h")))
_ORDER = order(
    "ctx bmm_params quant_params input_lhs_dims lhs input_rhs_dims rhs output_dims output",
    {
        "bmm_params": Struct(
            "cmsis_nn_bmm_params",
            {
                "adj_x": "adj_x",
                "adj_y": "adj_y",
                "fc_params.input_offset": "lhs_offset",
                "fc_params.filter_offset": "rhs_offset",
                "fc_params.output_offset": "output_offset",
                **{f"fc_params.{member}": name for member, name in RANGE.items()},
            },
        ),
        "quant_params": PER_TENSOR,
        "input_lhs_dims": nhwc("lhs"),
        "input_rhs_dims": nhwc("rhs"),
        "output_dims": dims(
            Largest(("lhs_n", "rhs_n")), Largest(("lhs_h", "rhs_h")), "lhs_w", "rhs_w"
        ),
    },
)


def _draw_offsets(rng: Random) -> Drawn:
    """Half of the time zero points of 0."""
    low, high = (-127, 128) if rng.randrange(2) else (0, 0)
    return {name: rng.randint(low, high) for name in ("lhs_offset", "rhs_offset")}


def _draw(rng: Random, function: Function) -> dict[str, int]:
    """Return operands of equal number, or one for all; sometimes neither, which is illegal."""
    p = {}
    for axis in "nh":
        count = rng.randint(1, 3)
        p.update({f"{side}_{axis}": rng.choice((count, count, 1)) for side in ("lhs", "rhs")})
    depth = rng.choice(DEPTHS)
    p.update(lhs_w=rng.choice(SIZES), rhs_w=rng.choice(SIZES), lhs_c=depth, rhs_c=depth)
    p.update(adj_x=rng.randrange(2), adj_y=rng.randrange(2))
    p.update(_draw_offsets(rng))
    pair = draw_scale(rng, "", *((-22, -8) if function.type == "s16" else (-14, 1)))
    offset = {"output_offset": draw_output_offset(rng, -128, 127)}
    return {**p, **pair, **offset, **draw_ends(rng, function.output.dtype)}


@dataclass(frozen=True)
class _Products(Operator):
    """Matrices times transposed ones, pair by pair."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the pairs of both operands, and the rows of each."""
        (*outer, rows, _), (*other, columns, _) = inputs
        return (*np.broadcast_shapes(outer, other), rows, columns)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the products."""
        one, two = inputs
        products: np.ndarray = np.matmul(one, np.swapaxes(two, -1, -2))
        return products


def _define_meaning(call: FloatCall) -> Meant:
    return Meant((_Products(),), tuple(call.sides))


def _square(size: int, shift: int, low: int, high: int) -> Params:
    """Return a case of two matrices, one pair of them."""
    sides = {f"{side}_{axis}": 1 for side in ("lhs", "rhs") for axis in "nh"}
    sides.update({f"{side}_{axis}": size for side in ("lhs", "rhs") for axis in "wc"})
    offsets = {"lhs_offset": 3, "rhs_offset": 5, "output_offset": 0}
    pair = {"multiplier": 2**30 + 12345, "shift": shift}
    return {**sides, "adj_x": 0, "adj_y": 1, **offsets, "act_min": low, "act_max": high, **pair}


def _batch_matmul(type: str, case: Params) -> Function:
    dtype = DTYPES[type]
    offsets = ("lhs_offset", "rhs_offset", "output_offset")
    ignored = " All offsets are ignored." if type == "s16" else ""
    return Function(
        name=f"arm_batch_matmul_{type}",
        op="batch_matmul",
        type=type,
        params=(*_LHS, *_RHS, "adj_x", "adj_y", *offsets, *_SCALES),
        inputs=(Array("lhs", dtype, _LHS), Array("rhs", dtype, _RHS)),
        output=Array("output", dtype, (*_PRODUCTS, "lhs_w", "rhs_w")),
        buffer=count_row_sum_bytes("rhs_w") if type == "s8" else None,
        order=_ORDER,
        draw=_draw,
        cases=(case,),
        macs=(*_PRODUCTS, "lhs_w", "rhs_w", "lhs_c"),
        meaning=_define_meaning,
        note="rhs is stored transposed; adj_x and adj_y say what the caller has done." + ignored,
    )


FUNCTIONS = (
    _batch_matmul("s8", _square(64, -10, -128, 127)),
    _batch_matmul("s16", _square(64, -17, -32768, 32767)),
)
