"""Compares the models of intrinsics with the instructions themselves.

Claims run on models and note each intrinsic with the kinds of its arguments. A C program calls the
same intrinsics on random and extreme lanes; the models get the same numbers. Neon's program runs on
an emulated processor."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import z3
from claims import ALL
from intrinsics import Models, model
from source import ROOT, Program, parse_text, preprocessed
from symbolic import INT, LONG, Int, IntType, Machine, Unsupported, Vector, number

#: An intrinsic and its arguments: registers and masks by their bits, immediates by their value.
Call = tuple[str, tuple[tuple[str, int], ...]]

TRIALS, SLOT = 24, 64
EXTREMES = (0, 1, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)

#: Functions of the project that are one instruction, in assembly.
INSTRUCTIONS = {
    ("vec_dot_s16", 256): "_mm256_dpwssd_epi32",
    ("vec_dot_s16", 512): "_mm512_dpwssd_epi32",
}

HEAD = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static uint8_t in[4 * 64], out[64];
"""


class Noting(Models):
    """Models that note how they are called."""

    def __init__(self, seen: set[Call]) -> None:
        super().__init__()
        self.seen = seen

    def __getitem__(self, name: str) -> Any:
        run = super().__getitem__(name)

        def noted(machine: Machine, *arguments: Any) -> Any:
            kinds = tuple(_kind(each) for each in arguments)
            if None not in kinds and not name.startswith("mem"):
                self.seen.add((name, kinds))
            return run(machine, *arguments)

        return noted


def _kind(argument: Any) -> tuple[str, int] | None:
    if isinstance(argument, Vector):
        return "register", argument.bits
    if not isinstance(argument, Int):
        return None
    if not argument.type.signed and argument.type.bits != 64 and argument.known is None:
        return "mask", argument.type.bits
    known = argument.known
    return ("scalar", argument.type.bits) if known is None else ("immediate", known)


def noted_calls() -> list[Call]:
    """Return the intrinsics that the first and the last case of each claim call."""
    seen: set[Call] = set()
    for one in ALL:
        program = parse_text(preprocessed(one.source, ROOT / "csrc"))
        for case in {0: one.cases[0], 1: one.cases[-1]}.values():
            list(one.goals(Machine(program, Noting(seen)), case))
    return sorted(seen)


def _declared(name: str, at: int, kind: str, size: int) -> str:
    types = {"mask": f"__mmask{size}", "scalar": f"int{size}_t"}
    neon = "uint32x4_t" if name.endswith("_u32") else "int32x4_t"
    type_ = types.get(kind) or (neon if name[0] == "v" and size == 128 else f"__m{size}i")
    return f"    {type_} a{at}; memcpy(&a{at}, in + {SLOT * at}, sizeof a{at});\n"


def _c(value: int) -> str:
    return str(value) if abs(value) < 2**31 else f"(int64_t){value % 2**64:#x}ull"


def c_text(calls: Sequence[Call], header: str, instead: dict[str, str]) -> str:
    """Return a program that reads the arguments of each call and writes the result."""
    body = ""
    for name, kinds in calls:
        made = "".join(
            _declared(name, i, *kind) for i, kind in enumerate(kinds) if kind[0] != "immediate"
        )
        given = [_c(kind[1]) if kind[0] == "immediate" else f"a{i}" for i, kind in enumerate(kinds)]
        called = instead.get(name) or INSTRUCTIONS.get((name, kinds[0][1] if kinds else 0), name)
        body += (
            f"  for (int i = 0; i < {TRIALS}; i++) {{\n    fread(in, 1, sizeof in, stdin);\n{made}"
            f"    __auto_type r = {called}({', '.join(given)});\n"
            "    memset(out, 0, sizeof out); memcpy(out, &r, sizeof r);\n"
            "    fwrite(out, 1, sizeof out, stdout);\n  }\n"
        )
    return f"#include <{header}>\n{HEAD}int main(void) {{\n{body}  return 0;\n}}\n"


def _drawn(rng: random.Random, name: str, at: int) -> bytes:
    """Return one argument: random, extreme or small dwords."""
    if name == "vshlq_s32" and at == 1:
        dwords = [rng.randint(-31, 31) % 2**32 for _ in range(16)]
    else:
        kind = rng.randrange(3)
        some = [
            lambda: rng.getrandbits(32),
            lambda: rng.choice(EXTREMES),
            lambda: rng.randrange(40),
        ]
        dwords = [some[kind]() for _ in range(16)]
    return b"".join(dword.to_bytes(4, "little") for dword in dwords)


def _argument(kind: tuple[str, int], raw: bytes) -> Any:
    what, size = kind
    if what == "immediate":
        return number(size, INT if abs(size) < 2**31 else LONG)
    value = int.from_bytes(raw[: size // 8], "little")
    if what == "register":
        dwords = [value >> 32 * i & 0xFFFFFFFF for i in range(size // 32)]
        return Vector.of([z3.BitVecVal(dword, 32) for dword in dwords])
    return Int(z3.BitVecVal(value, size), IntType(size, what == "scalar"))


def modelled(call: Call, raw: Sequence[bytes]) -> bytes:
    """Return the result of a model, in the layout of the C program."""
    run = model(call[0])
    assert run is not None
    arguments = [_argument(kind, bytes_) for kind, bytes_ in zip(call[1], raw)]
    result = run(Machine(Program(), Models()), *arguments)
    terms = result.lanes(8) if isinstance(result, Vector) else [result.term]
    value = b"".join(
        z3.simplify(term).as_long().to_bytes(term.size() // 8, "little") for term in terms
    )
    return value.ljust(SLOT, b"\0")


@dataclass(frozen=True)
class Target:
    """A way to run a C program: compiler, header of its intrinsics, emulator."""

    compiler: tuple[str, ...]
    header: str
    emulator: tuple[str, ...] = ()


X86 = Target(("gcc", "-march=native"), "immintrin.h")
NEON = Target(("aarch64-linux-gnu-gcc", "-static"), "arm_neon.h", ("qemu-aarch64",))


def differing(
    calls: Sequence[Call], target: Target, instead: dict[str, str], folder: Path
) -> list[str]:
    """Return the calls with a wrong model. `instead` replaces some instructions by others."""
    rng = random.Random(1)
    drawn = [[[_drawn(rng, name, i) for i in range(4)] for _ in range(TRIALS)] for name, _ in calls]
    source, program = folder / "tie.c", folder / "tie"
    source.write_text(c_text(calls, target.header, instead), encoding="utf-8")
    subprocess.run([*target.compiler, "-w", "-O1", source, "-o", program], check=True)
    given = b"".join(each for of in drawn for trial in of for each in trial)
    done = subprocess.run([*target.emulator, program], input=given, capture_output=True, check=True)
    wrong, at = [], 0
    for call, trials in zip(calls, drawn):
        for raw in trials:
            if modelled(call, raw) != done.stdout[at : at + SLOT]:
                wrong.append(f"{call[0]}{call[1]}")
            at += SLOT
    return list(dict.fromkeys(wrong))


def calls_here() -> dict[Target, list[Call]]:
    """Return the intrinsics of claims that this host can run, by itself or emulated."""
    calls = noted_calls()
    neon = [call for call in calls if call[0][0] == "v" and call[0] != "vec_dot_s16"]
    x86 = [call for call in calls if call not in neon]
    if "avx512_vnni" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        x86 = [c for c in x86 if "512" not in c[0] and c[0] != "vec_dot_s16"]
    emulated = all(shutil.which(name) for name in (NEON.compiler[0], *NEON.emulator))
    return {X86: x86, NEON: neon} if emulated else {X86: x86}


def compare(folder: Path) -> tuple[str, list[str]]:
    """Return a summary, and the calls with a wrong model."""
    here = calls_here()
    wrong = [
        each for target, calls in here.items() for each in differing(calls, target, {}, folder)
    ]
    neon = f"{len(here[NEON])} of Neon" if NEON in here else "none of Neon: no emulator"
    return f"{len(here[X86])} calls of x86, {neon}", wrong


def compare_wrong(folder: Path) -> bool:
    """True if a wrong instruction is found."""
    call = ("_mm256_max_epi8", (("register", 256), ("register", 256)))
    return bool(differing([call], X86, {call[0]: "_mm256_max_epu8"}, folder))


# ---- C itself ----

HEADERS = '#include "common/elementary.h"\n#include "common/arm_dsp.h"\n'
NARROW = tuple(v for v in range(-33, 34)) + EXTREMES


def _scalar_functions(program: Program) -> dict[str, int]:
    """Return name -> number of parameters of the functions on integers alone."""
    found = {}
    machine = Machine(program, Models())
    for name, node in program.functions.items():
        types = [machine.type_of(p.type) for p in node.decl.type.args.params]
        result = machine.type_of(node.decl.type.type)
        if all(isinstance(type_, IntType) for type_ in (*types, result)):
            found[name] = len(types)
    return found


def _evaluated(program: Program, name: str, values: Sequence[int]) -> int | None:
    """Return the result of a function, or None if its behaviour is undefined."""
    machine = Machine(program, Models())
    try:
        result = machine.call(name, *(number(value, LONG) for value in values))
    except Unsupported:  # floats
        return None
    legal = all(z3.is_true(z3.simplify(each)) for each in machine.obligations)
    return result.known if legal else None


def compare_scalars(folder: Path) -> tuple[str, list[str]]:
    """Compare functions on integers, as symbolic.py runs them, with compiled ones."""
    program = parse_text(preprocessed(HEADERS, ROOT / "csrc"))
    rng = random.Random(2)
    calls, wanted = [], []
    for name, count in _scalar_functions(program).items():
        for _ in range(TRIALS):
            values = [rng.choice((rng.choice(NARROW), rng.getrandbits(32))) for _ in range(count)]
            values = [value - 2**32 if value >= 2**31 else value for value in values]
            result = _evaluated(program, name, values)
            if result is not None:
                calls.append(f"{name}({', '.join(_c(value) for value in values)})")
                wanted.append(result)
    body = "".join(f'    printf("%lld\\n", (long long){call});\n' for call in calls)
    source, executable = folder / "scalars.c", folder / "scalars"
    text = f"{HEADERS}#include <stdio.h>\nint main(void) {{\n{body}    return 0;\n}}\n"
    source.write_text(text, encoding="utf-8")
    command = ["gcc", "-O1", "-w", f"-I{ROOT / 'csrc'}", source, "-o", executable]
    subprocess.run(command, check=True)
    done = subprocess.run([executable], check=True, capture_output=True, text=True)
    got = [int(line) for line in done.stdout.split()]
    wrong = [f"{c} = {g}, not {w}" for c, g, w in zip(calls, got, wanted) if g != w]
    return f"{len(calls)} calls of {len({call.split('(')[0] for call in calls})} functions", wrong
