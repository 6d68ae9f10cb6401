"""Modules of the kit that run networks."""

from . import numpy_net, quant_layers

__all__ = ["numpy_net", "quant_layers"]
