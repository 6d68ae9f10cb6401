"""What the device does to integers, on Python's own, which have no width."""

from collections.abc import Sequence


def wrap(x: int, bits: int) -> int:
    """x modulo 2^bits, read as two's complement."""
    half = 1 << (bits - 1)
    return (x + half) % (2 * half) - half


def clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def saturate(x: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return clamp(x, -half, half - 1)


def divide(a: int, b: int) -> int:
    """a / b, truncated toward zero; 0 for b = 0, as SDIV gives."""
    if b == 0:
        return 0
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def round_term(shift: int, cmsis: str, rounding: str) -> int:
    """What is added before >> shift; 5.9.0 halves a signed 1 << 31."""
    if rounding == "truncate":
        return 0
    one = 1 << shift
    return (one if cmsis == "5.6.0" else wrap(one, 32)) >> 1


def halves(word: int) -> tuple[int, int]:
    """The two signed halfwords of a word, low first."""
    return wrap(word, 16), wrap(word >> 16, 16)


def octets(word: int) -> tuple[int, int, int, int]:
    """The four signed bytes of a word, lowest first."""
    a, b, c, d = (wrap(word >> shift, 8) for shift in (0, 8, 16, 24))
    return a, b, c, d


def join(lanes: Sequence[int], bits: int) -> int:
    """Lanes of so many bits, lowest first, as one unsigned word."""
    return sum((lane % (1 << bits)) << (bits * i) for i, lane in enumerate(lanes))
