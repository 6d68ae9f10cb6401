"""A program of an Ethos-U: its stream, its memory, and the arrays that the kernel row takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import ModelError
from .container import CommandStream
from .inspection import Needs, inspect
from .tensors import Piece

#: Number of memory regions of a stream.
REGIONS = 8

#: Words before the places of inputs and outputs; of each of these, of each place in the trace.
_HEAD, _PLACE, _TRACE = 12, 3, 4

#: Most copies of the map of an operation in a trace, as csrc/ethosu/program.h has it.
TRACES_MOST = 4

#: Most bytes of a region, and of everything that a call needs.
_MOST = 2**30

#: Times the bytes of a decoded program that its fastest row takes.
_PACKED = 4

#: Bytes of the fast memory before its real need is known.
_FAST = 2**26


@dataclass(frozen=True)
class Place:
    """Bytes of a region that an input or an output has."""

    region: int
    offset: int
    nbytes: int


@dataclass(frozen=True)
class Program:
    """A command stream with its constants, regions, inputs and outputs.

    regions: bytes of the regions 1 to 7; constants are region 0.
    """

    stream: CommandStream
    constants: np.ndarray
    regions: tuple[int, ...]
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]

    @cached_property
    def commands(self) -> np.ndarray:
        """The layout and the stream as bytes: the weights of the call."""
        sizes = (self.constants.size, *self.regions)
        sizes += (0,) * (REGIONS - len(sizes))
        places = [
            number
            for place in (*self.inputs, *self.outputs)
            for number in (place.region, place.offset, place.nbytes)
        ]
        counts = (len(self.inputs), len(self.outputs), 0)
        head = [self.stream.configuration, *sizes, *counts, *places]
        if max(head) > 0xFFFFFFFF or max(sizes) > _MOST:
            raise ModelError(f"its memory has {max(sizes)} bytes; up to {_MOST} are supported")
        return np.concatenate([np.array(head, "<u4"), self.stream.words]).view(np.uint8)

    @cached_property
    def needs(self) -> Needs:
        """Needs of the program; raises ModelError if the stream is damaged."""
        found = inspect(self.commands, self.constants)
        need = _PACKED * found.program_bytes + found.scratch_bytes
        if need > _MOST:
            raise ModelError(
                f"its program needs {need} bytes of memory; up to {_MOST} are supported"
            )
        return found

    @property
    def params(self) -> dict[str, int]:
        """The scalar arguments of the call."""
        return {
            "in_bytes": sum(place.nbytes for place in self.inputs),
            "out_bytes": sum(place.nbytes for place in self.outputs),
            "command_bytes": self.commands.nbytes,
            "constant_bytes": self.constants.nbytes,
            "program_bytes": self.needs.program_bytes,
            "scratch_bytes": self.needs.scratch_bytes,
            "operations": self.needs.operations,
            "macs": min(self.needs.macs, 2**31 - 1),
            "arena_bytes": sum(self.regions[:2]),
        }


def fit_fast_memory(program: Program) -> Program:
    """Return the program with as many bytes of region 2 as its stream names."""
    arena, _, *others = program.regions
    largest = replace(program, regions=(arena, _FAST, *others))
    return replace(program, regions=(arena, largest.needs.used[2], *others))


def add_traces(commands: np.ndarray, pieces: Sequence[Piece]) -> np.ndarray:
    """Return the weights of a call that also writes the maps of operations, after its outputs.

    pieces: up to TRACES_MOST of an operation; a program without traces is required.
    """
    words = np.ascontiguousarray(commands).view("<u4")
    start = _HEAD + _PLACE * int(words[9] + words[10])
    traces = sorted((piece.command, piece.offset, piece.row, piece.pixel) for piece in pieces)
    head = words[:start].copy()
    head[_HEAD - 1] = len(traces)
    added = np.array(traces, "<u4").reshape(-1)
    return np.concatenate([head, added, words[start:]]).view(np.uint8)


def read_regions(commands: np.ndarray) -> tuple[int, ...]:
    """Return the bytes of the regions of a call, constants first."""
    words = np.ascontiguousarray(commands).view("<u4")
    return tuple(int(word) for word in words[1 : 1 + REGIONS])
