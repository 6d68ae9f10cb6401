"""The C core built by hand: rows of instructions that this host lacks, and their machine code."""

import os
import platform
import shutil
import subprocess
from multiprocessing.pool import ThreadPool

import pytest
from paths import ROOT

from qemu_nn.kernels import table as kernels

CSRC = ROOT / "csrc"
HERE = ROOT / "tests" / "c"

#: AVX-VNNI's only instruction in the encoding of AVX-512, those of AMX in plain C.
MODELS = ('-DQN_VEX=""', "-DQN_AMX_MODEL", f"-I{HERE}")

needs_gcc = pytest.mark.skipif(
    not shutil.which("gcc") or platform.machine() != "x86_64", reason="needs gcc for x86-64"
)
needs_avx512 = pytest.mark.skipif(
    not kernels.cpu_features() & kernels.FEATURES["avx512vnni"], reason="needs AVX-512 VNNI"
)


def compile_to(target, source, *flags):
    """Compile one object."""
    fixed = ["gcc", "-std=c11", f"-I{CSRC / 'include'}"]
    subprocess.run([*fixed, *flags, "-c", CSRC / source, "-o", target], check=True)
    return target


def object_of(source):
    """Return the name of a C file's object."""
    return str(source).replace("/", "_").replace(".c", ".o")


def compile_all(folder, *flags):
    sources = [path.relative_to(CSRC).as_posix() for path in CSRC.rglob("*.c")]
    with ThreadPool(os.cpu_count()) as pool:
        pool.map(lambda s: compile_to(folder / object_of(s), s, *flags), sources)


def hold_rows(objects, program, variant, calls, *flags):
    """Compare every row of a variant with its plain row by tests/c/rows.c; return its output."""
    command = ["gcc", "-std=c11", "-O1", f"-I{CSRC / 'include'}", *flags, HERE / "rows.c", *objects]
    subprocess.run([*command, "-o", program], check=True)
    arguments = [program, variant, str(calls)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def disassembled(compiled):
    done = subprocess.run(["objdump", "-d", compiled], check=True, capture_output=True, text=True)
    return done.stdout
