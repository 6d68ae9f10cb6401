"""DECODE of TensorFlow Lite Micro: compressed constants, decoded as the file is read.

Each output has two inputs, bytes: what is encoded, and 16 bytes that say how, with a table behind
them. Byte 0 is the kind, 1 and 4 are versions. The first bit of a byte is the most significant.
"""

from __future__ import annotations

import math
from typing import Callable

import numpy as np

from ...errors import ModelError
from ..arguments import check_spent
from .call import Call, Converter
from .parser import FileTensor

#: Bytes in front of a table; where they have the version of the kind, and arguments of kinds.
_HEAD, _VERSION, _FIRST, _SECOND = 16, 4, 5, 6

#: Bits of an element of a Huffman table -> its type, and where its count of bits begins. The bit
#: behind the count says that a symbol is found; those in front are the symbol, or the next table.
_HUFFMAN = {16: ("<u2", 11), 32: ("<u4", 27)}


def decode(call: Call) -> None:
    """DECODE: its outputs are constants of the file for all operators behind it."""
    operator, model = call.operator, call.builder.model
    pairs = len(operator.outputs)
    call.counts(2 * pairs, 2 * pairs, max(pairs, 1))
    for at, index in enumerate(operator.outputs):
        _, encoded = call.constant(2 * at, "UINT8", "INT8")
        tensor, how = call.constant(2 * at + 1, "UINT8", "INT8")
        made = model.tensor(index)
        if made.data is not None or made.variable or call.builder.has(index):
            raise ModelError(f"its output, {made}, is no tensor that it can make")
        head = how.reshape(-1).view(np.uint8)
        if len(head) < _HEAD or head[1] != 1 or head[_VERSION] != 1:
            raise ModelError(f"{tensor} does not describe version 1 of an encoding")
        if head[0] not in _KINDS:
            raise ModelError(f"{tensor} has the kind {head[0]}; have: LUT, Huffman, pruning")
        check_spent(math.prod(made.shape) * np.dtype(made.dtype).itemsize)
        numbers = _KINDS[int(head[0])](made, encoded.reshape(-1).view(np.uint8), head)
        model.hold(index, numbers.astype(made.dtype, copy=False).reshape(made.shape))


def _short(made: FileTensor) -> ModelError:
    return ModelError(f"too little is encoded for its output, {made}")


def _table(head: np.ndarray, dtype: str) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    return head[_HEAD : _HEAD + (len(head) - _HEAD) // size * size].view(dtype)


def _channels(made: FileTensor) -> tuple[int, bool]:
    """How many channels have a scale of their own, and whether they are on the last axis."""
    count = max(len(made.scales), 1)
    last = count > 1 and made.axis == len(made.shape) - 1
    if (made.axis and not last) or math.prod(made.shape) % count:
        raise ModelError(f"its output, {made}, has {count} scales along axis {made.axis}")
    return count, last


def _of_channel(made: FileTensor) -> np.ndarray:
    """The channel of each element."""
    (count, last), size = _channels(made), math.prod(made.shape)
    each = np.arange(size)
    return each % count if last else each // (size // count)


def _looked_up(made: FileTensor, encoded: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Places in a table of each channel, of 1 to 7 bits."""
    width, stride, size = int(head[_FIRST]) & 7, int(head[_SECOND]), math.prod(made.shape)
    bits = np.unpackbits(encoded, count=min(width * size, 8 * len(encoded)))
    if not width or len(bits) < width * size:
        raise _short(made)
    places = bits.reshape(size, width) @ (1 << np.arange(width)[::-1])
    places = places + _of_channel(made) * stride
    table = _table(head, np.dtype(made.dtype).newbyteorder("<").str)
    if places.max(initial=-1) >= len(table):
        raise ModelError(f"its output, {made}, is looked up outside of its table")
    return table[places]


def _pruned(made: FileTensor, encoded: np.ndarray, head: np.ndarray) -> np.ndarray:
    """A bit for each element: 1 is the next of a table, 0 the zero point."""
    size = math.prod(made.shape)
    count, _ = _channels(made)
    zeros = made.zeros if len(made.zeros) else np.zeros(1, np.int64)
    if zeros.any() and (made.type != "INT8" or len(zeros) != count):
        raise ModelError(f"its output, {made}, is pruned, but has zero points other than 0")
    bits = np.unpackbits(encoded, count=min(size, 8 * len(encoded))).astype(bool)
    table = _table(head, np.dtype(made.dtype).newbyteorder("<").str)
    if len(bits) < size or bits.sum() > len(table):
        raise _short(made)
    whole = np.zeros(size, made.dtype)
    if zeros.any():
        whole[:] = zeros[_of_channel(made)]
    whole[bits] = table[: bits.sum()]
    return whole


def _huffman(made: FileTensor, encoded: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Symbols by tables: a number of bits chooses an element, which is a symbol or a table more."""
    bits = 32 if head[_FIRST] & 1 else 16
    if made.type not in ("INT8", "INT16")[: bits // 16]:
        raise ModelError(
            f"its output, {made}, is {made.type}; Huffman codes have {bits}-bit tables"
        )
    kind, shift = _HUFFMAN[bits]
    table, first = _table(head, kind).tolist(), (int(head[_FIRST]) >> 4) + 1
    found, low = 1 << bits - 1, (1 << shift) - 1
    data, end = encoded.tobytes() + bytes(8), 8 * len(encoded)
    symbols, at = [], 0
    for _ in range(math.prod(made.shape)):
        start, place, used = at, 0, first
        while at <= end:
            window = int.from_bytes(data[at >> 3 : (at >> 3) + 5], "big")
            place += window >> 40 - (at & 7) - used & (1 << used) - 1
            at += used
            if place >= len(table):
                raise ModelError(f"its output, {made}, is looked up outside of its table")
            entry = table[place]
            count = entry >> shift & 15
            if entry & found:
                break
            place, used = place + (entry & low), count + 1
        else:
            raise _short(made)
        at -= max(used - count, 0)  # a symbol may need fewer bits than were looked at
        if not start < at <= end:  # a symbol of no bits would never come to an end
            raise _short(made)
        symbols.append(entry & 0xFFFF)
    return np.array(symbols, np.uint16).astype(made.dtype)


#: Kind of an encoding -> what decodes it.
_KINDS: dict[int, Callable[[FileTensor, np.ndarray, np.ndarray], np.ndarray]] = {
    0: _looked_up,
    1: _huffman,
    2: _pruned,
}

DECODING: dict[str, Converter] = {"TFLM_DECODE": decode}
