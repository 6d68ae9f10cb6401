"""The AVX-VNNI rows give the bits of the plain rows, on hosts that have AVX-512 VNNI instead.

Their only instruction beyond AVX2, VPDPBUSD, exists in two encodings. These tests
build their source with the encoding of AVX-512 and compare it with the plain rows. The machine code
shows that the shipped rows have the shorter encoding and no instruction of AVX-512.
"""

import re

import pytest
from hosts import needs_x86
from modelled import compile_to, disassembled, hold_rows, needs_avx512, needs_gcc

pytestmark = pytest.mark.compiles


@pytest.mark.slow
@needs_gcc
@needs_avx512
def test_the_rows_equal_the_plain_ones(modelled, tmp_path):
    hold_rows(modelled.glob("*.o"), tmp_path / "rows", "avxvnni", 150)


@needs_gcc
@needs_x86
@pytest.mark.parametrize("source", ["q/dense_q7_avxvnni.c", "s/weighted_s8_avxvnni.c"])
def test_the_shipped_rows_need_no_avx512(tmp_path, source):
    code = disassembled(compile_to(tmp_path / "rows.o", source, "-O3"))
    dots = re.findall(r"((?:[0-9a-f]{2} )+)\s+(\{vex\} )?vpdpbusd", code)
    assert len(dots) > 10
    assert {encoding[:2] for encoding, _ in dots} == {"c4"}, "62 starts an EVEX instruction"
    assert not re.search(r"zmm|ymm(?:1[6-9]|2\d|3[01])|%k[0-7]|\t62 ", code)
