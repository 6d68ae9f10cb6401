"""Every primitive of fixed.h and every instruction model of arm_dsp.h = its meaning in integers.

One line of the table below is one C expression in a, b and c, the same in Python, and the values
that a, b and c run through: all of them for 8-bit lanes, corners for wider ones.
"""

import ctypes
import itertools
import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from integers import (
    clamp,
    divide,
    halves,
    hm,
    join,
    multiplier16,
    octets,
    rdp,
    requantize,
    requantize64,
    requantize64_tflm,
    requantize_double,
    requantize_lane,
    requantize_single,
    requantize_single_700,
    round_term,
    saturate,
    wrap,
)
from paths import ROOT

CSRC = ROOT / "csrc" / "common"
HEADERS = ("fixed.h", "elementary.h", "arm_dsp.h")

#: Functions that answer through pointers, as expressions.
WRAPPERS = """
static uint32_t through_memory(uint32_t word, int offset) {
    unsigned char memory[8] = {0};
    arm_store(memory + offset, word);
    return arm_load(memory + offset);
}
static int64_t two_words(uint32_t first, uint32_t second) {
    return (int64_t)(first | (uint64_t)second << 32);
}
static int32_t nibble(int8_t first, int8_t second, int64_t index) {
    int8_t packed[2] = {first, second};
    return qn_nibble(packed, index);
}
static int64_t expand(uint32_t bytes) {
    uint32_t first, second;
    arm_expand(bytes, &first, &second);
    return two_words(first, second);
}
static int64_t expand_reordered(uint32_t bytes) {
    uint32_t first, second;
    arm_expand_reordered(bytes, &first, &second);
    return two_words(first, second);
}
"""

POWERS = [1 << k for k in range(31)]
INT32 = sorted({s * p + d for p in POWERS for s in (1, -1) for d in (-1, 0, 1)})
INT32 += [-(2**31), -(2**31) + 1, 2**31 - 1]
INT64 = sorted({x * 2**31 + d for x in INT32 for d in (-1, 0, 1)} | set(INT32))
UINT32 = sorted({x % 2**32 for x in INT32})
INT16 = [-32768, -32767, -16385, -256, -129, -128, -1, 0, 1, 127, 255, 16384, 32766, 32767]
SHIFTS = range(32)
INT63 = [s * 2**62 + d for s in (-2, -1, 1) for d in (0, 1)] + [2**63 - 1]
INT47 = [x for x in INT64 if abs(x) < 2**47]
MULTIPLIERS = [0, 2**30, 2**30 + 1, 1518500250, 0x7FFEFFFF, 0x7FFF0000, 2**31 - 1]
#: -1/8 to 1/8, and 0 to 1 but for 1, in units of 2^-31.
EIGHTHS = [*range(-(2**28), 2**28, 2**18 - 1), 2**28]
FRACTIONS = [*range(0, 2**31, 2**20 - 1), 2**31 - 1]
PROFILES = range(72)
#: Those of the q7 and q15 API.
LEGACY_PROFILES = range(16)
RELEASES = ("5.6.0", "5.9.0")
ROUNDINGS = ("nearest", "truncate")

#: Bits of float32: factors around 1 and small ones, and what is added to a product.
FACTORS = [int(np.float32(x).view(np.int32)) for x in (0, 0.1, 0.3, 0.999, 1, 1.5, 2.75, 1e30)]
STARTS = [int(np.float32(x).view(np.int32)) for x in (0, -0.5, 0.25, -128, -76.3, 1e9)]
#: Every place of lines of some lengths, and how lengths and options come along.
LENGTHS = [1, 2, 3, 5, 7, 10, 16, 31, 33]
PLACES = [
    (x, source << 16 | target, flags)
    for source, target, flags in itertools.product(LENGTHS, LENGTHS, range(4))
    for x in range(target)
]

#: Words whose halves run through all pairs of corners.
HALVES = [join(pair, 16) for pair in itertools.product(INT16, repeat=2)]
#: Words of which each lane takes every byte, each lane in another order.
BYTES = [join((x, x ^ 0x55, -x, x + 77), 8) for x in range(256)]

#: Range of an average's sums: at most 65535 cells of 16 bits.
SUMS = [x for x in INT32 if abs(x) <= 2**31 - 2**15]


def mean(total, count):
    """Return the quotient rounded to nearest, halves away from zero."""
    return (abs(total) + count // 2) // count * (1 if total > 0 else -1)


def requantize_twice(x, multiplier, shift):
    right = max(-shift, 1)
    return (hm(wrap(x << shift + right, 32), multiplier) + 2**right // 2) // 2**right


def exp_near_eighth(x):
    c, x2 = round(2**31 * math.exp(-1 / 8)), hm(x, x)
    tail = hm(rdp(hm(x2, x2), 2) + hm(x2, x), round(2**31 / 3)) + x2
    return c + hm(c, x + rdp(tail, 1))


def exp_negative(t, bits):
    if t == 0:
        return 2**31 - 1
    quarter = 2 ** (29 - bits)
    q = t % quarter - quarter
    result = exp_near_eighth(q * 2**bits + 2**28)
    for k in range(bits + 2):
        if (q - t) // quarter >> k & 1:
            result = hm(result, round(2**31 * math.exp(-(2**k) / 4)))
    return result


def reciprocal_step(x, d):
    return wrap(x + saturate(4 * hm(x, 2**29 - hm(d, x)), 32), 32)


def twice_reciprocal(v):
    d = (v + 2**31) // 2
    x = round(48 / 17 * 2**29) - hm(d, round(32 / 17 * 2**29))
    for _ in range(3):
        x = reciprocal_step(x, d)
    return x


def reciprocal(v):
    return saturate(2 * twice_reciprocal(v), 32)


def logistic(x):
    of_size = reciprocal(exp_negative(-abs(x), 4))
    return 2**30 if x == 0 else of_size if x > 0 else 2**31 - 1 - of_size


def tanh(x):
    of_size = saturate(4 * (twice_reciprocal(exp_negative(-abs(x), 5)) - 2**29), 32)
    return (x > 0) * of_size - (x < 0) * of_size


def float32(bits):
    """Return the float32 with these bits."""
    return np.array(bits, np.int32).view(np.float32)


def rescaled(x, factor, start):
    total = np.float32(x) * float32(factor) + float32(start)
    return int(math.copysign(min(math.floor(abs(float(total)) + 0.5), 2**30), total))


def nearest(x, lengths, flags):
    """Compute as TensorFlow Lite Micro documents it."""
    source, target = divmod(lengths, 2**16)
    align, half = flags & 1, flags >> 1
    scale = np.float32(source) / np.float32(target)
    if align and target > 1:
        scale = np.float32(source - 1) / np.float32(target - 1)
    place = float((np.float32(x) + np.float32(half / 2)) * scale)
    return min(math.floor(place + 0.5) if align else math.floor(place), source - 1)


def grid(*axes):
    """Return every combination of the values of a, b, c; absent ones are 0."""
    return itertools.product(*axes, *([[0]] * (3 - len(axes))))


def every_pair_of_bytes():
    """Return two words: each of the four lanes has all 65536 pairs."""
    for x, y in itertools.product(range(256), repeat=2):
        yield join((x, y, x ^ 0x55, ~x), 8), join((y, x, y + 1, ~y), 8), 0


def start(bias, shift, term):
    return ((bias << shift) + term) % 2**32


def lanewise(split, bits, combine):
    return lambda a, b, c: join([combine(x, y) for x, y in zip(split(a), split(b))], bits)


def smlad(a, b, acc):
    return (acc + sum(x * y for x, y in zip(halves(a), halves(b)))) % 2**32


# fmt: off
TABLE = [
    ("qn_wrap8(a)", lambda a, b, c: wrap(a, 8), grid(range(-1000, 1000))),
    ("qn_wrap16(a)", lambda a, b, c: wrap(a, 16), grid(INT32)),
    ("qn_wrap32(a)", lambda a, b, c: wrap(a, 32), grid(UINT32)),
    ("qn_clamp(a, b, c)", clamp, grid(INT32, [-9, -1, 0], [0, 6, 9])),
    ("qn_sat8(a)", lambda a, b, c: saturate(a, 8), grid([*range(-1000, 1000), *INT32])),
    ("qn_sat16(a)", lambda a, b, c: saturate(a, 16), grid(INT32)),
    ("qn_clamp64(a, b, c)", lambda a, b, c: clamp(a, b, c), grid(INT64, [-128, 0], [127, 2**40])),
    ("qn_asr64(a, b)", lambda a, b, c: a >> b, grid(INT64, range(64))),
    ("qn_floor_div64(a, b)", lambda a, b, c: a // b, grid(INT64, (1, 2, 3, 9, 2**31, 2**47 + 1))),
    ("qn_mean(a, b)", lambda a, b, c: mean(a, b), grid(SUMS, (1, 2, 3, 4, 7, 25, 65534, 65535))),
    ("qn_usat(a, b)", lambda a, b, c: clamp(a, 0, 2**b - 1), grid(INT32, range(31))),
    ("qn_shl(a, b)", lambda a, b, c: (a << b) % 2**32, grid(INT32, SHIFTS)),
    ("qn_asr(a, b)", lambda a, b, c: a // 2**b, grid(INT32, SHIFTS)),
    ("qn_lsr(a, b)", lambda a, b, c: a >> b, grid(UINT32, SHIFTS)),
    ("qn_add32(a, b)", lambda a, b, c: wrap(a + b, 32), grid(INT32, INT32)),
    ("qn_add64(a, b)", lambda a, b, c: wrap(a + b, 64), grid(INT64, [*INT64[::97], *INT63])),
    ("qn_sub32(a, b)", lambda a, b, c: wrap(a - b, 32), grid(INT32, INT32)),
    ("qn_release(a)", lambda a, b, c: a // 8, grid(PROFILES)),
    ("qn_path(a)", lambda a, b, c: a // 2 % 4, grid(PROFILES)),
    ("qn_rounding(a)", lambda a, b, c: a % 2, grid(PROFILES)),
    ("qn_round_term(a, b)",
        lambda a, b, c: round_term(b, RELEASES[a // 8], ROUNDINGS[a % 2]),
        grid(LEGACY_PROFILES, SHIFTS)),
    ("qn_acc_start(a, b, c)", start, grid(INT16, SHIFTS, [0, 1, 2**30, -(2**30)])),
    ("qn_acc_q7(a, b)",
        lambda a, b, c: saturate(wrap(a, 32) >> b, 8), grid(UINT32, SHIFTS)),
    ("qn_acc_q15(a, b)",
        lambda a, b, c: saturate(wrap(a, 32) >> b, 16), grid(UINT32, SHIFTS)),
    ("qn_rdp(a, b)", lambda a, b, c: rdp(a, b), grid(INT32, SHIFTS)),
    ("qn_hm(a, b)", lambda a, b, c: hm(a, b), grid(INT32, INT32)),
    ("qn_hm_sat(a, b)",
        lambda a, b, c: saturate((a * b + 2**30) // 2**31, 32), grid(INT32, INT32)),
    ("qn_requantize_double(a, b, c)",
        lambda a, b, c: requantize_double(a, b, c), grid(INT32, MULTIPLIERS, range(-31, 32))),
    ("qn_requantize_single(a, b, c)",
        lambda a, b, c: requantize_single(a, b, c), grid(INT32, MULTIPLIERS, range(-31, 31))),
    ("qn_requantize_single_700(a, b, c)",
        lambda a, b, c: requantize_single_700(a, b, c), grid(INT32, MULTIPLIERS, range(-31, 31))),
    ("qn_has_31_bits(a)", lambda a, b, c: int(a // 8 in (2, 8)), grid(PROFILES)),
    ("qn_requantize(16 + (c & 15), a, b, c >> 4)",
        lambda a, b, c: requantize(a, b, 16 + (c & 15), c >> 4),
        grid(INT32, MULTIPLIERS, range(-160, 160))),
    ("qn_requantize_twice(a, b, c)",
        lambda a, b, c: requantize_twice(a, b, c), grid(INT32, MULTIPLIERS, range(-31, 31))),
    ("qn_requantize_lane(16 + (c & 15), a, b, c >> 4)",
        lambda a, b, c: requantize_lane(a, b, 16 + (c & 15), c >> 4),
        grid(INT32, MULTIPLIERS, [16 * n + mve for n in range(-31, 31) for mve in (4, 5, 12, 13)])),
    ("qn_multiplier16(a)", lambda a, b, c: multiplier16(a), grid([x for x in INT32 if x >= 0])),
    ("qn_requantize64(a, b, c)",
        lambda a, b, c: requantize64(a, b, c), grid(INT47, MULTIPLIERS, range(-31, 8))),
    ("qn_requantize64_tflm(a, b, c)",
        lambda a, b, c: requantize64_tflm(a, b, c), grid(INT47, MULTIPLIERS, range(-31, 8))),
    ("qn_requantize64_by16(a, b, c)",
        lambda a, b, c: requantize64(a, b << 16, c),
        grid(INT47, [0, 1, 16384, 32767], range(-31, 8))),
    ("nibble(a, b, c)",
        lambda a, b, c: wrap((a % 256 | b % 256 << 8) >> 4 * c, 4),
        grid(range(-128, 128), (-128, -1, 0, 16, 127), range(4))),
    ("qn_shl_sat(a, b)", lambda a, b, c: saturate(a << b, 32), grid(INT32, SHIFTS)),
    ("qn_leading_zeros(a)", lambda a, b, c: 32 - a.bit_length(), grid(UINT32)),

    ("qn_exp_near_eighth(a)", lambda a, b, c: exp_near_eighth(a), grid(EIGHTHS)),
    ("qn_exp_negative(a, b)",
        lambda a, b, c: exp_negative(a, b), grid([x for x in INT32 if x <= 0], range(1, 6))),
    ("qn_reciprocal_step(a, b)", lambda a, b, c: reciprocal_step(a, b),
        grid(range(2**29, 2**30 + 1, 2**21 - 1), range(2**30, 2**31, 2**22 + 1))),
    ("qn_twice_reciprocal(a)", lambda a, b, c: twice_reciprocal(a), grid(FRACTIONS)),
    ("qn_reciprocal(a)", lambda a, b, c: reciprocal(a), grid(FRACTIONS)),
    ("qn_logistic_q4(a)", lambda a, b, c: logistic(a), grid(INT32[:-3], [0])),
    ("qn_tanh_q4(a)", lambda a, b, c: tanh(a), grid(INT32[:-3], [0])),
    ("qn_float32(a)", lambda a, b, c: int(float32(a)), grid(range(0, 0x4F000000, 12345677))),
    ("qn_rescale_float32(a, b, c)", rescaled, grid(range(256), FACTORS, STARTS)),
    ("qn_nearest_neighbor(a, b >> 16, b & 0xffff, c & 1, c >> 1)", nearest, PLACES),

    ("through_memory(a, b)", lambda a, b, c: a, grid(HALVES, range(4))),
    ("arm_low(a)", lambda a, b, c: halves(a)[0], grid(HALVES)),
    ("arm_high(a)", lambda a, b, c: halves(a)[1], grid(HALVES)),
    ("arm_halves(a, b)", lambda a, b, c: join((a, b), 16), grid([*INT16, *INT32], INT16)),
    ("arm_byte(a, b)", lambda a, b, c: octets(a)[b], grid(BYTES, range(4))),
    ("arm_as_byte(a, b)", lambda a, b, c: a % 256 << 8 * b, grid(range(-128, 128), range(4))),
    ("arm_ror(a, b)",
        lambda a, b, c: (a * (2**32 + 1) >> b) % 2**32, grid(UINT32, range(1, 32))),
    ("arm_sxtb16(a)", lambda a, b, c: join(octets(a)[0::2], 16), grid(BYTES)),
    ("arm_sxtb16_ror8(a)", lambda a, b, c: join(octets(a)[1::2], 16), grid(BYTES)),
    ("arm_pkhbt16(a, b)",
        lambda a, b, c: join((halves(a)[0], halves(b)[0]), 16), grid(HALVES, HALVES)),
    ("arm_pkhtb16(a, b)",
        lambda a, b, c: join((halves(b)[1], halves(a)[1]), 16), grid(HALVES, HALVES)),
    ("arm_smlad(a, b, c)", smlad, grid(HALVES, HALVES, [0, 2**31 - 1, 2**31])),
    ("arm_qadd16(a, b)",
        lanewise(halves, 16, lambda x, y: saturate(x + y, 16)), grid(HALVES, HALVES)),
    ("arm_sadd16(a, b)", lanewise(halves, 16, lambda x, y: x + y), grid(HALVES, HALVES)),
    ("arm_qsub16(a, b)",
        lanewise(halves, 16, lambda x, y: saturate(x - y, 16)), grid(HALVES, HALVES)),
    ("arm_qadd8(a, b)",
        lanewise(octets, 8, lambda x, y: saturate(x + y, 8)), every_pair_of_bytes()),
    ("arm_qsub8(a, b)",
        lanewise(octets, 8, lambda x, y: saturate(x - y, 8)), every_pair_of_bytes()),
    ("expand(a)", lambda a, b, c: wrap(join(octets(a), 16), 64), grid(BYTES)),
    ("expand_reordered(a)",
        lambda a, b, c: wrap(join([octets(a)[i] for i in (0, 2, 1, 3)], 16), 64), grid(BYTES)),
]
# fmt: on


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Compile the expressions of the table: function f<i> runs line i over arrays."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler named cc")
    source = "".join(f'#include "{CSRC / header}"\n' for header in HEADERS) + WRAPPERS
    for i, (expression, _, _) in enumerate(TABLE):
        source += f"""
void f{i}(const int64_t *x, int64_t *out, int64_t count);
void f{i}(const int64_t *x, int64_t *out, int64_t count) {{
    for (int64_t i = 0; i < count; i++) {{
        int64_t a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
        out[i] = {expression};
        (void)a, (void)b, (void)c;
    }}
}}
"""
    folder = tmp_path_factory.mktemp("fixed")
    (folder / "fixed.c").write_text(source, encoding="utf-8")
    shared = folder / "fixed.so"
    command = [compiler, "-std=c11", "-O1", "-shared", "-fPIC", "-o", shared, folder / "fixed.c"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(shared))


@pytest.mark.parametrize("line", range(len(TABLE)), ids=[row[0] for row in TABLE])
def test_every_primitive_has_its_meaning_in_integers(library, line):
    expression, meaning, values = TABLE[line]
    arguments = list(values)
    assert arguments
    x = np.array(arguments, np.int64)
    out = np.empty(len(x), np.int64)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, out)]
    getattr(library, f"f{line}")(*pointers, ctypes.c_int64(len(x)))
    for given, got in zip(arguments, out.tolist()):
        assert got == meaning(*given), f"{expression} with a, b, c = {given}"


def test_no_primitive_is_left_out():
    tested = " ".join(expression for expression, _, _ in TABLE) + WRAPPERS
    for header in HEADERS:
        text = (CSRC / header).read_text(encoding="utf-8")
        names = re.findall(r"^static inline \w+ (\w+)\(", text, re.MULTILINE)
        assert len(names) > 5
        assert [name for name in names if f"{name}(" not in tested] == [], header


def test_division_of_the_oracles_truncates_toward_zero():
    assert [divide(a, b) for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (-6, 3), (5, 0)]] == [
        3, -3, -3, 3, -2, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("bits", [4, 5])
def test_the_elementary_functions_are_those_of_analysis(bits):
    one, fraction = 2**31, 2 ** (31 - bits)
    for t in range(-(2**31), 1, 2**22 - 1):
        assert abs(exp_negative(t, bits) / one - math.exp(t / fraction)) < 3e-7
    for v in FRACTIONS:
        assert abs(reciprocal(v) / one - 1 / (1 + v / one)) < 1e-8
    for x in range(-(2**31) + 1, 2**31, 2**22 - 1):
        assert abs(logistic(x) / one - 1 / (1 + math.exp(-x / 2**27))) < 1e-6
        assert abs(tanh(x) / one - math.tanh(x / 2**27)) < 1e-6
