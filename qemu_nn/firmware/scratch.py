"""C text of stand-ins that check and overwrite the scratch memory of their calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..functions import Array, Function
from ..functions.prototypes import CONTEXTS, SCRATCH, Prototype
from .c_text import format_extent, wrap_lines

#: C argument -> its C text.
Values = Mapping[str, str]


@dataclass(frozen=True)
class Spoiling:
    """C lines before and after a call that overwrite its scratch memory."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def spoil(declared: Prototype, function: Function, values: Values) -> Spoiling:
    """Return the lines that fill a function's scratch memory with junk, and compare addresses.

    No lines if the function has no scratch memory of a known size.
    """
    blocks = list(_iterate_scratch(declared, function, values))
    if not blocks:
        return Spoiling()
    arrays = {array.name: array for array in (*function.inputs, function.output)}
    tensors = [
        _format_block(name, values[name], _format_bytes(array, values))
        for name, array in arrays.items()
    ]
    return Spoiling(
        (
            f"    {wrap_lines('const block tensors[] = {', tensors, '};')}",
            f"    {wrap_lines('const block scratch[] = {', blocks, '};')}",
            f'    check_apart("{declared.name}", scratch, {len(blocks)}, tensors, {len(tensors)});',
            f"    spoil(scratch, {len(blocks)});",
        ),
        (f"    spoil(scratch, {len(blocks)});",),
    )


def _iterate_scratch(declared: Prototype, function: Function, values: Values) -> Iterator[str]:
    """Yield the blocks of scratch memory whose size C knows, and whose content no call reads."""
    for argument in declared.arguments:
        name = argument.name
        if name in CONTEXTS and not (name == "ctx" and declared.sums):
            yield _format_block(name, f"{name}->buf", f"{name}->size")
        elif name in SCRATCH and name != "bufferB" and function.scratch:
            yield _format_block(name, name, format_extent(function.scratch, values))
    for name, size in (function.order.scratch_buffers if function.order else {}).items():
        if not callable(size):
            yield _format_block(name, values[name], format_extent(size, values))


def _format_bytes(array: Array, values: Values) -> str:
    """Return the bytes of an array in C."""
    width = np.dtype(array.dtype).itemsize
    return format_extent(array.axes if width == 1 else (width, *array.axes), values)


def _format_block(name: str, start: str, nbytes: str) -> str:
    return f'{{"{name}", (void *){start}, {nbytes}}}'
