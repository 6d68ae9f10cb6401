"""Lowering of a float network with formats to calls of CMSIS-NN on a Cortex-M."""

from .prepare import prepare, take_device_part
from .prepare_s8 import prepare_s8
from .q7_q15 import lower
from .s8 import lower_s8

__all__ = ["lower", "lower_s8", "prepare", "prepare_s8", "take_device_part"]
