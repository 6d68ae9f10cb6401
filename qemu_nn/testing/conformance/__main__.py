"""Comparison of the conformance set with the plain rows; for maintainers, also its writing."""

from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Sequence
from typing import Optional

from .cases import DATA, Case, expect, load, text
from .draws import draw_missing


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Compare the set with the plain rows, or add cases to it; return the exit code."""
    parser = argparse.ArgumentParser("python -m qemu_nn.testing.conformance", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="add what new functions and profiles lack"
    )
    parser.add_argument("--replace", action="store_true", help="overwrite digests that differ")
    options = parser.parse_args(arguments)
    stored = load() if DATA.exists() else ()
    computed = [expect(case) for case in stored]
    different = [case.name for case, now in zip(stored, computed) if case.contradicts(now)]
    for name in different:
        print(f"{name}: the plain rows compute other bits than the set has")
    if different and not options.replace:
        print(f"{len(different)} of {len(stored)} cases differ; --replace overwrites them")
        return 1
    new = draw_missing(stored) if options.write else []
    if options.write or options.replace:
        write([*computed, *new])
    print(f"{len(stored)} cases, {len(different)} overwritten, {len(new)} added")
    return 0


def write(cases: Sequence[Case]) -> None:
    """Write the file of the package."""
    preset = 9 | lzma.PRESET_EXTREME
    DATA.write_bytes(lzma.compress(text(cases).encode("ascii"), preset=preset))


if __name__ == "__main__":
    sys.exit(main())
