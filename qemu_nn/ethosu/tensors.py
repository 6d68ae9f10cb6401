"""Tensors of a command stream: maps of operations, joined where several write one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .operations import Operation

#: Channels of a brick.
_BRICK = 16


@dataclass(frozen=True)
class Piece:
    """The map of an operation in a dense tensor.

    command: the operation's word of the stream. offset, row, pixel: bytes from the tensor's start
    to the map, from one row of the map to the next, and from one pixel to the next.
    """

    command: int
    offset: int
    row: int
    pixel: int


@dataclass(frozen=True)
class StreamTensor:
    """A tensor [rows, columns, channels] that operations of a stream write."""

    operations: tuple[Operation, ...]
    sides: tuple[int, int, int]
    pieces: tuple[Piece, ...]


# ---- without a compiler's record: by addresses, settings and weights ----


@dataclass
class _Group:
    """Operations on one tensor in their order, and the rows and channels where their maps begin."""

    operations: list[Operation] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)

    def find_place(self, op: Operation, in_cascade: bool) -> Optional[tuple[int, int]]:
        """Return where the map of an operation begins in the tensor; None if it is another's."""
        last, (row, channel) = self.operations[-1], self.starts[-1]
        if _continues_depth(last, op):
            return row, channel + last.channels
        for before, (row, channel) in zip(self.operations[::-1], self.starts[::-1]):
            if (before.weights, before.channels) == (op.weights, op.channels):
                start = min(each.base for each in self.operations)
                alone = op.weights == 0 or before.rows == before.columns == 1
                fits = in_cascade or not alone
                return (
                    (row + before.rows, channel) if fits and _continues(before, op, start) else None
                )
        return None

    def make_tensor(self) -> StreamTensor:
        """Return the tensor of the group."""
        rows = max(row + op.rows for op, (row, _) in zip(self.operations, self.starts))
        depth = max(at + op.channels for op, (_, at) in zip(self.operations, self.starts))
        sides = (rows, self.operations[0].columns, depth)
        places = [(row, 0, channel) for row, channel in self.starts]
        pieces = tuple(_make_piece(op, at, sides) for op, at in zip(self.operations, places))
        return StreamTensor(tuple(self.operations), sides, pieces)


def _continues_depth(before: Operation, op: Operation) -> bool:
    """True if an operation computes the next channels of the same layer and rows."""
    if before.weights == 0 or (before.rows, before.columns) != (op.rows, op.columns):
        return False
    blocks = before.channels // _BRICK * before.stride_c
    step = blocks if before.has_bricks else before.channels * before.element
    same = before.in_base == op.in_base or before.name == "DEPTHWISE"
    return same and op.base == before.base + step and op.low_base in (0, before.low_base + step)


def _continues(before: Operation, op: Operation, start: int) -> bool:
    """True if an operation computes the next rows of the same layer; start: of a rolling buffer."""
    if before.stride_y <= 0:
        return False
    wraps = before.tile_rows < before.rows
    below = before.rows - before.tile_rows if wraps else before.rows
    end = (before.low_base if wraps else before.base) + below * before.stride_y
    return op.base == end or (op.base == start and op.base <= before.base)


def list_stores(operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations that store a map of a network's type.

    Copies, sums that stay in the accumulators and maps of uint16 are left out.
    """
    return [op for op in operations if op.name != "DMA" and op.rows and op.dtype != "uint16"]


def find_tensors(operations: Iterable[Operation]) -> tuple[StreamTensor, ...]:
    """Return the tensors of a stream, in the order of their first operations.

    Slices of a layer's depth, and stripes of a cascade, are one tensor. Copies by DMA and maps of
    uint16 have none.
    """
    groups: list[_Group] = []
    latest: dict[int, _Group] = {}
    cascade = -1  # the latest operation that continues the rows of a tensor
    found = list_stores(operations)
    numbers = {op.command: at for at, op in enumerate(found)}
    for at, op in enumerate(found):
        group = latest.get(op.settings)
        before = numbers[group.operations[-1].command] if group else 0
        near = cascade >= before - 1 or (op.weights != 0 and before == at - 1)
        place = group.find_place(op, near) if group else None
        if group is None or place is None:
            group, place = _Group(), (0, 0)
            groups.append(group)
            latest[op.settings] = group
        elif place[0]:
            cascade = at
        group.operations.append(op)
        group.starts.append(place)
    return tuple(group.make_tensor() for group in groups)


def _make_piece(op: Operation, at: tuple[int, int, int], sides: tuple[int, int, int]) -> Piece:
    """Return the piece of an operation whose map begins at row, column and channel."""
    pixel = sides[2] * op.element
    row = sides[1] * pixel
    return Piece(op.command, at[0] * row + at[1] * pixel + at[2] * op.element, row, pixel)


# ---- with the compiler's record of which operations write a tensor ----


def join_operations(
    operations: Sequence[Operation], sides: tuple[int, int, int], of_one_layer: bool = True
) -> Optional[StreamTensor]:
    """Return a tensor of known size; None if the operations do not write all of it.

    of_one_layer: the operations compute parts of a layer, so their order tells their places.
    """
    pieces = _join_by_address(operations, sides)
    if not pieces and of_one_layer:
        pieces = _join_in_order(operations, sides)
    return StreamTensor(tuple(operations), sides, pieces) if pieces else None


def _count_cells(operations: Sequence[Operation]) -> int:
    return sum(op.rows * op.columns * op.channels for op in operations)


def _join_by_address(
    operations: Sequence[Operation], sides: tuple[int, int, int]
) -> tuple[Piece, ...]:
    """Return the pieces of a tensor that is whole in memory; () if it is not."""
    first, cells = operations[0], sides[0] * sides[1] * sides[2]
    start, total = min(op.base for op in operations), cells * first.element
    if any(op.tile_rows < op.rows or op.region != first.region for op in operations):
        return ()  # a rolling buffer, or two memories
    pieces = []
    for op in operations:
        offset = op.base - start
        if op.has_bricks and op.stride_y > 0 and op.stride_c > 0:
            row, left = divmod(offset, op.stride_y)
            block, left = divmod(left, op.stride_c)
            place = (row, left // op.stride_x, _BRICK * block + left % op.stride_x // op.element)
            piece = _make_piece(op, place, sides)
        else:
            piece = Piece(op.command, offset, op.stride_y, op.stride_x)
        end = piece.offset + (op.rows - 1) * piece.row + (op.columns - 1) * piece.pixel
        if piece.row < 0 or piece.pixel < 0 or end + op.channels * op.element > total:
            return ()
        pieces.append(piece)
    whole = _count_cells(operations) == cells and _are_apart(operations, pieces, total)
    return tuple(pieces) if whole else ()


def _are_apart(operations: Sequence[Operation], pieces: Sequence[Piece], total: int) -> bool:
    """True if no byte is of two pieces."""
    seen = np.zeros(total if len(pieces) > 1 else 0, bool)
    for op, piece in zip(operations, pieces) if seen.size else ():
        sides = op.rows, op.columns, op.channels * op.element
        part = as_strided(seen[piece.offset :], sides, (piece.row, piece.pixel, 1))
        if part.any():
            return False
        part[:] = True
    return True


def _join_in_order(
    operations: Sequence[Operation], sides: tuple[int, int, int]
) -> tuple[Piece, ...]:
    """Return the pieces of a tensor in a rolling buffer: rows, or slices of the depth, in turn."""
    rows: dict[tuple[int, int], int] = {}
    channels: dict[tuple[int, int], int] = {}
    depth, pieces = 0, []
    for op in operations:
        key = op.weights, op.channels
        if key not in channels:
            channels[key], depth = depth, depth + op.channels
        row = rows.get(key, 0)
        rows[key] = row + op.rows
        if rows[key] > sides[0] or channels[key] + op.channels > sides[2]:
            return ()
        pieces.append(_make_piece(op, (row, 0, channels[key]), sides))
    whole = _count_cells(operations) == sides[0] * sides[1] * sides[2]
    whole = whole and all(op.columns == sides[1] for op in operations)
    return tuple(pieces) if whole else ()
