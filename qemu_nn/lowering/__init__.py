"""Lowering of a float network with formats to calls of CMSIS-NN or ESP-DL."""

from .esp_dl import count_bias_bits, describe_limited_biases, lower_esp_dl, prepare_esp_dl
from .prepare import prepare, take_device_part
from .prepare_s8 import prepare_s8
from .q7_q15 import lower
from .s8 import lower_s8

__all__ = [
    "count_bias_bits",
    "describe_limited_biases",
    "lower",
    "lower_esp_dl",
    "lower_s8",
    "prepare",
    "prepare_esp_dl",
    "prepare_s8",
    "take_device_part",
]
