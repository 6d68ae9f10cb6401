"""From a float network with formats to the calls of CMSIS-NN that compute it on a Cortex-M."""

from .affine import lower_affine
from .lower import lower
from .prepare import device_part, prepare
from .prepare_affine import prepare_affine

__all__ = ["device_part", "lower", "lower_affine", "prepare", "prepare_affine"]
