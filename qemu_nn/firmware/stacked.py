"""What C has in several arrays, put into the one that rows read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..functions import Array, Function
from ..functions.extents import Extent
from .c_text import wrapped
from .extents import c_extent


def put_arrays(function: Function, values: Mapping[str, str]) -> list[str]:
    """C that fills `joined` with the weights and `stacked` with what belongs to each channel.

    values: C argument -> C text of it. No lines where C has one array, too.
    """
    lines = []
    if function.parts and function.weights is not None:
        counts = [part.axes for part in function.parts]
        lines += _put("joined", function.weights, function.parts, counts, values)
    if function.stack and function.bias is not None:
        counts = [function.bias.axes[1:]] * len(function.stack)
        lines += _put("stacked", function.bias, function.stack, counts, values)
    return lines


def _put(
    target: str,
    whole: Array,
    parts: Sequence[Array],
    counts: Sequence[Extent],
    values: Mapping[str, str],
) -> list[str]:
    """One call of put() for each array, each behind the one before."""
    width = np.dtype(whole.dtype).itemsize
    place = f"{target}.bytes"
    lines: list[str] = []
    for part, count in zip(parts, counts):
        own = str(np.dtype(part.dtype).itemsize)
        if part.narrow:
            own = f"{values[part.narrow]} ? 4 : {own}"
        arguments = [place, str(width), values[part.name], own, c_extent(count, values)]
        start = f"{target}_end = put(" if lines else f"int8_t *{target}_end = put("
        lines.append(f"    {wrapped(start, arguments, ');')}")
        place = f"{target}_end"
    return lines
