"""Every primitive of fixed.h and every instruction model of arm_dsp.h = its meaning in integers.

One line of the table below is one C expression in a, b and c, the same in Python, and the values
that a, b and c run through: all of them for 8-bit lanes, corners for wider ones.
"""

import ctypes
import itertools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from integers import clamp, divide, halves, join, octets, round_term, saturate, wrap

CSRC = Path(__file__).parent.parent / "csrc"
HEADERS = ("fixed.h", "arm_dsp.h")

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
PROFILES = range(16)
RELEASES = ("5.6.0", "5.9.0")
ROUNDINGS = ("nearest", "truncate")

#: Words whose halves run through all pairs of corners.
HALVES = [join(pair, 16) for pair in itertools.product(INT16, repeat=2)]
#: Words of which each lane takes every byte, each lane in another order.
BYTES = [join((x, x ^ 0x55, -x, x + 77), 8) for x in range(256)]

#: What an average sums: at most 65535 cells of 16 bits.
SUMS = [x for x in INT32 if abs(x) <= 2**31 - 2**15]


def mean(total, count):
    """The quotient rounded to nearest, halves away from zero."""
    return (abs(total) + count // 2) // count * (1 if total > 0 else -1)


def grid(*axes):
    """Every combination of the values of a, b, c; absent ones are 0."""
    return itertools.product(*axes, *([[0]] * (3 - len(axes))))


def every_pair_of_bytes():
    """Two words: in each of the four lanes all 65536 pairs come up."""
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
    ("qn_sub32(a, b)", lambda a, b, c: wrap(a - b, 32), grid(INT32, INT32)),
    ("qn_release(a)", lambda a, b, c: a // 8, grid(PROFILES)),
    ("qn_path(a)", lambda a, b, c: a // 2 % 4, grid(PROFILES)),
    ("qn_rounding(a)", lambda a, b, c: a % 2, grid(PROFILES)),
    ("qn_round_term(a, b)",
        lambda a, b, c: round_term(b, RELEASES[a // 8], ROUNDINGS[a % 2]), grid(PROFILES, SHIFTS)),
    ("qn_acc_start(a, b, c)", start, grid(INT16, SHIFTS, [0, 1, 2**30, -(2**30)])),
    ("qn_acc_q7(a, b)",
        lambda a, b, c: saturate(wrap(a, 32) >> b, 8), grid(UINT32, SHIFTS)),
    ("qn_acc_q15(a, b)",
        lambda a, b, c: saturate(wrap(a, 32) >> b, 16), grid(UINT32, SHIFTS)),

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
    """The expressions of the table, compiled: function f<i> runs line i over arrays."""
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
        assert len(names) > 15
        assert [name for name in names if f"{name}(" not in tested] == [], header


def test_division_of_the_oracles_truncates_toward_zero():
    assert [divide(a, b) for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (-6, 3), (5, 0)]] == [
        3, -3, -3, 3, -2, 0,
    ]  # fmt: skip
