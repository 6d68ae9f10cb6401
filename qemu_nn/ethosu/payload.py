"""Programs without a model around them: vela's raw .npz, and the payload that ExecuTorch packs."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from .container import read_stream
from .program import Place, Program, fit_fast_memory

#: Bytes of a block's head: name, length, flag of external data, reserved.
_HEAD, _NAME = 32, 16

#: Names of the blocks in ExecuTorch's payload, the first and the last without data.
_FIRST, _LAST = "vela_bin_stream", "vela_end_stream"

#: Numbers of one input or output there: six dimensions, bytes of an element, offset, region.
_NUMBERS = 9

#: Type of elements by their bytes.
_TYPES = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}

#: Most inputs or outputs.
_MOST = 256


@dataclass(frozen=True)
class End:
    """An input or an output: its shape, with leading ones left out, its type and its place."""

    shape: tuple[int, ...]
    dtype: str
    place: Place


@dataclass(frozen=True)
class Payload:
    """A program with the ends that it names itself. commands: its command tensor."""

    program: Program
    commands: bytes
    inputs: tuple[End, ...]
    outputs: tuple[End, ...]


def _make_end(shape: list[int], element: int, region: int, offset: int) -> End:
    if element not in _TYPES or min(shape, default=1) < 1 or offset < 0 or not 1 <= region <= 7:
        raise ModelError(
            f"an input or output of its program is {shape} of {element} bytes at {offset} of "
            f"region {region}; elements of 1, 2, 4 or 8 bytes in the regions 1 to 7 are supported"
        )
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    count = 1
    for side in shape:
        count *= side
    if count > 2**28:
        raise ModelError(f"an input or output of its program is too large: {shape}")
    return End(tuple(shape), _TYPES[element], Place(region, offset, count * element))


def _make_payload(
    commands: bytes, constants: bytes, arena: int, fast: int, inputs: list[End], outputs: list[End]
) -> Payload:
    """Return a payload; fast: bytes of region 2, or 0 if the program alone says it."""
    stream = read_stream(commands)
    places = [tuple(end.place for end in ends) for ends in (inputs, outputs)]
    need = max([arena, *(p.offset + p.nbytes for each in places for p in each if p.region == 1)])
    program = Program(stream, np.frombuffer(constants, np.uint8), (need, fast), *places)
    if not fast:
        program = fit_fast_memory(program)
    return Payload(program, commands, tuple(inputs), tuple(outputs))


# ---- ExecuTorch ----


def _read_blocks(data: bytes, named: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the blocks by their names; named: data of the program outside of the payload."""
    found: dict[str, bytes] = {}
    position = 0
    while position + _HEAD <= len(data):
        name = data[position : position + _NAME].rstrip(b"\0").decode("latin-1")
        length, external = struct.unpack_from("<IB", data, position + _NAME)
        position += _HEAD
        if length > len(data) - position:
            raise ModelError(f"block {name!r} has {length} bytes; {len(data) - position} follow")
        content = data[position : position + length]
        position += (length + 15) // 16 * 16
        if external:
            key = content.rstrip(b"\0").decode("latin-1")
            if key not in named:
                raise ModelError(f"block {name!r} names the data {key!r}, which the file lacks")
            content = named[key]
        if name == _LAST:
            return found
        found[name] = content
    raise ModelError(f"its payload lacks the block {_LAST!r}")


def _read_ends(data: bytes, kind: str) -> list[End]:
    numbers = np.frombuffer(data[: len(data) // 4 * 4], "<i4")
    count = int(numbers[0]) if numbers.size else -1
    if not 0 <= count <= _MOST or numbers.size < 1 + _NUMBERS * count:
        raise ModelError(f"its block {kind!r} is damaged: it has {count} entries")
    table = numbers[1 : 1 + _NUMBERS * count].reshape(count, _NUMBERS).tolist()
    return [_make_end(row[:6], row[6], row[8], row[7]) for row in table]


def is_payload(start: bytes) -> bool:
    """True of the first bytes of ExecuTorch's payload."""
    return start.startswith(_FIRST.encode())


def read_payload(data: bytes, named: Mapping[str, bytes] = {}) -> Payload:
    """Return the program of ExecuTorch's payload; raise ModelError if it is damaged."""
    if not is_payload(data[:_NAME]):
        raise ModelError(f"its payload begins with {data[:_NAME]!r}; it must begin with {_FIRST!r}")
    blocks = _read_blocks(data, named)
    for name in ("cmd_data", "scratch_size", "inputs", "outputs"):
        if name not in blocks:
            raise ModelError(f"its payload lacks the block {name!r}")
    if len(blocks["scratch_size"]) < 4:
        raise ModelError("its block 'scratch_size' is damaged")
    (arena,) = struct.unpack_from("<I", blocks["scratch_size"])
    ends = [_read_ends(blocks[kind], kind) for kind in ("inputs", "outputs")]
    return _make_payload(blocks["cmd_data"], blocks.get("weight_data", b""), arena, 0, *ends)


# ---- vela's raw output ----


def read_raw(arrays: Mapping[str, Any]) -> Payload:
    """Return the program of vela's raw .npz; raise ModelError if it is damaged.

    Types have no sign there; 1 byte is int8.
    """
    try:
        commands, constants = (arrays[name].tobytes() for name in ("cmd_data", "weight_data"))
        arena, fast = (int(arrays[f"{name}_size"]) for name in ("scratch", "scratch_fast"))
        ends = [_read_raw_ends(arrays, kind) for kind in ("input", "output")]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelError(f"it is no raw output of vela, or it is damaged: {error}") from None
    return _make_payload(commands, constants, arena, max(fast, 16), *ends)


def _read_raw_ends(arrays: Mapping[str, Any], kind: str) -> list[End]:
    sides = np.atleast_2d(arrays[f"{kind}_shape"])
    if len(sides) > _MOST:
        raise ModelError(f"it has {len(sides)} {kind}s; up to {_MOST} are supported")
    columns = [
        np.atleast_1d(arrays[f"{kind}_{name}"]).tolist()
        for name in ("elem_size", "region", "offset")
    ]
    return [
        _make_end([int(side) for side in shape], int(element), int(region), int(offset))
        for shape, element, region, offset in zip(sides.tolist(), *columns)
    ]
