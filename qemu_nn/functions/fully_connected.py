"""Fully connected layers and the matrix kernels: weights [row, column], one bias per row."""

from collections.abc import Mapping
from random import Random

import numpy as np

from ..operators import Dense
from .base import Function, Params, Product
from .c_signature import STATUS, legacy
from .layouts import unpack
from .random_params import Draw, Drawn
from .random_params import draw_legacy as drawn
from .shapes import Array, vector

_PARAMS = ("dim_vec", "num_of_rows", "bias_shift", "out_shift")


_SMALL, _WIDE = (
    {"dim_vec": columns, "num_of_rows": rows} for columns, rows in ((512, 10), (256, 256))
)


def _matrix(interleave: str) -> Product:
    """Return the matrix of a stream of weights, or of plain weights."""

    def product(params: Mapping[str, int], weights: np.ndarray) -> Dense:
        rows, columns = params["num_of_rows"], params["dim_vec"]
        stream = unpack(weights, rows, columns, interleave) if interleave else weights
        return Dense(stream.astype(np.float64).reshape(rows, columns))

    return product


def _fully_connected(
    name: str,
    type: str,
    interleave: str = "",
    cases: tuple[Params, ...] = (_WIDE,),
    batched: tuple[Params, ...] = (),
) -> Function:
    """Declare a fully connected layer.

    q7: everything int8; q15: everything int16; q7_q15: int16 vectors, int8 weights and bias.
    """
    data = "int8" if type == "q7" else "int16"
    coefficient = "int16" if type == "q15" else "int8"
    matrix = (("num_of_rows", "dim_vec"),) if interleave else ("num_of_rows", "dim_vec")
    return Function(
        name=name,
        op="fully_connected_opt" if interleave else "fully_connected",
        type=type,
        params=_PARAMS,
        inputs=(vector("pV", data, "dim_vec"),),
        weights=Array("pM", coefficient, matrix),
        bias=vector("bias", coefficient, "num_of_rows"),
        output=vector("pOut", data, "num_of_rows"),
        scratch=(2, "dim_vec") if type == "q7" else 0,
        macs=("num_of_rows", "dim_vec"),
        interleave=interleave or None,
        note="Weights are the interleaved stream of layouts.pack()." if interleave else "",
        order=legacy(
            "pV pM dim_vec num_of_rows bias_shift out_shift bias pOut vec_buffer", returns=STATUS
        ),
        draw=drawn(),
        cases=cases,
        batched=batched,
        product=_matrix(interleave),
    )


def _check_even_rows(rng: Random, function: Function, params: Drawn) -> None:
    params["ch_im_out"] += params["ch_im_out"] % 2


def _mat_mult(name: str, op: str, draw: Draw, note: str) -> Function:
    return Function(
        name=name,
        op=op,
        type="q7_q15",
        params=("ch_im_out", "numCol_A", "bias_shift", "out_shift"),
        inputs=(Array("pInBuffer", "int16", (2, "numCol_A")),),
        weights=Array("pA", "int8", ("ch_im_out", "numCol_A")),
        bias=vector("bias", "int8", "ch_im_out"),
        output=Array("pOut", "int8", (2, "ch_im_out")),
        macs=(2, "ch_im_out", "numCol_A"),
        note=note + " Cores without the DSP extension and without Helium have no body for it.",
        order=legacy(
            "pA pInBuffer ch_im_out numCol_A bias_shift out_shift bias pOut", returns="output"
        ),
        draw=draw,
        cases=({"ch_im_out": 64, "numCol_A": 256},),
    )


FUNCTIONS = (
    _fully_connected("arm_fully_connected_q7", "q7", cases=(_SMALL,)),
    _fully_connected("arm_fully_connected_q7_opt", "q7", "q7", (_SMALL,), (_WIDE,)),
    _fully_connected("arm_fully_connected_q15", "q15"),
    _fully_connected("arm_fully_connected_q15_opt", "q15", "q15", (_WIDE,), (_WIDE,)),
    _fully_connected("arm_fully_connected_mat_q7_vec_q15", "q7_q15"),
    _fully_connected("arm_fully_connected_mat_q7_vec_q15_opt", "q7_q15", "q7_q15"),
    _mat_mult(
        "arm_nn_mat_mult_kernel_q7_q15",
        "mat_mult",
        drawn(),
        "Two im2col columns times the weight matrix.",
    ),
    _mat_mult(
        "arm_nn_mat_mult_kernel_q7_q15_reordered",
        "mat_mult_reordered",
        drawn(_check_even_rows),
        "The same with columns in the order 0, 2, 1, 3 of each four; ch_im_out must be even.",
    ),
)
