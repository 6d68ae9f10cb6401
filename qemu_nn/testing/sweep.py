"""Compare rows and networks with plain rows on fresh random calls.

usage: python -m qemu_nn.testing.sweep [--seed N] [--draws N] [--seconds S] [--only TEXT]...

Each failure prints the command that repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from random import randrange
from typing import Callable, Optional

from ..functions import Function
from ..kernels.table import Row
from .call_file import write_calls
from .networks import FAMILIES, compare_network
from .rows import compare_with_plain, draw_call, list_pairs

#: Comparison of the draws of a seed; raises AssertionError if a byte differs.
Check = Callable[[int], None]

#: Seeds of one check before the next check.
_ROUND = 20


def _check_row(function: Function, row: Row, seed: int) -> None:
    compare_with_plain(draw_call(function, row, seed), row)


def iterate_checks() -> Iterator[tuple[str, Check]]:
    """Yield checks by name: each function with each row that this host runs, and networks."""
    for function, row in list_pairs():
        if row.runs_here():
            yield f"{function.name}-{row}", partial(_check_row, function, row)
    for family in FAMILIES:
        yield f"network-{family}", partial(compare_network, family)


def sweep(checks: dict[str, Check], first: int, draws: Optional[int], seconds: float) -> int:
    """Run all checks on seeds from `first` on, until the draws or the time end; return failures."""
    deadline, failures, drawn = time.monotonic() + seconds, 0, 0
    for start in count(0, _ROUND):
        size = _ROUND if draws is None else min(_ROUND, draws - start)
        if size <= 0 or time.monotonic() > deadline:
            break
        for name, check in checks.items():
            if time.monotonic() <= deadline:
                seeds = range(first + start, first + start + size)
                failures += _count_failures(name, check, seeds)
                drawn += size
    print(f"{drawn} draws from seed {first} on, {failures} that differ")
    return failures


def _count_failures(name: str, check: Check, seeds: range) -> int:
    """Count the failing seeds, and print the command and the difference of each."""
    failures = 0
    for seed in seeds:
        try:
            check(seed)
        except AssertionError as error:
            failures += 1
            command = f"{sys.executable} -m qemu_nn.testing.sweep --only {name} --seed {seed}"
            print(f"{command} --draws 1\n{error}\n", flush=True)
    return failures


def main() -> None:
    """Parse the command line and exit with 1 if a byte differs."""
    parser = argparse.ArgumentParser(prog="python -m qemu_nn.testing.sweep", description=__doc__)
    parser.add_argument("--seed", type=int, default=randrange(2**31), help="first seed")
    parser.add_argument("--draws", type=int, help="draws of each row; default: until the time ends")
    parser.add_argument("--seconds", type=float, default=3600, help="most time; default: an hour")
    only = "part of the name of a function, row or network; may be repeated"
    parser.add_argument("--only", action="append", default=[], help=only)
    parser.add_argument("--write", metavar="FILE", help="write the calls of rows, for tests/c")
    options = parser.parse_args()
    if options.write:
        count = write_calls(options.write, options.seed, options.draws or _ROUND)
        print(f"{count} calls from seed {options.seed} on")
        return
    wanted = options.only or [""]
    checks = {n: check for n, check in iterate_checks() if any(text in n for text in wanted)}
    print(f"seed {options.seed}: {len(checks)} checks", flush=True)
    sys.exit(sweep(checks, options.seed, options.draws, options.seconds) > 0)


if __name__ == "__main__":
    main()
