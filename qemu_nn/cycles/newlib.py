"""Instructions of the C library's copies: newlib's memcpy, memmove and memset, step by step."""

from __future__ import annotations

#: Parts that count instructions themselves and need no fit.
LIBRARY = ("memcpy", "memset", "memmove")


def memcpy(size: int, path: str, source: int = 0, target: int = 0) -> int:
    """Return the instructions of memcpy; source, target: addresses modulo 4.

    It copies blocks of 64 and 16 bytes, words, and up to three bytes. If neither address is a
    multiple of four, it first aligns the target; fewer than eight bytes are copied one by one.
    """
    count = 4
    if source or target:
        count += 2
        if size < 8:
            return count + (2 + _count_end(size) if size < 4 else 2 + 4 * (size - 3) + 8)
        count += 2 if source == 0 else 4
        if source and target:
            head = 4 - target
            count += 7 + 3 * (head > 1)
            size -= head
    step = 0 if path == "dsp" else 2  # on an M4, loads and stores write addresses back
    blocks = (34 + step) * (size // 64) + (10 + step) * (size % 64 // 16)
    return count + 6 + blocks + 4 * (size % 16 // 4) + _count_end(size % 4)


def _count_end(size: int) -> int:
    """Return the end of memcpy: up to three bytes, and the return."""
    return 4 + 5 * (size > 0) + 2 * (size > 1)


def memset(size: int, target: int = 0) -> int:
    """Return instructions of memset; target: the address modulo 4.

    It sets bytes up to a multiple of four, blocks of 16 bytes, words, and bytes.
    """
    count = 6
    if target:
        head = min(4 - target, size)
        if head < 4 - target:
            return count + 1 + (5 * head + 3 if head else 0)
        count += 3 + 3 + 5 * (head - 1)
        size -= head
    count += 2
    if size >= 16:
        count += 16 + 7 * (size // 16)
    elif size > 3:
        count += 8
    words = size % 16 // 4
    if words:
        count += 6 + 3 * words
    elif size >= 16:
        count += 4
    if size < 4:
        count += 1
    if size % 4:
        return count + 2 + 3 * (size % 4) + 1
    return count + 1 + (size >= 16 and not words)


def memmove(size: int, source: int, target: int) -> int:
    """Return the instructions of memmove; source, target: addresses, the target not within the
    source.

    It copies fewer than 16 bytes, and unaligned ones, one by one; all further ones in blocks of 16
    bytes, words, and bytes.
    """
    count = 4 if target <= source else 7
    if size < 16:
        return count + (8 + 4 * size if size else 5)
    if source % 4 or target % 4:
        return count + 10 + 4 * size
    words = size % 16 // 4
    count += 3 + 8 + 12 * (size // 16) + 6
    count += 10 + 4 * words if words else 2
    return count + 2 + (3 + 4 * (size % 4) if size % 4 else 0) + 1
