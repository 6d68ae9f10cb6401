"""Every layer function of the firmware that can be emulated, declared once, by its C name."""

from . import (
    activation,
    affine_convolve,
    affine_dense,
    affine_depthwise,
    affine_elementwise,
    affine_moving,
    affine_operands,
    affine_primitives,
    affine_recurrent,
    affine_softmax,
    convolve,
    elementwise,
    fully_connected,
    layouts,
    npu,
    pool,
    tflm,
)
from .base import Array, Function

#: C name -> declaration.
FUNCTIONS: dict[str, Function] = {
    function.name: function
    for family in (
        *(convolve, fully_connected, pool, activation, elementwise),
        *(affine_convolve, affine_depthwise, affine_dense, affine_recurrent),
        *(affine_elementwise, affine_softmax, affine_moving, affine_operands),
        *(affine_primitives, tflm),
    )
    for function in family.FUNCTIONS
}

#: The same for the NPU, under names of ours.
NPU_FUNCTIONS: dict[str, Function] = {function.name: function for function in npu.FUNCTIONS}

__all__ = ["FUNCTIONS", "NPU_FUNCTIONS", "Array", "Function", "layouts"]
