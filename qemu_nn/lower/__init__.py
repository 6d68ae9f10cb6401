"""From a float network with formats to the calls of CMSIS-NN that compute it on a Cortex-M."""

from .lower import lower
from .prepare import device_part, prepare
from .prepare_s8 import prepare_s8
from .s8 import lower_s8

__all__ = ["device_part", "lower", "lower_s8", "prepare", "prepare_s8"]
