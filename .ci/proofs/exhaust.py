"""C programs of the folder `exhaust`: they include the project's C and try every number.

Some try every number for drawn parameters, others every number that there is. A program prints a
summary as its last line. It fails on a difference, or if it tried too little."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edits import Break, broken
from source import ROOT

HERE = Path(__file__).parent / "exhaust"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-ffp-contract=off", "-w"]
LINKED = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-lm", "-lquadmath"]


@dataclass(frozen=True)
class Program:
    """A program and its arguments: every day, with hours of time, and when it is broken."""

    name: str
    source: str
    runs: tuple[tuple[str, ...], ...]
    brief: tuple[str, ...]
    breaks: tuple[Break, ...]
    whole: tuple[tuple[str, ...], ...] = ()
    needs: str = "avx2"


FUNCTIONS = ("exp", "expm1", "log", "sin", "cos", "tanh", "sqrt")

PROGRAMS = (
    Program(
        "linear epilogues = the integers, for every sum of drawn channels",
        "linear.c",
        (("1", "20000"), ("2", "20000")),
        ("1", "5000"),
        (
            Break("between_of", "low + 1, end - low - 1", "low, end - low + 1"),
            Break("between_of", "first - 3", "first - 5"),
            Break("between_of", "2 * last - 1", "2 * last + 1"),
            Break("linear_of_scale", "offset - whole", "offset - whole + 1"),
        ),
        tuple((str(seed), "1000000") for seed in range(3, 9)),
    ),
    Program(
        "epilogues of two multiplications = the integers, for every sum of drawn channels",
        "floats.c",
        (("1", "30000"), ("2", "30000")),
        ("1", "3000"),
        (
            Break("epilogue_steps_hold", "== at", "== at || 1"),
            Break("find_floats", "constant + 0.5f", "constant + 1.5f"),
        ),
        tuple((str(seed), "1000000") for seed in range(3, 9)),
        needs="avx512vnni",
    ),
    Program(
        "exponentials and reciprocals = gemmlowp's, over their whole domain",
        "elementary.c",
        (("0", "2"), ("1", "2")),
        ("0", "10007"),
        (
            Break("qn_exp_near_eighth", "x4, 2", "x4, 3"),
            Break("qn_exp_negative", "290630308", "290630309"),
            Break("qn_twice_reciprocal", "1515870810", "1515870811"),
        ),
    ),
    Program(
        "functions of float32 = the real number rounded once, of every 61st float32",
        "real.c",
        tuple((name, "7", "61") for name in FUNCTIONS),
        ("exp", "7", "10007"),
        (
            Break("qn_series", "22 - first", "8 - first"),
            Break("qn_pair_to_float", "bits + 1 :", "bits + 0x20000000 :"),
        ),
        tuple((name, "0", "1") for name in FUNCTIONS),
    ),
    Program(
        "sigmoid and tanh of s16 in vectors = the plain functions, of every 32-bit number",
        "activated.c",
        ((),),
        (),
        (Break("table_value", "1 << k) - 1", "1 << k) - 2"),),
    ),
    Program(
        "high parts of the NPU's products: what they lack, of every pair of 16 bits",
        "parts.c",
        ((),),
        (),
        (Break("high_of", "w + 128", "w + 126"),),
        needs="avx512vnni",
    ),
    Program(
        "quotients of average pooling = those of integers, on both sides of every integer",
        "quotient.c",
        ((),),
        (),
        (Break("quotient_24", "_mm256_cvttps", "_mm256_cvtps"),),
    ),
)


def runs_here(program: Program) -> bool:
    """True if this host has the instructions that a program needs."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8").replace("_vnni", "vnni")
    return program.needs in text.split()


def compiled(program: Program, folder: Path, edit: Break | None = None) -> Path:
    """Compile a program, after an edit of the C source if there is one."""
    name = f"{program.source[:-2]}{'' if edit is None else program.breaks.index(edit)}"
    include = [f"-I{ROOT / 'csrc'}", f"-I{HERE}"]
    command = ["gcc", *FLAGS, *include, "-E", HERE / program.source]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    preprocessed, executable = folder / f"{name}.i", folder / name
    preprocessed.write_text(text if edit is None else broken(text, edit), encoding="utf-8")
    subprocess.run(["gcc", *FLAGS, preprocessed, "-o", executable, *LINKED], check=True)
    return executable


def run(executable: Path, arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Run a program. Return whether it succeeded, and the lines that it printed."""
    done = subprocess.run([executable, *arguments], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout.splitlines()
