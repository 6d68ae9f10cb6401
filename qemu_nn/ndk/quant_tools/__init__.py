"""Where the kit keeps what runs networks."""

from . import numpy_net, quant_layers

__all__ = ["numpy_net", "quant_layers"]
