"""Claims that z3 proves of C functions, for all inputs in the stated ranges.

A claim runs functions of the project on unknown numbers. It compares the results with each other or
with a formula on integers that are wide enough. `breaks` names edits of the C source that make the
claim false."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3
from edits import Break
from symbolic import (
    INT,
    LONG,
    UINT,
    ArrayType,
    Cell,
    Int,
    IntType,
    Machine,
    Pointer,
    Vector,
    number,
    widened,
)

#: Numbers of profiles: 8 * release + 2 * path + rounding.
RELEASE_700, RELEASE_MAIN, DOUBLE, SINGLE = 16, 24, 0, 1


@dataclass(frozen=True)
class Claim:
    """One claim, for each case of `cases`; `goals` yields what must be true of a run."""

    name: str
    source: str
    cases: list[Any]
    goals: Callable[[Machine, Any], Iterator[z3.BoolRef]]
    breaks: tuple[Break, ...]


ALL: list[Claim] = []


def claim(name: str, source: str, cases: Any, *breaks: tuple[str, str, str]) -> Callable[..., Any]:
    """Add the decorated function to the claims; `source` names what it includes."""
    includes = source if "\n" in source else f'#include "{source}"\n'

    def add(goals: Callable[[Machine, Any], Iterator[z3.BoolRef]]) -> Any:
        ALL.append(Claim(name, includes, list(cases), goals, tuple(Break(*b) for b in breaks)))
        return goals

    return add


# ---- terms ----


def unknown(name: str, type_: IntType = INT) -> Int:
    """Return any number of a type."""
    return Int(z3.BitVec(name, type_.bits), type_)


def integers(name: str, count: int, type_: IntType = INT) -> list[Int]:
    return [unknown(f"{name}{i}", type_) for i in range(count)]


def two(name: str, count: int, turn: int) -> list[Int]:
    """Return zeros but for two unknown numbers; cases take turns, so that each lane is unknown."""
    lanes = {turn % count, (turn + count // 2 + 1) % count}
    return [unknown(f"{name}{i}") if i in lanes else number(0) for i in range(count)]


def wide(x: Any, bits: int = 72) -> z3.BitVecRef:
    """Return a value with enough bits for the sums, products by 2 and shifts of formulas here."""
    return widened(x.term, bits, x.type.signed) if isinstance(x, Int) else z3.BitVecVal(x, bits)


def product(machine: Machine, a: Int, b: Int) -> z3.BitVecRef:
    return widened(machine.products.of(a.term, b.term), 72)


def floor(x: z3.BitVecRef, shift: int) -> z3.BitVecRef:
    """Return floor(x / 2^shift), or x * 2^-shift."""
    return x >> shift if shift >= 0 else x << -shift


def wrapped(x: z3.BitVecRef, bits: int = 32) -> z3.BitVecRef:
    """Return x modulo 2^bits, as a signed number."""
    return widened(z3.Extract(bits - 1, 0, x), x.size())


def clamped(x: z3.BitVecRef, low: Any, high: Any) -> z3.BitVecRef:
    low, high = (wide(v, x.size()) if not z3.is_bv(v) else v for v in (low, high))
    return z3.If(x < low, low, z3.If(x > high, high, x))


def rounded_away(x: z3.BitVecRef, n: int) -> z3.BitVecRef:
    """Return x / 2^n rounded to nearest, halves away from zero."""
    size = floor(z3.If(x < 0, -x, x) + 2**n // 2, n)
    return z3.If(x < 0, -size, size)


def high(p: z3.BitVecRef) -> z3.BitVecRef:
    """Return the upper half of a doubled product, halves up, modulo 2^32."""
    return wrapped(floor(p + 2**30, 31))


def same(a: Any, b: Any) -> z3.BoolRef:
    """Return the condition that two numbers are equal."""
    terms = [v if z3.is_bv(v) else wide(v) for v in (a, b)]
    bits = max(t.size() for t in terms)
    return widened(terms[0], bits) == widened(terms[1], bits)


# ---- fixed.h ----


@claim(
    "qn_rdp(): halves go away from zero, for every shift",
    "common/fixed.h",
    range(32),
    ("qn_rdp", "mask, 1)", "mask, 2)"),
    ("qn_rdp", "rest >", "rest >="),
)
def rounding_shift(m: Machine, n: int) -> Iterator[z3.BoolRef]:
    x = unknown("x")
    yield same(m.call("qn_rdp", x, number(n)), rounded_away(wide(x), n))


@claim(
    "qn_hm(): floor((ab + 2^30) / 2^31), gemmlowp's quotient "
    "toward zero of a nudged product, and "
    "SQRDMULH except for -2^31 * -2^31, where qn_hm_sat() saturates, too",
    "common/fixed.h",
    [0],
    ("qn_hm", "1 << 30", "(1 << 30) - 1"),
    ("qn_hm_sat", "? 2147483647", "? 2147483646"),
)
def high_multiply(m: Machine, case: int) -> Iterator[z3.BoolRef]:
    a, b = unknown("a"), unknown("b")
    p = product(m, a, b)
    least = z3.And(a.term == -(2**31), b.term == -(2**31))
    nudged = p + z3.If(p >= 0, wide(2**30), wide(1 - 2**30))
    size = z3.If(nudged < 0, -nudged, nudged) >> 31
    toward_zero = z3.If(nudged < 0, -size, size)
    got, saturated = m.call("qn_hm", a, b), m.call("qn_hm_sat", a, b)
    yield same(got, high(p))
    yield z3.Or(least, same(got, toward_zero))
    vectors = (Vector.of([v.term] * 4) for v in (a, b))
    sqrdmulh = m.invoke("vqrdmulhq_s32", list(vectors)).parts[0]
    yield saturated.term == sqrdmulh
    yield z3.Or(least, got.term == sqrdmulh)


@claim(
    "qn_requantize_double(): RDP(HM(x * 2^left modulo 2^32, m), right), for every shift",
    "common/fixed.h",
    range(-31, 32),
    ("qn_requantize_double", "shift > 0", "shift > 1"),
)
def double_rounding(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
    x, multiplier = unknown("x"), unknown("m")
    left, right = max(shift, 0), max(-shift, 0)
    moved = Int(z3.simplify(x.term << left), INT)
    expected = rounded_away(high(product(m, moved, multiplier)), right)
    yield same(m.call("qn_requantize_double", x, multiplier, number(shift)), expected)


@claim(
    "qn_requantize_single(): floor((floor(P / 2^(30-s)) + 1) / 2) "
    "= floor((P + 2^(30-s)) / 2^(31-s)) "
    "modulo 2^32, for every shift",
    "common/fixed.h",
    range(-31, 31),
    ("qn_requantize_single", "twice + 1", "twice + 2"),
)
def single_rounding(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
    x, multiplier = unknown("x"), unknown("m")
    p = product(m, x, multiplier)
    got = m.call("qn_requantize_single", x, multiplier, number(shift))
    yield same(got, wrapped(floor(floor(p, 30 - shift) + 1, 1)))
    yield same(got, wrapped(floor(p + 2 ** (30 - shift), 31 - shift)))


@claim(
    "7.0.0: its 32 bits for the doubled quotient, and 1 more, "
    "halved, are qn_requantize_single_700(), "
    "which is qn_requantize_single() of results from -2^30 up to 2^30 - 1",
    "common/fixed.h",
    range(-31, 31),
    ("qn_requantize_single_700", ", 1)), 1)", ", 2)), 2)"),
)
def single_rounding_700(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
    x, multiplier = unknown("x"), unknown("m")
    p = product(m, x, multiplier)
    got = m.call("qn_requantize_single_700", x, multiplier, number(shift))
    yield same(got, floor(wrapped(wrapped(floor(p, 30 - shift)) + 1), 1))
    once = m.call("qn_requantize_single", x, multiplier, number(shift))
    near = z3.And(once.term >= -(2**30), once.term < 2**30)
    yield near == (got.term == once.term)


@claim(
    "qn_requantize_twice(): floor((HM(x * 2^(s+n), m) + 2^(n-1)) / "
    "2^n), n = max(-s, 1), for every shift",
    "common/fixed.h",
    range(-31, 31),
    ("qn_requantize_twice", "right - 1", "right"),
)
def rounding_twice(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
    x, multiplier, n = unknown("x"), unknown("m"), max(-shift, 1)
    moved = Int(z3.simplify(x.term << shift + n), INT)
    expected = floor(high(product(m, moved, multiplier)) + 2 ** (n - 1), n)
    yield same(m.call("qn_requantize_twice", x, multiplier, number(shift)), expected)


@claim(
    "qn_requantize_lane() = qn_requantize() of Helium's other "
    "rows, where single rounding meets no "
    "shift to the left, or x * 2^(s+1) fits 32 bits (main)",
    "common/fixed.h",
    [(s, r) for s in range(-31, 31) for r in (DOUBLE, SINGLE)],
    ("qn_requantize_lane", "x, shift)), 1)", "x, shift)), 0)"),
)
def lanes(m: Machine, case: tuple[int, int]) -> Iterator[z3.BoolRef]:
    shift, rounding = case
    x, multiplier, profile = unknown("x"), unknown("m"), number(RELEASE_MAIN + 4 + rounding)
    lane = m.call("qn_requantize_lane", profile, x, multiplier, number(shift))
    other = m.call("qn_requantize", profile, x, multiplier, number(shift))
    if rounding == SINGLE and shift >= 0:
        m.assumed.append(wrapped(wide(x) << shift + 1) == wide(x) << shift + 1)
        moved = m.products.of(x.term << shift + 1, multiplier.term)
        p = m.products.of(x.term, multiplier.term)
        m.products.facts.append(moved == p << shift + 1)  # of numbers that fit
    yield same(wrapped(wide(lane)), other)


@claim(
    "qn_multiplier16(): min(2^15 - 1, floor((m + 2^15) / 2^16)) of any m that is not negative",
    "common/fixed.h",
    [0],
    ("qn_multiplier16", "15), 16", "14), 16"),
)
def multiplier_of_16(m: Machine, case: int) -> Iterator[z3.BoolRef]:
    x = unknown("m")
    m.assumed.append(x.term >= 0)
    rounded = floor(wide(x) + 2**15, 16)
    expected = z3.If(rounded > 2**15 - 1, wide(2**15 - 1), rounded)
    yield same(m.call("qn_multiplier16", x), expected)


@claim(
    "qn_requantize64_by16(): (t + 1) >> 1, t = floor(x * m16 / "
    "2^(14-s)) modulo 2^32; qn_requantize64_tflm() "
    "is the same where that is within 2^30, for every shift",
    "common/fixed.h",
    range(-31, 8),
    ("qn_requantize64_by16", "14 - shift", "15 - shift"),
    ("qn_requantize64_tflm", "15 - shift", "14 - shift"),
)
def requantized_64(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
    x, multiplier = unknown("x", LONG), unknown("m")
    m.assumed += [x.term < 2**47, x.term > -(2**47), multiplier.term >= 0]
    by = m.call("qn_multiplier16", multiplier)
    m.assumed += [by.term >= 0, by.term < 2**15]
    p = widened(x.term * widened(by.term, 64), 72)  # below 2^62 in size
    t = wrapped(floor(p, 14 - shift))
    got = m.call("qn_requantize64_by16", x, by, number(shift))
    yield same(got, floor(wrapped(t + 1), 1))
    exact = floor(p + 2 ** (14 - shift), 15 - shift)
    tflm = m.call("qn_requantize64_tflm", x, multiplier, number(shift))
    m.assumed += [p < 2**62, p > -(2**62)]
    yield same(tflm, wrapped(exact))
    yield z3.Implies(z3.And(exact >= -(2**30), exact < 2**30), same(got, exact))


@claim(
    "qn_sat8(), qn_sat16(), qn_usat(), qn_shl_sat(): what does not fit is clamped, for every shift",
    "common/fixed.h",
    range(32),
    ("qn_sat8", "127", "126"),
    ("qn_shl_sat", "<< n", "<< (n | 1)"),
)
def saturation(m: Machine, n: int) -> Iterator[z3.BoolRef]:
    x = unknown("x")
    yield same(m.call("qn_sat8", x), clamped(wide(x), -128, 127))
    yield same(m.call("qn_sat16", x), clamped(wide(x), -32768, 32767))
    yield same(m.call("qn_shl_sat", x, number(n)), clamped(wide(x) << n, -(2**31), 2**31 - 1))
    if n <= 30:
        yield same(m.call("qn_usat", x, number(n)), clamped(wide(x), 0, 2**n - 1))


@claim(
    "accumulators of q7 and q15: floor(acc / 2^shift), saturated; "
    "(x + R(s)) >> s rounds halves up, but "
    "for 5.9.0's R(31) = -2^30",
    "common/fixed.h",
    range(32),
    ("qn_acc_q7", "qn_sat8", "qn_wrap8"),
    ("qn_round_term", "one >> 1", "one >> 2"),
)
def accumulators(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
    acc = unknown("acc", UINT)
    value = wrapped(wide(acc))
    yield same(m.call("qn_acc_q7", acc, number(shift)), clamped(floor(value, shift), -128, 127))
    yield same(
        m.call("qn_acc_q15", acc, number(shift)), clamped(floor(value, shift), -32768, 32767)
    )
    for profile, odd in ((0, 2**30), (8, -(2**30))):
        term = m.call("qn_round_term", number(profile), number(shift))
        yield same(term, odd if shift == 31 else 2**shift // 2)
        yield same(m.call("qn_round_term", number(profile + 1), number(shift)), 0)


# ---- arm_dsp.h ----


@claim(
    "models of DSP instructions: each lane by itself, sums and "
    "differences saturate or wrap as named",
    "common/arm_dsp.h",
    [0],
    ("arm_qadd8", "lane < 4", "lane < 3"),
    ("arm_qsub16", "qn_sat16", "qn_wrap16"),
    ("arm_sxtb16_ror8", "8)", "16)"),
    ("arm_smlad", "arm_high(b)", "arm_low(b)"),
)
def dsp_instructions(m: Machine, case: int) -> Iterator[z3.BoolRef]:
    a, b, c = (unknown(name, UINT) for name in "abc")

    def lane(x: Int, i: int, bits: int) -> z3.BitVecRef:
        return widened(z3.Extract(bits * i + bits - 1, bits * i, x.term), 72)

    for bits, of in ((16, "16"), (8, "8")):
        low, high_ = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        for name, sign in (("arm_qadd", 1), ("arm_qsub", -1)):
            got = m.call(name + of, a, b)
            for i in range(32 // bits):
                exact = lane(a, i, bits) + sign * lane(b, i, bits)
                yield lane(got, i, bits) == clamped(exact, low, high_)
    wrapping = m.call("arm_sadd16", a, b)
    dot = m.call("arm_smlad", a, b, c)
    halves = [lane(a, i, 16) * lane(b, i, 16) for i in (0, 1)]
    yield wrapped(wide(dot)) == wrapped(halves[0] + halves[1] + wide(c))
    even, odd = m.call("arm_sxtb16", a), m.call("arm_sxtb16_ror8", a)
    for i in (0, 1):
        yield lane(wrapping, i, 16) == wrapped(lane(a, i, 16) + lane(b, i, 16), 16)
        yield lane(even, i, 16) == lane(a, 2 * i, 8)
        yield lane(odd, i, 16) == lane(a, 2 * i + 1, 8)
    bottom, top = m.call("arm_pkhbt16", a, b), m.call("arm_pkhtb16", a, b)
    yield z3.And(lane(bottom, 0, 16) == lane(a, 0, 16), lane(bottom, 1, 16) == lane(b, 0, 16))
    yield z3.And(lane(top, 0, 16) == lane(b, 1, 16), lane(top, 1, 16) == lane(a, 1, 16))


# ---- epilogues of s8 and s16 ----


def sums(values: list[Int]) -> Vector:
    return Vector.of([value.term for value in values])


def channel(m: Machine, multiplier: Int, shift: int, most: int = 2**31) -> Pointer:
    value = m.make(
        "epilogue_channel",
        multiplier=multiplier,
        shift=number(shift),
        most=number(most, LONG),
        bias=number(0, LONG),
    )
    return Pointer([Cell(None, value)])


def lanes_of(m: Machine, numbers: list[Any]) -> dict[str, Cell]:
    """Return the epilogue_vector that set_lane() makes of the channel_numbers of each lane."""
    vector = Cell(None, m.make("epilogue_vector"))
    for lane, each in enumerate(numbers):
        m.call("set_lane", Pointer([vector]), number(lane), Pointer([Cell(None, each)]))
    return vector.value


VECTORS = {
    "AVX2": ("s/epilogue_avx2.inc", 8),
    "AVX-512": ("s/epilogue_avx512.inc", 16),
}
EVERY_SHIFT = [(s, p) for s in range(-31, 31) for p in (RELEASE_700, RELEASE_MAIN)]


def exact_epilogue(isa: str, count: int, rounding: int) -> Callable[..., Iterator[z3.BoolRef]]:
    def goals(m: Machine, case: tuple[int, int]) -> Iterator[z3.BoolRef]:
        shift, release = case
        profile = number(release + rounding)
        x, multipliers = two("x", count, -shift), two("m", count, -shift)
        numbers = [
            m.call("exact_numbers", channel(m, each, shift), profile) for each in multipliers
        ]
        name, kind = ("requantized_single", "once") if rounding else ("requantized_double", "twice")
        got = m.call(name, Pointer([lanes_of(m, numbers)[kind]]), sums(x)).lanes(32)
        for lane in range(count):
            plain = m.call("qn_requantize", profile, x[lane], multipliers[lane], number(shift))
            yield got[lane] == plain.term

    return goals


def quick_epilogue(count: int, run: Callable[..., list[z3.BitVecRef]]) -> Callable[..., Any]:
    def goals(m: Machine, case: tuple[int, int]) -> Iterator[z3.BoolRef]:
        shift, number_of_profile = case
        offset, profile = unknown("offset"), number(number_of_profile)
        m.assumed += [offset.term >= -128, offset.term <= 128]
        last = m.make("s_epilogue", profile=profile, output_offset=offset)
        x, multipliers = two("x", count, -shift), two("m", count, -shift)
        m.assumed += [z3.And(v.term > -(2**30), v.term < 2**30) for v in x]
        m.assumed += [v.term != 0 for v in multipliers if v.known is None]
        multipliers = [number(0)] * count if shift == 0 else multipliers
        numbers = []
        for each in multipliers:
            found = Cell(None, m.make("channel_numbers"))
            given = (
                channel(m, each, shift, 2**30 - 1),
                Pointer([Cell(None, last)]),
                Pointer([found]),
            )
            assert m.call("find_quick", *given).known == 1
            numbers.append(found.value)
        lanes = Pointer([lanes_of(m, numbers)["quick"]])
        for lane, got in enumerate(run(m, lanes, x)):
            plain = m.call("qn_requantize", profile, x[lane], multipliers[lane], number(shift))
            yield got == plain.term + offset.term

    return goals


def quick_vector(m: Machine, lanes: Pointer, x: list[Int]) -> list[z3.BitVecRef]:
    return m.call("requantized_quick", lanes, sums(x)).lanes(32)


def quick_scalar(m: Machine, lanes: Pointer, x: list[Int]) -> list[z3.BitVecRef]:
    calls = [m.call("requantized_quick", lanes, number(i), v) for i, v in enumerate(x)]
    return [value.term for value in calls]


#: Shift 0 stands for a multiplier of 0, which makes any shift one of -1.
QUICK = [(s, p + r) for s in range(-20, 1) for p in (RELEASE_700, RELEASE_MAIN) for r in (0, 1)]
QUICK_BREAKS = ("find_quick", "/ 2 +", "/ 4 +"), ("set_factor", "lane - 1", "lane")
for isa, (path, lanes_) in VECTORS.items():
    claim(
        f"requantized_double() on {isa} = qn_requantize() of each lane, "
        "for every sum, multiplier and shift",
        path,
        EVERY_SHIFT[1::2],
        ("requantized_double", "1 << 30", "1 << 29"),
        ("exact_numbers", ", right) >> 1", ", right) >> 2"),
    )(exact_epilogue(isa, lanes_, DOUBLE))
    claim(
        f"requantized_single() on {isa} = qn_requantize() of each lane, "
        "for every sum, multiplier, shift and release",
        path,
        EVERY_SHIFT,
        ("exact_numbers", "30 - shift", "29 - shift"),
        ("requantized_single", "right, 32", "right, 31"),
    )(exact_epilogue(isa, lanes_, SINGLE))
    claim(
        f"requantized_quick() on {isa} = qn_requantize() + offset: sums "
        "below 2^30, shifts -20..-1, offsets "
        "-128..128, any multiplier",
        path,
        QUICK,
        *QUICK_BREAKS,
    )(quick_epilogue(lanes_, quick_vector))


claim(
    "requantized_quick() on Neon = qn_requantize() + offset, as on AVX2 (double rounding)",
    '#include <arm_neon.h>\n#include "gemm/neon.inc"\n#include "s/epilogue_neon.inc"\n',
    QUICK[::2],
    ("requantized_quick", "vaddq_s32(t", "vaddq_s32(nudge"),
)(quick_epilogue(4, quick_vector))


claim(
    "requantized_quick() without vectors = qn_requantize() + offset, as on AVX2",
    'enum { LANES = 4 };\n#include "s/epilogue_portable.inc"\n',
    QUICK,
    ("requantized_quick", "2 * product", "3 * product"),
)(quick_epilogue(4, quick_scalar))


def wide_epilogue(count: int) -> Callable[..., Any]:
    def goals(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
        x, multipliers = two("x", count, -shift), two("m", count, -shift)
        m.assumed += [v.term >= 0 for v in multipliers]
        numbers = [m.call("wide_numbers_of", each, number(shift)) for each in multipliers]
        got = m.call("requantized_wide", Pointer([lanes_of(m, numbers)["wide"]]), sums(x)).lanes(32)
        for lane in range(count):
            by = m.call("qn_multiplier16", multipliers[lane])
            p = m.products.of(x[lane].term, by.term)
            m.products.facts += [p <= 2**46, p >= -(2**46)]  # of 32 by 15 bits
            t = wrapped(floor(widened(p, 72), 14 - shift))
            yield same(widened(got[lane], 72), floor(wrapped(t + 1), 1))

    return goals


for isa, path, lanes_ in (
    ("AVX2", "s/epilogue_s16_avx2.inc", 8),
    ("AVX-512", "s/epilogue_s16_avx512.inc", 16),
):
    claim(
        f"requantized_wide() on {isa}: the formula of "
        "qn_requantize64_by16() in each lane, for every shift",
        path,
        range(-31, 8),
        ("requantized_wide", "set1_epi32(1)", "set1_epi32(2)"),
    )(wide_epilogue(lanes_))


@claim(
    "softmax on AVX2: outputs() = RDP(HM(reciprocal, e), n) + "
    "lowest of each element, saturated to 16 bits, "
    "for n = 1..31",
    "s/tables/softmax_avx2.c",
    [(n, low) for n in range(1, 32) for low in (-128, 0, -32768)],
    ("outputs", "1 << 30", "1 << 29"),
    ("outputs", ", 31), 32", ", 31), 31"),
)
def softmax_outputs(m: Machine, case: tuple[int, int]) -> Iterator[z3.BoolRef]:
    n, lowest = case
    e, reciprocal = two("e", 8, n), unknown("reciprocal")
    m.assumed += [v.term >= 0 for v in (*e, reciprocal)]
    by = m.make("division")
    for name, value in (
        ("reciprocal", reciprocal),
        ("nudge", number(2 ** (n - 1))),
        ("lowest", number(lowest)),
    ):
        by[name].value = Vector.of([value.term] * 8)
    by["shift"].value = Vector.of([z3.BitVecVal(n, 128)])
    got = m.call("outputs", Pointer([Cell(None, by)]), sums(e)).lanes(16)
    m.products.facts += [f[2] >= 0 for f in m.products.factors]  # of factors that are not negative
    for lane in range(8):
        high_ = m.call("qn_hm", reciprocal, e[lane])
        exact = wide(m.call("qn_rdp", high_, number(n))) + lowest
        yield same(widened(got[lane], 72), clamped(exact, -32768, 32767))


# ---- elements ----


def uniform_claim(count: int) -> Callable[..., Any]:
    most = (2**30 - 1) * (2**31 - 1)  # of such products

    def goals(m: Machine, shift: int) -> Iterator[z3.BoolRef]:
        x, multiplier = two("x", count, -shift), unknown("multiplier")
        m.assumed.append(multiplier.term >= 0)
        for each in x:
            m.assumed += [each.term > -(2**30), each.term < 2**30]
            p = m.products.of(each.term, multiplier.term)
            m.products.facts += [p >= -most, p <= most]
        numbers = Cell(None, m.call("s_uniform_of", multiplier, number(0), number(shift)))
        of = Pointer([Cell(None, m.call("uniform_of", Pointer([numbers])))])
        got = m.call("requantized", of, sums(x)).lanes(32)
        for lane in range(count):
            plain = m.call("qn_requantize_double", x[lane], multiplier, number(shift))
            yield got[lane] == plain.term

    return goals


for isa, lanes_ in (("avx2", 8), ("avx512", 16)):
    claim(
        f"elements on {isa.upper()}: requantized() by one multiplier = qn_requantize_double(), for "
        "elements below 2^30 and shifts -31..0",
        f"s/elementwise/elementwise_{isa}.c",
        range(-31, 1),
        ("s_uniform_of", "half << n", "half << (n - 1)"),
        ("requantized", "odd, u->add", "odd, u->multiplier"),
    )(uniform_claim(lanes_))


@claim(
    "tables of bytes on AVX2: look_up() = the entry of every byte, whatever the table holds",
    '#include "s/tables/table_avx2.c"\n#include "s/tables/table_portable.c"\n',
    range(0, 256, 64),
    ("look_up", "ENTRIES / 2", "ENTRIES / 4"),
    ("pack_steps", "i - SIXTEENTH", "i - 1"),
)
def looked_up(m: Machine, first: int) -> Iterator[z3.BoolRef]:
    byte = IntType(8, False)
    table = integers("entry", 256, byte)
    steps = [Cell(byte, number(0, byte)) for _ in table]
    m.call("pack_steps", Pointer([Cell(byte, each) for each in table]), Pointer(steps))
    of = [Vector.of([z3.BitVecVal(first + 32 * i + k, 8) for k in range(32)]) for i in (0, 1)]
    found = [Cell(None, None), Cell(None, None)]
    m.call("look_up", Pointer(steps), Pointer([Cell(None, v) for v in of]), Pointer(found))
    for i, cell in enumerate(found):
        for k, lane in enumerate(cell.value.lanes(8)):
            yield lane == table[first + 32 * i + k].term


# ---- packs ----


def interleaved(vectors: list[list[Any]], each: int) -> list[Any]:
    """Return lanes in the order of saturating packs: `each` lanes of each vector in turn."""
    starts = range(0, len(vectors[0]), each)
    return [v for i in starts for of in vectors for v in of[i : i + each]]


def limits(m: Machine, low: int, high_: int) -> tuple[Int, Int]:
    least, most = unknown("act_min"), unknown("act_max")
    m.assumed += [least.term >= low, least.term <= most.term, most.term <= high_]
    return least, most


def s8_bytes(isa: str, count: int, kind: str) -> Callable[..., Any]:
    def goals(m: Machine, flips: int) -> Iterator[z3.BoolRef]:
        least, most = limits(m, -128, 127)
        offset = unknown("offset")
        m.assumed += [offset.term >= -128, offset.term <= 128]
        s = m.make("epilogue_params", kind=m.enumerator(kind), exact_offset=offset)
        linear = kind == "EPILOGUE_LINEAR"
        if isa == "AVX2":
            for name, bound in (("most", most), ("least", least)):
                s[name].value = Vector.of([z3.Extract(7, 0, bound.term)] * 32)
        else:
            last = m.make(
                "s_epilogue",
                profile=number(RELEASE_MAIN),
                output_offset=offset,
                act_min=least,
                act_max=most,
            )
            vector = m.make("epilogue_vector", kind=m.enumerator(kind))
            given = Pointer([Cell(None, last)]), Pointer([Cell(None, vector)])
            s = m.call("epilogue_of", *given)
            m.call("flip_signs", Pointer([Cell(None, s)]), number(flips))
            s = m.call("epilogue_from", Pointer([Cell(None, s)]), number(0))
        vectors = [integers(name, count) for name in "abcd"]
        own = Pointer([Cell(None, s)])
        got = m.call("epilogue_pack", own, *(sums(v) for v in vectors)).lanes(8)
        for x, byte in zip(interleaved(vectors, 4), got):
            value, byte = wide(x), byte ^ (128 * flips)
            if linear and isa == "AVX-512":  # low halves of 0x4b400000 + output with offset 128
                m.assumed += [x.term >= 0x4B400000 - 32000, x.term <= 0x4B400000 + 32000]
                yield same(widened(byte, 72), clamped(wide(x) - 0x4B400000 - 128, -128, 127))
                continue
            if kind == "EPILOGUE_FLOATS":
                m.assumed += [x.term >= -(2**30), x.term <= 2**30]
                value = value + wide(offset)
            yield same(widened(byte, 72), clamped(value, wide(least), wide(most)))

    return goals


for isa, (path, lanes_) in VECTORS.items():
    claim(
        f"bytes of s8 on {isa}: chains of saturating packs = clamping "
        "of each lane to [act_min, act_max], of any "
        "32 bits (quick and exact sums)",
        path,
        [0] if isa == "AVX2" else [0, 1],
        ("bytes_of", "min_epi8", "max_epi8"),
        ("epilogue_pack", "packs_epi32(c, d)", "packs_epi32(d, c)"),
    )(s8_bytes(isa, lanes_, "EPILOGUE_QUICK"))
claim(
    "bytes of s8 on AVX-512, of floats: the offset is added to "
    "saturated halfwords, then clamped: the same as "
    "clamping sums of both, below 2^30",
    VECTORS["AVX-512"][0],
    [0, 1],
    ("bytes_of", "adds_epi16(high", "adds_epi16(low"),
)(s8_bytes("AVX-512", 16, "EPILOGUE_FLOATS"))
claim(
    "bytes of s8 on AVX-512, linear: low halves of dwords from 1.5 "
    "* 2^23 - 32000 to + 32000, clamped to 0..255, "
    "with the sign flipped = clamping to -128..127",
    VECTORS["AVX-512"][0],
    [0, 1],
    ("low_halves", "0xff", "0x7f"),
)(s8_bytes("AVX-512", 16, "EPILOGUE_LINEAR"))


def halfwords(count: int) -> Callable[..., Any]:
    def goals(m: Machine, case: int) -> Iterator[z3.BoolRef]:
        least, most = limits(m, -32768, 32767)
        s = m.make("epilogue_params")
        for name, bound in (("most", most), ("least", least)):
            s[name].value = Vector.of([z3.Extract(15, 0, bound.term)] * (2 * count))
        vectors = [integers(name, count) for name in "ab"]
        got = m.call("epilogue_pack", Pointer([Cell(None, s)]), *(sums(v) for v in vectors))
        for x, half in zip(interleaved(vectors, 4), got.lanes(16)):
            yield same(widened(half, 72), clamped(wide(x), wide(least), wide(most)))

    return goals


for isa, path, lanes_ in (
    ("AVX2", "s/epilogue_s16_avx2.inc", 8),
    ("AVX-512", "s/epilogue_s16_avx512.inc", 16),
):
    claim(
        f"halfwords of s16 on {isa}: saturating packs = clamping of "
        "each lane to [act_min, act_max], of any 32 bits",
        path,
        [0],
        ("bounded", "min_epi16", "max_epi16"),
    )(halfwords(lanes_))


def q7_bytes(count: int, packs: int) -> Callable[..., Any]:
    def goals(m: Machine, case: tuple[int, int]) -> Iterator[z3.BoolRef]:
        shift, relu = case
        s = m.call("epilogue_of", number(shift), number(relu))
        own = Pointer([Cell(None, s)])
        vectors = [integers(name, count) for name in "abcd"[:packs]]
        cells = [Cell(None, sums(v)) for v in vectors]
        tile = Pointer([Cell(ArrayType(None, packs), cells)])
        m.call("shift_tile", own, number(1), number(packs), tile)
        moved = [cell.value for cell in cells]
        got = m.call("epilogue_pack", own, *moved)
        name, bits = ("qn_acc_q7", 8) if packs == 4 else ("qn_acc_q15", 16)
        for x, lane in zip(interleaved(vectors, 4), got.lanes(bits)):
            plain = wide(m.call(name, Int(x.term, UINT), number(shift)))
            yield same(widened(lane, 72), z3.If(plain < 0, wide(0), plain) if relu else plain)

    return goals


Q = [(shift, relu) for shift in range(32) for relu in (0, 1)]
for name, packs in (("q7", 4), ("q15", 2)):
    for isa, lanes_ in (("avx2", 8), ("avx512", 16)):
        claim(
            f"{name} on {isa.upper()}: shift, saturating packs and "
            f"rectification = qn_acc_{name}() of each lane, for "
            "every shift",
            "#include <stdint.h>\n#include <immintrin.h>\n#include "
            f'"common/fixed.h"\n#include "q/epilogue_{name}_{isa}.inc"\n',
            Q,
            ("epilogue_of", "relu ? 0", "relu ? 1"),
        )(q7_bytes(lanes_, packs))


def npu_bytes(count: int) -> Callable[..., Any]:
    def goals(m: Machine, first: int) -> Iterator[z3.BoolRef]:
        shifts = [[(first + v * count + i) % 32 for i in range(count)] for v in range(4)]
        cells = [Cell(INT, number(shift)) for of in shifts for shift in of]
        own = Pointer([Cell(None, m.call("epilogue_of", Pointer(cells)))])
        vectors = [integers(name, count) for name in "abcd"]
        tile = [Cell(None, sums(v)) for v in vectors]
        m.call("shift_tile", own, number(1), number(4), Pointer([Cell(ArrayType(None, 4), tile)]))
        got = m.call("epilogue_pack", own, *(cell.value for cell in tile)).lanes(8)
        pairs = interleaved([list(zip(x, by)) for x, by in zip(vectors, shifts)], 4)
        for (x, shift), byte in zip(pairs, got):
            yield same(widened(byte, 72), clamped(floor(wide(x), shift), -128, 127))

    return goals


for isa, lanes_ in (("avx2", 8), ("avx512", 16)):
    claim(
        f"bytes of the NPU on {isa.upper()}: a shift of each lane and saturating packs = "
        "floor(sum / 2^shift), saturated",
        f'#include <immintrin.h>\n#include "wuqi/epilogue_{isa}.inc"\n',
        range(0, 32, lanes_ // 2),
        ("bytes_of", "(low, high)", "(high, low)"),
    )(npu_bytes(lanes_))


# ---- the NPU ----


NPU = {"AVX2": ("avx2", 8, 1), "AVX-512": ("avx512", 16, 2)}
NPU_TEXT = {isa: f'#include "wuqi/convolve_s16_{NPU[isa][0]}.c"\n' for isa in NPU}


def near_sums(m: Machine, exact: list[Int], high_: list[Int], bits: int = 16) -> list[Vector]:
    """Return high and low of exact sums, where high_suffices() leaves room for 4 * 2^16."""
    half = m.enumerator("HALF").known << 16 - bits
    for s, h in zip(exact, high_):
        off = wide(s) - ((wide(h) - half) << bits)
        m.assumed += [
            s.term < 2**47,
            s.term > -(2**47),
            h.term < 2**31 - 2**18,
            h.term > -(2**31) + 2**18,
        ]
        m.assumed += [off < 2**31 - 2**17, off > -(2**31) + 2**17]
    return [sums(high_), Vector.of([z3.Extract(31, 0, s.term) for s in exact])]


def nearest_sums(isa: str) -> Callable[..., Any]:
    def goals(m: Machine, case: int) -> Iterator[z3.BoolRef]:
        count = NPU[isa][1]
        exact = integers("sum", count, LONG)
        high_, low = near_sums(m, exact, integers("high", count))
        for s, lane in zip(exact, m.call("nearest", high_, low).lanes(32)):
            yield same(widened(lane, 72), floor(wide(s), 16))

    return goals


for isa in NPU:
    claim(
        f"the NPU's 16 bits on {isa}: nearest() is floor(sum / 2^16) of "
        "any sum that high * 2^16 misses by less "
        "than 2^31 - 2^17",
        NPU_TEXT[isa],
        [0],
        ("nearest", "low, 16", "low, 15"),
    )(nearest_sums(isa))


@claim(
    "the NPU's 16 bits on AVX2: sum_with() is the same of high with 8 more bits",
    NPU_TEXT["AVX2"],
    [0],
    ("sum_with", "16 - 8", "15 - 8"),
)
def sums_with_8_bits(m: Machine, case: int) -> Iterator[z3.BoolRef]:
    exact = integers("sum", 8, LONG)
    high_, low = near_sums(m, exact, integers("high", 8), bits=8)
    none = sums([number(0)] * 8)
    for s, lane in zip(exact, m.call("sum_with", none, high_, low).lanes(32)):
        yield same(widened(lane, 72), floor(wide(s), 16))


def packed_ending(m: Machine, shifts: list[int]) -> Pointer:
    """Return the ending that pack_ending() makes of channels with these shifts."""
    channels = [
        Cell(None, m.make("n_channel", start=number(0, LONG), shift=number(s, LONG)))
        for s in shifts
    ]
    filters = m.make("filters", outputs=Pointer(channels), channels=number(len(shifts)))
    ending = Pointer([Cell(None, m.make("ending"))])
    m.models["split_k_order"] = lambda *given: None  # of slices of fewer channels
    m.call("pack_ending", Pointer([Cell(None, filters)]), ending)
    return ending


def npu_outputs(isa: str) -> Callable[..., Any]:
    def goals(m: Machine, case: tuple[int, int]) -> Iterator[z3.BoolRef]:
        _, count, vectors = NPU[isa]
        all_ = vectors * count
        shifts = [case[i % 2] for i in range(all_)]
        ending = packed_ending(m, shifts)
        fields = ending.cell.value
        exact, high_ = [number(0, LONG)] * all_, [m.enumerator("HALF")] * all_
        for lane in (case[0] % all_, (case[0] + all_ // 2 + 1) % all_):  # the others' sums are 0
            exact[lane], high_[lane] = unknown(f"sum{lane}", LONG), unknown(f"high{lane}")
        # tile_channel() orders the channels of all lanes
        of = [m.call("tile_channel", number(i)).known for i in range(all_)]
        near_sums(m, exact, high_)
        low = [Int(z3.Extract(31, 0, s.term), INT) for s in exact]
        lanes = [
            [sums([x[of[v * count + i]] for i in range(count)]) for v in range(vectors)]
            for x in (low, high_)
        ]
        if isa == "AVX2":
            sum_ = m.call("nearest", lanes[1][0], lanes[0][0])
            by, above = (
                sums([c.value for c in fields[name].value]) for name in ("shifts", "above")
            )
            got = m.call("outputs", sum_, lanes[0][0], by, above).lanes(16)
        else:
            cells = [Pointer([Cell(None, v) for v in each]) for each in lanes]
            got = m.call(
                "outputs", fields["kind"].value, ending, Pointer(fields["above"].value), *cells
            )
            got = got.lanes(16)
        for s, shift, half in zip(exact, shifts, got):
            yield same(widened(half, 72), clamped(floor(wide(s), shift), -32768, 32767))

    return goals


SHIFTS = [(s, s) for s in range(64)] + [(s, other) for s in range(0, 64, 7) for other in (16, 17)]
for isa in NPU:
    claim(
        f"the NPU's 16 bits on {isa}: outputs() of high and low = the sum over 2^shift, "
        "saturated, for every shift 0..63 and in every lane, two shifts in a slice too",
        NPU_TEXT[isa],
        SHIFTS,
        ("pack_ending", "shift - 16", "shift - 15"),
    )(npu_outputs(isa))
