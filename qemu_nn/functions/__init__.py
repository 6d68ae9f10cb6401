"""Declarations of all layer functions of the firmware, each once, by its C name."""

from . import (
    activation,
    convolve,
    elementwise,
    esp_dl,
    esp_dl_float,
    esp_dl_norms,
    esp_dl_recurrent,
    esp_nn,
    ethosu,
    executorch,
    executorch_portable,
    fully_connected,
    layouts,
    micro_frontend,
    pool,
    s8_broadcast,
    s8_convolve,
    s8_dense,
    s8_depthwise,
    s8_elementwise,
    s8_lstm,
    s8_matmul,
    s8_movement,
    s8_primitives,
    s8_softmax,
    s8_svdf,
    s8_transpose,
    tflm,
    tflm_boolean,
    tflm_control,
    tflm_detection,
    tflm_elementwise,
    tflm_float,
    tflm_float_axes,
    tflm_gather_scatter,
    tflm_movement,
    tflm_prelu,
    tflm_reduce,
    tflm_signal,
    wuqi,
)
from .base import DECLARED, Function
from .shapes import Array

#: C name -> declaration.
FUNCTIONS: dict[str, Function] = {
    function.name: function
    for family in (
        *(convolve, fully_connected, pool, activation, elementwise),
        *(s8_convolve, s8_transpose, s8_depthwise, s8_dense, s8_matmul, s8_svdf, s8_lstm),
        *(s8_elementwise, s8_softmax, s8_movement, s8_broadcast, s8_primitives),
        *(tflm, tflm_prelu, tflm_elementwise, tflm_boolean, tflm_movement, tflm_gather_scatter),
        *(tflm_control, tflm_float, tflm_float_axes, tflm_signal, tflm_reduce, tflm_detection),
        *(micro_frontend, executorch, executorch_portable, esp_nn, esp_dl, esp_dl_float),
        *(esp_dl_norms, esp_dl_recurrent),
    )
    for function in family.FUNCTIONS
}

#: The same for the NPU, under names of ours.
NPU_FUNCTIONS: dict[str, Function] = {function.name: function for function in wuqi.FUNCTIONS}

#: The same for Arm's Ethos-U.
ETHOSU_FUNCTIONS: dict[str, Function] = {each.name: each for each in ethosu.FUNCTIONS}

#: All functions that a network on a Cortex-M calls, with or without an Ethos-U.
NETWORK_FUNCTIONS: dict[str, Function] = {**FUNCTIONS, **ETHOSU_FUNCTIONS}

DECLARED.update({**NETWORK_FUNCTIONS, **NPU_FUNCTIONS})

__all__ = [
    "ETHOSU_FUNCTIONS",
    "FUNCTIONS",
    "NETWORK_FUNCTIONS",
    "NPU_FUNCTIONS",
    "Array",
    "Function",
    "layouts",
]
