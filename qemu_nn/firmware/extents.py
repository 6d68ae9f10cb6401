"""Extents as C text."""

from __future__ import annotations

from collections.abc import Mapping

from ..functions.extents import Either, Extent, Half, Largest, Total


def c_extent(value: Extent, values: Mapping[str, str]) -> str:
    """A number, a C argument, or what is made of several; values: C argument -> C text of it."""
    if isinstance(value, str):
        return values[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Either):
        yes, no = (c_extent(part, values) for part in (value.yes, value.no))
        return f"({values[value.flag]} ? {yes} : {no})"
    inside = value.parts if isinstance(value, (Total, Largest, Half)) else value
    parts = [c_extent(part, values) for part in inside]
    if isinstance(value, Total):
        return f"({' + '.join(parts)})"
    if isinstance(value, Largest):
        most = parts[0]
        for part in parts[1:]:
            most = f"({most} > {part} ? {most} : {part})"
        return most
    product = " * ".join(parts)
    return f"(({product} + 1) / 2)" if isinstance(value, Half) else product
