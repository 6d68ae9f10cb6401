"""Rectifiers, table activations and softmax."""

from .base import Function
from .c_signature import legacy
from .random_params import draw_legacy as drawn
from .shapes import Array, vector

_LENGTH = {"size": "length"}
_ELEMENTS = {"size": 4096}


def _relu(name: str, op: str, type: str, dtype: str) -> Function:
    data = vector("data", dtype, "size")
    return Function(
        name=name,
        op=op,
        type=type,
        params=("size",),
        inputs=(data,),
        output=data,
        fields=_LENGTH,
        order=legacy("data size"),
        draw=drawn(long=("size",)),
        cases=(_ELEMENTS,),
    )


def _table(type: str, dtype: str) -> Function:
    data = vector("data", dtype, "size")
    return Function(
        name=f"arm_nn_activations_direct_{type}",
        op="activation",
        type=type,
        params=("size", "int_width", "type"),
        inputs=(data,),
        output=data,
        fields=_LENGTH,
        note="type: 0 or 'ARM_SIGMOID', 1 or 'ARM_TANH'; int_width: integer bits, 0..3.",
        order=legacy("data size int_width type"),
        draw=drawn(long=("size",)),
        cases=({**_ELEMENTS, "int_width": 3, "type": 1},),
    )


def _softmax(type: str, dtype: str) -> Function:
    return Function(
        name=f"arm_softmax_{type}",
        op="softmax",
        type=type,
        params=("dim_vec",),
        inputs=(vector("vec_in", dtype, "dim_vec"),),
        output=vector("p_out", dtype, "dim_vec"),
        fixed={"nb_batches": 1},
        note="Base 2, approximate; 5.6.0 and 5.9.0 differ for q7.",
        order=legacy("vec_in dim_vec p_out"),
        draw=drawn(long=("dim_vec",)),
        cases=({"dim_vec": 10},),
    )


FUNCTIONS = (
    _relu("arm_relu_q7", "relu", "q7", "int8"),
    _relu("arm_relu_q15", "relu", "q15", "int16"),
    _relu("arm_relu6_s8", "relu6", "s8", "int8"),
    _table("q7", "int8"),
    _table("q15", "int16"),
    _softmax("q7", "int8"),
    _softmax("q15", "int16"),
    Function(
        name="arm_softmax_with_batch_q7",
        op="softmax_with_batch",
        type="q7",
        params=("nb_batches", "dim_vec"),
        inputs=(Array("vec_in", "int8", ("nb_batches", "dim_vec")),),
        output=Array("p_out", "int8", ("nb_batches", "dim_vec")),
        note="arm_softmax_q7 on each row.",
        order=legacy("vec_in nb_batches dim_vec p_out"),
        draw=drawn(long=("dim_vec",)),
        cases=({"nb_batches": 16, "dim_vec": 10},),
    ),
)
