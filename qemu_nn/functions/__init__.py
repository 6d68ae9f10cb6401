"""Every layer function of the firmware that can be emulated, declared once, by its C name."""

from . import (
    activation,
    convolve,
    elementwise,
    fully_connected,
    layouts,
    npu,
    pool,
    tflm,
    tflm_movement,
)
from . import s8_convolve as affine_convolve
from . import s8_dense as affine_dense
from . import s8_depthwise as affine_depthwise
from . import s8_elementwise as affine_elementwise
from . import s8_lstm as affine_lstm
from . import s8_matmul as affine_matmul
from . import s8_movement as affine_moving
from . import s8_operands as affine_operands
from . import s8_primitives as affine_primitives
from . import s8_softmax as affine_softmax
from . import s8_svdf as affine_svdf
from . import s8_transpose as affine_transpose
from .base import DECLARED, Function
from .extents import Array

#: C name -> declaration.
FUNCTIONS: dict[str, Function] = {
    function.name: function
    for family in (
        *(convolve, fully_connected, pool, activation, elementwise),
        *(
            affine_convolve,
            affine_transpose,
            affine_depthwise,
            affine_dense,
            affine_matmul,
            affine_svdf,
            affine_lstm,
        ),
        *(affine_elementwise, affine_softmax, affine_moving, affine_operands),
        *(affine_primitives, tflm, tflm_movement),
    )
    for function in family.FUNCTIONS
}

#: The same for the NPU, under names of ours.
NPU_FUNCTIONS: dict[str, Function] = {function.name: function for function in npu.FUNCTIONS}

DECLARED.update({**FUNCTIONS, **NPU_FUNCTIONS})

__all__ = ["FUNCTIONS", "NPU_FUNCTIONS", "Array", "Function", "layouts"]
