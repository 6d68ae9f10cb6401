"""Runs the conformance set on this host, under each cap on instruction sets, or on a device."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..analysis.table import Table
from ..errors import DeviceWarning, Error
from ..firmware.c_text import format_definition
from ..functions.prototypes import C_TYPES
from ..io import files
from ..io.arguments import have
from ..io.stages import announce
from ..kernels import table as kernels
from ..runtime.session import Session
from ..targets import Profile
from ..testing.conformance import cases as conformance
from ..testing.conformance.cases import Case

#: Wraps an iteration, as tqdm does.
Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Difference:
    """A case whose outputs are not those of the set.

    Attributes
    ----------
    case : str
        Its name.
    profile : str
        Release, path and rounding: "7.0.0 dsp double".
    """

    case: str
    profile: str


@dataclass(frozen=True)
class Place:
    """A run of the set in one place.

    Attributes
    ----------
    where : str
        A cap on instruction sets ("avx2"), or a device ("qemu:m4").
    functions : str
        The functions that ran: "this package", "stand-in" for those of an export, or "CMSIS-NN".
    cases, runs : int
        Cases, and pairs of a case and a profile.
    skipped : int
        Cases of these profiles that cannot run there.
    differences : tuple of Difference
        What differs.
    """

    where: str
    functions: str
    cases: int
    runs: int
    skipped: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Conformance:
    """Runs of the set; run_on_host() and conformance_device.run_on_device() return it.

    Attributes
    ----------
    places : tuple of Place
        A run for each place.
    """

    places: tuple[Place, ...]

    @property
    def same(self) -> bool:
        """True if all outputs are equal, to the bit."""
        return not any(place.differences for place in self.places)

    def text(self) -> str:
        """Return a table of the places, and one of the cases that differ."""
        columns = ("where", "functions", "cases", "runs", "skipped", "differ")
        rows = tuple(
            (p.where, p.functions, p.cases, p.runs, p.skipped, len(p.differences))
            for p in self.places
        )
        verdict = "same: all outputs are those of the set, to the bit"
        if not self.same:
            wrong = tuple(
                (one.case, one.profile, place.where)
                for place in self.places
                for one in place.differences
            )
            table = Table(("case", "profile", "where"), wrong).text()
            verdict = f"DIFFERS: {len(wrong):,} outputs are not those of the set\n\n{table}"
        return f"{Table(columns, rows).text()}\n\n{verdict}"

    def json(self) -> str:
        """Return the same for programs."""
        places = [
            {**vars(place), "differences": [vars(one) for one in place.differences]}
            for place in self.places
        ]
        return json.dumps({"same": self.same, "places": places}, indent=2)


def select(patterns: Sequence[str] = ()) -> tuple[Case, ...]:
    """Return the cases whose names match a pattern such as "arm_convolve_s8-*"; all without one.

    Raises Error for a pattern that matches none.
    """
    every = conformance.load()
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in every):
            names = [case.name for case in every]
            raise Error(
                f"no case of the conformance set is named {pattern!r}; {have(names, pattern)}"
            )
    if not patterns:
        return every
    return tuple(c for c in every if any(fnmatchcase(c.name, pattern) for pattern in patterns))


def caps() -> tuple[str, ...]:
    """Return the caps on instruction sets that this host can have, from none to its newest."""
    allowed = kernels.cpu_features()
    return ("none", *(name for name, bit in kernels.FEATURES.items() if bit & allowed))


def run_on_host(
    cases: Sequence[Case], capped: Sequence[str] = (), progress: Optional[Progress] = None
) -> Conformance:
    """Run cases on this host, for every profile, as networks are run: planned on the best rows.

    Parameters
    ----------
    cases : sequence of Case
        Cases of the set.
    capped : sequence of str
        Caps of caps(); default: each of them.
    progress : callable, optional
        Wraps the iteration over pairs of a cap and a case, as tqdm does.

    Returns
    -------
    Conformance
        A place for each cap.

    Raises
    ------
    Error
        This host does not have an instruction set.
    """
    for cap in capped:
        if cap not in caps():
            raise Error(f"this host cannot run {cap!r}; {have(caps(), cap)}")
    chosen = tuple(capped) or caps()
    found: dict[str, list[Difference]] = {cap: [] for cap in chosen}
    turns = [(cap, case) for cap in chosen for case in cases]
    announce("runs cases")
    for cap, case in progress(turns) if progress else turns:
        with _capped(cap):
            found[cap] += _differences(case)
    runs = sum(len(case.profiles) for case in cases)
    return Conformance(
        tuple(
            Place(cap, "this package", len(cases), runs, 0, tuple(wrong))
            for cap, wrong in found.items()
        )
    )


@contextmanager
def _capped(cap: str) -> Iterator[None]:
    """Plan on no instruction set newer than the cap."""
    before = os.environ.get(kernels.CAP)
    os.environ[kernels.CAP] = cap
    try:
        yield
    finally:
        if before is None:
            del os.environ[kernels.CAP]
        else:
            os.environ[kernels.CAP] = before


def _differences(case: Case) -> Iterator[Difference]:
    """Yield the profiles under which a planned run has other outputs than the set."""
    graph, inputs = conformance.graph(case), conformance.inputs(case)
    for profile in case.profiles:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeviceWarning)
            outputs = Session(graph, profile).run(inputs)
        if _digest(case, outputs) != case.get_expected(profile):
            yield Difference(case.name, conformance.name_profile(profile))


def _digest(case: Case, outputs: Mapping[str, np.ndarray]) -> str:
    """Return the digest of what a session computed for one sample."""
    own = {name: outputs[name] for name in case.outputs}
    if case.states:
        own = {name: values[0] for name, values in own.items()}
    return conformance.compute_digest(own, case)


# ---- cases as files ----


def show(case: Case) -> str:
    """Return a case as JSON, as docs/conformance.md describes it, with the digest by profile."""
    described = conformance.describe_case(case)
    del described["letters"], described["sha256"]
    names = map(conformance.name_profile, case.profiles)
    described["sha256"] = dict(zip(names, map(case.get_expected, case.profiles)))
    return json.dumps(described, indent=1)


def dump(cases: Sequence[Case], folder: Path) -> int:
    """Write each case as NAME.json, NAME.npz and the C header NAME.h; return how many.

    The archive and the header hold all inputs and arrays, and the expected outputs, [steps, ...],
    as "expected.OUTPUT.LETTER". "letters" of the JSON lists the profiles of each letter.
    """
    files.make_folder(folder)
    for case in cases:
        letters: dict[str, list[str]] = {}
        arrays = dict(case.arrays())
        for profile in case.profiles:
            letter = case.letters[conformance.PROFILES.index(profile)]
            if letter not in letters:
                arrays.update(_expected(case, profile, letter))
            letters.setdefault(letter, []).append(conformance.name_profile(profile))
        described = {**json.loads(show(case)), "letters": letters}
        files.write_text(folder / f"{case.name}.json", json.dumps(described, indent=1) + "\n")
        files.write_text(folder / f"{case.name}.h", _header(case, arrays))
        with files.open_for_writing(folder / f"{case.name}.npz") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return len(cases)


def _expected(case: Case, profile: Profile, letter: str) -> dict[str, np.ndarray]:
    """Return the outputs of the plain rows, whose digest must be the set's."""
    outputs = conformance.compute_plain_outputs(case, profile)
    if outputs is None or conformance.compute_digest(outputs, case) != case.get_expected(profile):
        raise Error(f"{case.name}: the plain rows do not compute what the set has for {profile}")
    return {f"expected.{name}.{letter}": outputs[name] for name in case.outputs}


def _header(case: Case, arrays: Mapping[str, np.ndarray]) -> str:
    """Return the scalars as macros, and the arrays as constants of C."""
    lines = [f"/* {case.name} of the conformance set */", "#include <stdint.h>", ""]
    for call in case.calls:
        lines.append(f"/* {call.function} */")
        lines += [f"#define {call.name}_{n} ({v})" for n, v in call.scalars.items()]
    for name, values in arrays.items():
        lines += ["", format_definition(name.replace(".", "_"), values, C_TYPES)]
    return "\n".join(lines) + "\n"
