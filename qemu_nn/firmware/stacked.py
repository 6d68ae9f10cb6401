"""What belongs to each channel, from C's several arrays into the one that rows read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..layers import Function
from .c_text import wrapped
from .extents import c_extent


def put_rows(function: Function, values: Mapping[str, str]) -> list[str]:
    """C that fills `stacked`; values: C argument -> C text of it. None if there is one array."""
    if not function.stack or function.bias is None:
        return []
    width = np.dtype(function.bias.dtype).itemsize
    count = c_extent(function.bias.axes[1:], values)
    lines = []
    for index, row in enumerate(function.stack):
        own = str(np.dtype(row.dtype).itemsize)
        if row.narrow:
            own = f"{values[row.narrow]} ? 4 : {own}"
        parts = [str(index), str(width), values[row.name], own, count]
        lines.append(f"    {wrapped('put_row(', parts, ');')}")
    return lines
