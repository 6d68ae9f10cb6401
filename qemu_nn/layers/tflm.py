"""What TensorFlow Lite Micro computes itself, as CMSIS-NN has no function for it."""

from .affine_elementwise import combine

FUNCTIONS = (
    combine("tflm_add_u8", "elementwise_add", "u8"),
    *(combine(f"tflm_sub_{type}", "elementwise_sub", type) for type in ("s8", "s16")),
)
