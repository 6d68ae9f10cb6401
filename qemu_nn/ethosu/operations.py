"""Operations of a command stream: what each one is, and the map that it writes."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from .inspection import list_fields

#: Kinds of operations, and the modes of some, as csrc/ethosu/program.h numbers them.
_KINDS = ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE", "DMA")
_MODES = {
    "POOL": {
        **{0: "MAX_POOL", 1: "AVERAGE_POOL", 2: "REDUCE_SUM", 3: "SUM", 4: "COPY", 5: "MIN_POOL"},
        **{6: "ARGMAX_X", 7: "ARGMAX_Y"},
    },
    "ELEMENTWISE": {
        **dict(enumerate(("MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL"))),
        **{10: "LSR", 11: "DIV", 16: "EQUAL", 17: "NOT_EQUAL", 18: "GREATER_EQUAL", 19: "GREATER"},
        **{33: "AND", 34: "OR", 35: "XOR", 36: "NOT", 42: "AND_NOT"},
    },
}


@dataclass(frozen=True)
class Operation:
    """An operation of a command stream and the map that it writes.

    command: its word of the stream. kind, mode: as csrc/ethosu/program.h numbers them. rows: 0 if
    it stores nothing. base, low_base: of the upper and the lower tile on the left. Strides in
    bytes. settings, weights: hashes; operations on one layer have the same settings, and its
    stripes the same weights.
    """

    kind: int
    mode: int
    command: int
    rows: int
    columns: int
    channels: int
    element: int
    is_signed: int
    region: int
    has_bricks: int
    tile_rows: int
    base: int
    low_base: int
    stride_y: int
    stride_x: int
    stride_c: int
    in_base: int
    macs: int
    settings: int
    weights: int

    @property
    def name(self) -> str:
        """The operation in capitals: "CONV", "MAX_POOL", "ADD"."""
        kind = _KINDS[self.kind]
        return _MODES.get(kind, {}).get(self.mode, kind)

    @property
    def dtype(self) -> str:
        """The type of the map's elements."""
        return f"{'int' if self.is_signed or self.element == 4 else 'uint'}{8 * self.element}"


_NAMES = tuple(field.name for field in fields(Operation))


def list_operations(commands: np.ndarray, constants: np.ndarray) -> tuple[Operation, ...]:
    """Return the operations of a program; raise ModelError if it is damaged."""
    return tuple(Operation(*values) for values in list_fields(commands, constants, _NAMES))
