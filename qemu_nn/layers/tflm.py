"""What TensorFlow Lite Micro computes itself, as CMSIS-NN has no function for it."""

from .affine_elementwise import DTYPES, combine
from .affine_moving import pad, transpose
from .base import Array, Function, Total


def _join(type: str) -> Function:
    dtype = DTYPES[type]
    return Function(
        name=f"tflm_concatenation_{type}",
        op="join",
        type=type,
        params=("outer", "inner1", "inner2"),
        inputs=tuple(Array(f"input{i}", dtype, ("outer", f"inner{i}")) for i in (1, 2)),
        output=Array("output", dtype, ("outer", Total(("inner1", "inner2")))),
    )


FUNCTIONS = (
    combine("tflm_add_u8", "elementwise_add", "u8"),
    *(combine(f"tflm_sub_{type}", "elementwise_sub", type) for type in ("s8", "s16")),
    *(_join(type) for type in ("s8", "s16", "u8")),
    pad("tflm_pad_s16", "s16"),
    transpose("tflm_transpose_s16", "s16"),
)
