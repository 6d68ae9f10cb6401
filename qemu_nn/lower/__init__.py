"""From a float network with formats to the calls of CMSIS-NN that compute it on a Cortex-M."""

from .lower import lower
from .prepare import device_part, prepare

__all__ = ["device_part", "lower", "prepare"]
