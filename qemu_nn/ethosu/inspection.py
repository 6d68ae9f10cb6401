"""The C decoder of programs: what a program needs, and the weights of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._native import ffi, lib
from ..errors import ModelError

#: Bit of C -> the sentence of a DeviceWarning.
_ODDITIES = {
    lib.QN_ETHOSU_EMPTY_WINDOWS: "a maximum has windows without an element of the image, as vela "
    "5.2 compiles REDUCE_MAX over channels: elements of its output are the lowest number",
    lib.QN_ETHOSU_RAW_DIVISION: "it divides quantized numbers as integers, as vela 5.2 compiles "
    "DIV for the U85: scales and zero points are dropped",
}


@dataclass(frozen=True)
class Needs:
    """Needs of a program: bytes of its decoded form and of a run, multiply-accumulates.

    used: the end of the bytes that the stream names, of each region. oddities: sentences on
    operations that hardly compute the meaning of their network.
    """

    program_bytes: int
    scratch_bytes: int
    macs: int
    operations: int
    used: tuple[int, ...]
    oddities: tuple[str, ...]


def inspect(commands: np.ndarray, constants: np.ndarray) -> Needs:
    """Decode and check a program; raise ModelError with the word of the stream that is wrong."""
    needs, why = ffi.new("qn_ethosu_needs *"), ffi.new("char[]", lib.QN_WHY)
    given = (_point(commands), commands.nbytes, _point(constants), constants.nbytes)
    if lib.qn_ethosu_inspect(*given, needs, why) != lib.QN_OK:
        raise ModelError(ffi.string(why).decode())
    sizes = (needs.program_bytes, needs.scratch_bytes, needs.macs, needs.operations)
    found = tuple(text for bit, text in _ODDITIES.items() if needs.oddities & bit)
    return Needs(*sizes, tuple(needs.used), found)


def list_fields(
    commands: np.ndarray, constants: np.ndarray, names: Sequence[str]
) -> list[tuple[int, ...]]:
    """Return fields of C's records of the operations of a program; raise ModelError as inspect()
    does.
    """
    needs, why = inspect(commands, constants), ffi.new("char[]", lib.QN_WHY)
    memory = ffi.new("int64_t[]", needs.program_bytes // 8 + 1)
    found = ffi.new("qn_ethosu_operation[]", max(needs.operations, 1))
    given = (_point(commands), commands.nbytes, _point(constants), constants.nbytes)
    if lib.qn_ethosu_list(*given, memory, needs.program_bytes, found, why) != lib.QN_OK:
        raise ModelError(ffi.string(why).decode())
    return [tuple(getattr(found[at], name) for name in names) for at in range(needs.operations)]


def decode_weights(stream: bytes, most: int, fast: bool = False) -> np.ndarray:
    """Return the weights of a stream, up to `most`; a fast stream has exactly as many."""
    weights = np.zeros(most, np.int16)
    count = lib.qn_ethosu_weights(
        ffi.from_buffer(stream), len(stream), fast, ffi.from_buffer("int16_t[]", weights), most
    )
    if count < 0:
        raise ModelError(
            f"its weight stream of {len(stream)} bytes is damaged, or has more than {most} weights"
        )
    return weights[:count]


def _point(array: np.ndarray) -> object:
    return ffi.from_buffer(array) if array.size else ffi.NULL
