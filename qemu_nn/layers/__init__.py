"""Every layer function of the firmware that can be emulated, declared once, by its C name."""

from . import activation, convolve, elementwise, fully_connected, layouts, pool
from .base import Array, Function

#: C name -> declaration.
FUNCTIONS: dict[str, Function] = {
    function.name: function
    for family in (convolve, fully_connected, pool, activation, elementwise)
    for function in family.FUNCTIONS
}

__all__ = ["FUNCTIONS", "Array", "Function", "layouts"]
