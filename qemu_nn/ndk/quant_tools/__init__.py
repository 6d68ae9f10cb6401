"""Where the kit keeps what runs networks."""

from . import numpy_net

__all__ = ["numpy_net"]
