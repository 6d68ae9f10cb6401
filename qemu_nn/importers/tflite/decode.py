"""DECODE of TensorFlow Lite Micro: compressed constants, decoded while the file is read.

Each output has two inputs of bytes: the encoded data, and a header of 16 bytes followed by a table.
Byte 0 of the header is the kind, bytes 1 and 4 are versions. Bits are read from the most
significant bit of each byte.
"""

from __future__ import annotations

import math
from typing import Callable

import numpy as np

from ...errors import ModelError
from ..arguments import check_spent
from .call import Converter, TfliteCall
from .parser import TfliteTensor

#: Bytes of the header; positions in it of the kind's version and of the kind's two arguments.
_HEAD, _VERSION, _FIRST, _SECOND = 16, 4, 5, 6

#: Bits of an entry of a Huffman table -> its type, and the position of its 4-bit count. The bit
#: above the count marks a symbol. The bits below are the symbol, or the offset of the next table.
_HUFFMAN = {16: ("<u2", 11), 32: ("<u4", 27)}


def decode(call: TfliteCall) -> None:
    """Convert DECODE: its outputs become constants of the file for all later operators."""
    operator, model = call.operator, call.builder.model
    pairs = len(operator.outputs)
    call.check_counts(2 * pairs, 2 * pairs, max(pairs, 1))
    for at, index in enumerate(operator.outputs):
        _, encoded = call.constant(2 * at, "UINT8", "INT8")
        tensor, how = call.constant(2 * at + 1, "UINT8", "INT8")
        made = model.tensor(index)
        if made.data is not None or made.variable or call.builder.has(index):
            raise ModelError(
                f"its output, {made}, is a constant, a variable or an earlier operator's output; "
                "it must be none of these"
            )
        head = how.reshape(-1).view(np.uint8)
        if len(head) < _HEAD or head[1] != 1 or head[_VERSION] != 1:
            raise ModelError(f"{tensor} must be the header of an encoding of version 1")
        if head[0] not in _DECODERS:
            raise ModelError(
                f"{tensor} has the kind {head[0]}; it must be 0 (LUT), 1 (Huffman) or 2 (pruning)"
            )
        check_spent(math.prod(made.shape) * np.dtype(made.dtype).itemsize)
        numbers = _DECODERS[int(head[0])](made, encoded.reshape(-1).view(np.uint8), head)
        model.set_data(index, numbers.astype(made.dtype, copy=False).reshape(made.shape))


def _too_short(made: TfliteTensor) -> ModelError:
    return ModelError(f"its encoded data end before the last element of its output, {made}")


def _table(head: np.ndarray, dtype: str) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    return head[_HEAD : _HEAD + (len(head) - _HEAD) // size * size].view(dtype)


def _channels(made: TfliteTensor) -> tuple[int, bool]:
    """Return the number of scales, and True if these belong to the last axis."""
    count = max(len(made.scales), 1)
    last = count > 1 and made.axis == len(made.shape) - 1
    if (made.axis and not last) or math.prod(made.shape) % count:
        raise ModelError(
            f"its output, {made}, has {count} scales along axis {made.axis}; scales must belong to "
            "the first or the last axis"
        )
    return count, last


def _assign_channels(made: TfliteTensor) -> np.ndarray:
    """Return the channel of each element."""
    (count, last), size = _channels(made), math.prod(made.shape)
    each = np.arange(size)
    return each % count if last else each // (size // count)


def _decode_lut(made: TfliteTensor, encoded: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Decode indices of 1 to 7 bits by the lookup table of each channel."""
    width, stride, size = int(head[_FIRST]) & 7, int(head[_SECOND]), math.prod(made.shape)
    bits = np.unpackbits(encoded, count=min(width * size, 8 * len(encoded)))
    if not width or len(bits) < width * size:
        raise _too_short(made)
    places = bits.reshape(size, width) @ (1 << np.arange(width)[::-1])
    places = places + _assign_channels(made) * stride
    table = _table(head, np.dtype(made.dtype).newbyteorder("<").str)
    if places.max(initial=-1) >= len(table):
        raise ModelError(f"its output, {made}, has an index outside of its table")
    decoded: np.ndarray = table[places]
    return decoded


def _decode_pruned(made: TfliteTensor, encoded: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Decode one bit per element: 1 takes the next element of a table, 0 the zero point."""
    size = math.prod(made.shape)
    count, _ = _channels(made)
    zeros = made.zeros if len(made.zeros) else np.zeros(1, np.int64)
    if zeros.any() and (made.type != "INT8" or len(zeros) != count):
        raise ModelError(
            f"its output, {made}, is pruned and has zero points; they must be 0, or the output "
            "INT8 with one zero point per channel"
        )
    bits = np.unpackbits(encoded, count=min(size, 8 * len(encoded))).astype(bool)
    table = _table(head, np.dtype(made.dtype).newbyteorder("<").str)
    if len(bits) < size or bits.sum() > len(table):
        raise _too_short(made)
    whole = np.zeros(size, made.dtype)
    if zeros.any():
        whole[:] = zeros[_assign_channels(made)]
    whole[bits] = table[: bits.sum()]
    return whole


def _decode_huffman(made: TfliteTensor, encoded: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Decode Huffman symbols: some bits select a table entry, a symbol or a further table."""
    bits = 32 if head[_FIRST] & 1 else 16
    if made.type not in ("INT8", "INT16")[: bits // 16]:
        raise ModelError(
            f"its output, {made}, is {made.type}; with {bits}-bit Huffman tables it must be "
            f"{'INT8' if bits == 16 else 'INT8 or INT16'}"
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
                raise ModelError(f"its output, {made}, has an index outside of its table")
            entry = table[place]
            count = entry >> shift & 15
            if entry & found:
                break
            place, used = place + (entry & low), count + 1
        else:
            raise _too_short(made)
        at -= max(used - count, 0)  # a symbol may have fewer bits than the lookup read
        if not start < at <= end:  # a symbol of zero bits would never end
            raise _too_short(made)
        symbols.append(entry & 0xFFFF)
    return np.array(symbols, np.uint16).astype(made.dtype)


#: Kind of an encoding -> its decoder.
_DECODERS: dict[int, Callable[[TfliteTensor, np.ndarray, np.ndarray], np.ndarray]] = {
    0: _decode_lut,
    1: _decode_huffman,
    2: _decode_pruned,
}

DECODING: dict[str, Converter] = {"TFLM_DECODE": decode}
