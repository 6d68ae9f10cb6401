"""Random calls in a file, with the results of plain rows, for hosts and emulators without Python.

tests/c/replay.c reads such a file and runs every row of its host on each call. A call is a header,
the text of op and type, the struct of parameters, the inputs, weights, bias and the output.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Optional, Union

import numpy as np

from .._native import ffi
from ..errors import Refused
from ..functions import Function
from ..kernels import table as kernels
from .rows import EVERY_FUNCTION, NOT_TAKEN, RowCall, draw_call, list_rows

#: Op, type; profile, seed, bytes of parameters, of three inputs, weights, bias and output.
_HEADER = "<32s16s9q"

#: Most inputs of a call, as in qn.h.
_INPUTS = 3


def write_calls(path: Union[str, Path], first: int, draws: int, only: str = "") -> int:
    """Write this many calls of each function with fast rows, from a seed on; return their number.

    only: part of the names of the functions.
    """
    written = 0
    with open(path, "wb") as file:
        for function, row in _iterate_drawn_rows():
            for seed in range(first, first + draws) if only in function.name else ():
                packed = _pack_call(draw_call(function, row, seed), seed)
                if packed is not None:
                    file.write(packed)
                    written += 1
    return written


def _iterate_drawn_rows() -> Iterator[tuple[Function, kernels.Row]]:
    """Yield functions that have fast rows, with a row that claims the profiles of the calls."""
    for function in EVERY_FUNCTION:
        rows = list_rows(function)
        fast = [r for r in rows if r.kind == "fast" and (function.name, r.variant) not in NOT_TAKEN]
        if fast and not any(array.state for array in function.inputs):
            yield function, fast[-1]


def _pack_call(call: RowCall, seed: int) -> Optional[bytes]:
    """Return the bytes of a call; None if the plain row refuses its values."""
    function, arguments = call.function, call.arguments
    output = np.zeros(function.output.shape(arguments), function.output.dtype)
    inputs = [np.array(arguments[array.name]) for array in function.inputs]
    weights, bias = function.weights_of(arguments), function.bias_of(arguments)
    try:
        kernels.call(call.plain, call.struct, inputs, output, weights, bias)
    except Refused:
        return None
    params = bytes(ffi.buffer(call.struct))
    parts = [b"" if array is None else array.tobytes() for array in (weights, bias, output)]
    given = [arguments[array.name].tobytes() for array in function.inputs]
    given += [b""] * (_INPUTS - len(given))
    op, type = (text.encode() for text in (function.op, function.type))
    sizes = [len(part) for part in (params, *given, *parts)]
    header = struct.pack(_HEADER, op, type, call.struct.profile, seed, *sizes)
    return b"".join((header, params, *given, *parts))
