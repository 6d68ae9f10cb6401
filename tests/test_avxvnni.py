"""The AVX-VNNI rows give the bits of the plain rows, on hosts that have AVX-512 VNNI instead.

Their only instruction beyond AVX2, VPDPBUSD, exists in two encodings. Here their source is built
with the encoding of AVX-512 and held against the plain rows; that the shipped rows have the other
encoding, and nothing of AVX-512, is read from their machine code. So all is tested but the
encoding itself.
"""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from qemu_nn import kernels

ROOT = Path(__file__).parents[1]
CSRC = ROOT / "csrc"

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")


@needs_gcc
@pytest.mark.skipif(
    not kernels.cpu_features() & kernels.FEATURES["avx512vnni"], reason="needs AVX-512 VNNI"
)
def test_the_rows_equal_the_plain_ones(tmp_path):
    program = tmp_path / "rows"
    sources = [ROOT / "tests" / "c" / "rows.c", *sorted(CSRC.rglob("*.c"))]
    flags = ["-std=c11", "-O1", '-DQN_VEX=""', f"-I{CSRC}"]
    subprocess.run(["gcc", *flags, *sources, "-o", program], check=True)
    done = subprocess.run([program, "avxvnni"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


@needs_gcc
@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs a compiler for x86-64")
def test_the_shipped_rows_need_no_avx512(tmp_path):
    compiled = tmp_path / "rows.o"
    source = CSRC / "q" / "dense_q7_avxvnni.c"
    subprocess.run(["gcc", "-std=c11", "-O3", "-c", source, "-o", compiled], check=True)
    code = subprocess.run(
        ["objdump", "-d", compiled], check=True, capture_output=True, text=True
    ).stdout
    dots = re.findall(r"((?:[0-9a-f]{2} )+)\s+(\{vex\} )?vpdpbusd", code)
    assert len(dots) > 10
    assert {encoding[:2] for encoding, _ in dots} == {"c4"}, "62 starts an EVEX instruction"
    assert not re.search(r"zmm|ymm(?:1[6-9]|2\d|3[01])|%k[0-7]|\t62 ", code)
