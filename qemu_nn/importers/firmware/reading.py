"""Firmware to a description of its network: parse, execute, describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from ...errors import ModelError
from .description import Described, describe
from .machine import Machine
from .program import Program, Routine
from .source import Options, Sources


def describe_source(
    path: Path,
    options: Options,
    function: Optional[str],
    inputs: Mapping[str, Sequence[int]],
    work: Path,
) -> Described:
    """Return the network that a source computes."""
    program = Program(Sources(path, options, work))
    program.add(path.resolve())
    root = _find_root(program, path, function)
    machine = Machine(program)
    machine.run(root)
    if not machine.calls:
        reasons = "; ".join(machine.problems)
        raise ModelError(
            f"{path}: {root.name}() reaches no layer" + (f": {reasons}" if reasons else "")
        )
    return describe(machine, path.stem, function, inputs)


def _find_root(program: Program, path: Path, function: Optional[str]) -> Routine:
    """Return the function to run: the one with this name, or that all others are called by."""
    if function is not None:
        named = [
            r for r in program.routines.values() if function in (r.name, r.name.split("::")[-1])
        ]
        if not named:
            raise ModelError(f"{path}: there is no function {function!r}")
        return named[0]
    reaching = program.reaching()
    if not reaching:
        program.add_layers()
        reaching = program.reaching()
    if not reaching:
        lost = [c for routine in program.routines.values() for c in routine.lost]
        reasons = "; ".join(f"{c.place}: {c.text}" for c in lost[:3])
        raise ModelError(
            f"{path}: no function calls a layer of CMSIS-NN" + (f": {reasons}" if reasons else "")
        )
    called = {usr for r in program.routines.values() if r.usr in reaching for usr in r.callees}
    roots = [r for usr, r in program.routines.items() if usr in reaching and usr not in called]
    roots = roots or [program.routines[usr] for usr in reaching]
    main = [root for root in roots if root.name == "main"]
    if len(roots) > 1 and not main:
        names = ", ".join(sorted(root.name for root in roots))
        raise ModelError(
            f"{path}: several functions call layers: {names}; choose one with function="
        )
    return (main or roots)[0]
