"""CRC-32C (Castagnoli) of large arrays of bytes, in numpy."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_POLYNOMIAL, _ONES = 0x82F63B78, 0xFFFFFFFF
_BITS = np.arange(32, dtype=np.uint32)


def crc32c(data: bytes) -> int:
    """Return the checksum of some bytes.

    Registers are linear over GF(2). Lanes of equal length are computed together, each from 0. Two
    lanes are joined after the first register is moved over as many zeros as the second lane has
    bytes.
    """
    exponent = max(6, len(data).bit_length() // 2 - 3)
    width = 1 << exponent
    lanes = -(-len(data) // width)
    padded = np.zeros((lanes, width), np.uint8)  # leading zeros leave a register of 0
    padded.reshape(-1)[padded.size - len(data) :] = np.frombuffer(data, np.uint8)
    registers = np.zeros(lanes, np.uint32)
    for column in np.ascontiguousarray(padded.T):
        registers = _step(registers, column)
    while len(registers) > 1:
        if len(registers) % 2:
            registers = np.concatenate((registers[:1] * 0, registers))
        registers = _apply(_zeros(exponent), registers[::2]) ^ registers[1::2]
        exponent += 1
    start = np.array([_ONES], np.uint32)
    for bit in range(len(data).bit_length()):
        if len(data) >> bit & 1:
            start = _apply(_zeros(bit), start)
    return int(registers.sum() ^ start[0]) ^ _ONES


def masked_crc32c(data: bytes) -> int:
    """Return the checksum as LevelDB and TensorFlow store it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & _ONES


def _table() -> np.ndarray:
    """Return the register after each byte, from 0."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ _POLYNOMIAL, table >> 1).astype(np.uint32)
    return table


_TABLE = _table()


def _step(registers: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the registers after one byte each."""
    moved: np.ndarray = _TABLE[(registers ^ column) & 255] ^ (registers >> 8)
    return moved


@lru_cache
def _zeros(exponent: int) -> np.ndarray:
    """Return the images of 32 registers of one bit under 2^exponent zeros."""
    if exponent:
        half = _zeros(exponent - 1)
        return _apply(half, half)
    return _step(np.uint32(1) << _BITS, np.zeros(32, np.uint8))


def _apply(images: np.ndarray, registers: np.ndarray) -> np.ndarray:
    """Return the images of registers under a linear function, given those of single bits."""
    chosen = (registers[:, np.newaxis] >> _BITS & np.uint32(1)) * images
    result: np.ndarray = np.bitwise_xor.reduce(chosen, axis=1)
    return result
