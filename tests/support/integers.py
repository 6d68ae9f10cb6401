"""The device's integer arithmetic on Python's integers, which have no width."""

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
    """Return the addend before >> shift; 5.9.0 halves a signed 1 << 31."""
    if rounding == "truncate":
        return 0
    one = 1 << shift
    return (one if cmsis == "5.6.0" else wrap(one, 32)) >> 1


def halves(word: int) -> tuple[int, int]:
    """Return the two signed halfwords of a word, low first."""
    return wrap(word, 16), wrap(word >> 16, 16)


def octets(word: int) -> tuple[int, int, int, int]:
    """Return the four signed bytes of a word, lowest first."""
    a, b, c, d = (wrap(word >> shift, 8) for shift in (0, 8, 16, 24))
    return a, b, c, d


def join(lanes: Sequence[int], bits: int) -> int:
    """Lanes of so many bits, lowest first, as one unsigned word."""
    return sum((lane % (1 << bits)) << (bits * i) for i, lane in enumerate(lanes))


def rdp(x, n):
    """x / 2^n rounded to nearest, halves away from zero."""
    return (abs(x) + 2**n // 2) // 2**n * (1 if x > 0 else -1)


def hm(a, b):
    """a * b / 2^31 rounded to nearest, halves up."""
    return wrap((a * b + 2**30) // 2**31, 32)


def requantize_double(x, multiplier, shift):
    return rdp(hm(wrap(x << max(shift, 0), 32), multiplier), max(-shift, 0))


def requantize_single(x, multiplier, shift):
    return wrap((x * multiplier // 2 ** (30 - shift) + 1) // 2, 32)


def requantize_single_700(x, multiplier, shift):
    """Halve the sum of 1 and the doubled product in 32 bits."""
    return wrap(wrap(x * multiplier // 2 ** (30 - shift), 32) + 1, 32) >> 1


def requantize_lane(x, multiplier, profile, shift):
    if profile % 2 == 0 or shift < 0:
        return requantize(x, multiplier, profile, shift)
    return (wrap(x << shift + 1, 32) * multiplier // 2**31 + 1) // 2


def requantize(x, multiplier, profile, shift):
    """profile: of 7.0.0 below 24, then of main-2026-07."""
    single = requantize_single_700 if profile < 24 else requantize_single
    return (single if profile % 2 else requantize_double)(x, multiplier, shift)


def multiplier16(multiplier):
    return min(2**15 - 1, (multiplier + 2**15) // 2**16)


def requantize64(x, multiplier, shift):
    return wrap(wrap(x * multiplier16(multiplier) // 2 ** (14 - shift), 32) + 1, 32) >> 1


def requantize64_tflm(x, multiplier, shift):
    product = x * multiplier16(multiplier)
    return wrap((product + 2 ** (14 - shift)) // 2 ** (15 - shift), 32)
