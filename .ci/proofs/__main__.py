"""Proves the claims of claims.py and runs the programs of exhaust.py.

Then it breaks the C source of each one, and requires that the claim is refuted."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

from claims import ALL, Claim
from edits import broken
from exhaust import PROGRAMS, compiled, run, runs_here
from intrinsics import Models
from source import ROOT, parse_text, preprocessed
from symbolic import Machine, Unsupported, entails
from tie import compare, compare_scalars, compare_wrong

TIE = "models of instructions and of C = what this host computes, on drawn numbers"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one job: true if it is as expected, and the lines to print."""

    fine: bool
    lines: tuple[str, ...]


def refuted_cases(one: Claim, text: str, first_only: bool) -> tuple[int, list[str]]:
    """Return the number of cases tried on a C text, and those that z3 did not prove."""
    wrong: list[str] = []
    program = parse_text(text)
    for number, case in enumerate(one.cases, 1):
        machine = Machine(program, Models())
        goals = list(one.goals(machine, case))
        machine.products.link(machine.assumed)
        known = [*machine.assumed, *machine.products.facts]
        for goal in (*goals, *machine.obligations):
            answer = entails(known, goal)
            if answer is not True:
                wrong.append(f"    case {case}: {answer}")
                break
        if wrong and first_only:
            return number, wrong
    return len(one.cases), wrong


def prove(index: int) -> Outcome:
    one, start = ALL[index], time.monotonic()
    count, wrong = refuted_cases(one, preprocessed(one.source, ROOT / "csrc"), False)
    says = "REFUTED" if wrong else "proven"
    line = f"{says:8} {time.monotonic() - start:6.1f} s  {one.name} ({count} cases)"
    return Outcome(not wrong, (line, *wrong[:3]))


def refute(index: int, number: int) -> Outcome:
    one = ALL[index]
    edit = one.breaks[number]
    text = broken(preprocessed(one.source, ROOT / "csrc"), edit)
    wrong = refuted_cases(one, text, True)[1]
    fine = bool(wrong) and "not decided" not in wrong[0]
    line = f"NOT REFUTED with {edit.new!r} in {edit.function}(): {one.name}"
    return Outcome(fine, () if fine else (line,))


def try_all(index: int, arguments: tuple[str, ...]) -> Outcome:
    one, start = PROGRAMS[index], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fine, lines = run(compiled(one, Path(folder)), arguments)
    says = "tried" if fine else "REFUTED"
    line = f"{says:8} {time.monotonic() - start:6.1f} s  {one.name}: {lines[-1] if lines else ''}"
    return Outcome(fine, (line, *lines[:-1]))


def try_broken(index: int, number: int) -> Outcome:
    one = PROGRAMS[index]
    edit = one.breaks[number]
    with tempfile.TemporaryDirectory() as folder:
        wrong = not run(compiled(one, Path(folder), edit), one.brief)[0]
    line = f"NOT REFUTED with {edit.new!r} in {edit.function}(): {one.name}"
    return Outcome(wrong, () if wrong else (line,))


def tie(index: int) -> Outcome:
    """Compare the models that proofs use with instructions and compiled C."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        instructions, wrong = compare(folder)
        scalars, more = compare_scalars(folder)
        detects = compare_wrong(folder)
    wrong += more
    says = "REFUTED" if wrong or not detects else "tried"
    line = f"{says:8} {time.monotonic() - start:6.1f} s  {TIE}: {instructions}; {scalars}"
    return Outcome(not wrong and detects, (line, *(f"    {each}" for each in wrong)))


def do(job: tuple[Callable[..., Outcome], tuple[object, ...]]) -> Outcome:
    """Do one job. A claim about missing C fails with a sentence."""
    function, arguments = job
    try:
        return function(*arguments)
    except (LookupError, Unsupported, CalledProcessError) as error:
        of = PROGRAMS if function in (try_all, try_broken) else ALL
        name = TIE if function is tie else of[int(str(arguments[0]))].name
        return Outcome(False, (f"CANNOT RUN  {name}: {type(error).__name__} {error}",))


def main() -> int:
    parser = argparse.ArgumentParser(prog=".ci/prove", description=__doc__)
    parser.add_argument("words", nargs="*", help="only claims with one of these words")
    parser.add_argument("--whole", action="store_true", help="what takes hours")
    given = parser.parse_args()

    def wanted(name: str) -> bool:
        return not given.words or any(word in name for word in given.words)

    claims = [i for i, c in enumerate(ALL) if wanted(c.name) and not given.whole]
    programs = [i for i, p in enumerate(PROGRAMS) if wanted(p.name) and runs_here(p)]
    for program in PROGRAMS:
        if wanted(program.name) and not runs_here(program):
            print(f"skipped            {program.name}: needs {program.needs}")
    failed = 0
    with multiprocessing.Pool(2) as pool:
        jobs: list[tuple[Callable[..., Outcome], tuple[object, ...]]] = []
        for i in programs:
            runs = PROGRAMS[i].whole if given.whole else PROGRAMS[i].runs
            jobs += [(try_all, (i, arguments)) for arguments in runs]
        jobs += [(prove, (i,)) for i in claims]
        jobs += [(tie, (0,))] if wanted(TIE) and not given.whole else []
        jobs += [(refute, (i, k)) for i in claims for k in range(len(ALL[i].breaks))]
        for i in [] if given.whole else programs:
            jobs += [(try_broken, (i, k)) for k in range(len(PROGRAMS[i].breaks))]
        for outcome in pool.imap(do, jobs):
            failed += not outcome.fine
            for line in outcome.lines:
                print(line)
    broken_ones = sum(job[0] in (refute, try_broken) for job in jobs)
    print(f"FAILED: {failed}" if failed else f"all hold; {broken_ones} broken ones are refuted")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
