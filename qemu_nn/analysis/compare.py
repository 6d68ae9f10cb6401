"""Comparison of a device's dumps with goldens: differences and their likely cause."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Callable, Optional, Union

import numpy as np

from ..errors import Error
from ..ir.formats import find_differing
from ..targets import Profile
from . import dumps
from .charts import BarChart, Chart, Charted
from .fault_search import FaultSearch, Found, spell
from .golden_set import Entry, Goldens, load
from .junit import Case, junit
from .mismatch_diagnosis import find_likely_cause
from .result import Result
from .self_test_log import read_log

#: Files named in a message; further ones are counted.
_NAMED = 5

#: Further samples that confirm a fault.
_CONFIRMED = 2


@dataclass(frozen=True)
class ArrayDifference:
    """Differences between a dump and its golden of the same size.

    Attributes
    ----------
    index : int
        The first element that differs, counted flat.
    position : tuple of int
        The same element, one number for each axis.
    got, want : int or float
        Its values in the dump and in the golden.
    differing, differing_bytes : int
        How many elements and bytes differ.
    largest : int or float
        The largest |got - want|.
    cause : str
        A sentence on the likely cause; "" where none was recognized.
    """

    index: int
    position: tuple[int, ...]
    got: Union[int, float]
    want: Union[int, float]
    differing: int
    differing_bytes: int
    largest: Union[int, float]
    cause: str = ""


@dataclass(frozen=True)
class Finding:
    """Comparison of one dump with its golden; without difference and unlike they are equal.

    Attributes
    ----------
    name : str
        The golden, such as "x0/conv1".
    layer : str
        The layer, as the model names it.
    dump : Path
        The file of the dump.
    elements, nbytes : int
        The size of the golden.
    difference : Difference or None
        How they differ, where their sizes are equal.
    unlike : str
        A sentence where size or type are wrong; else "".
    """

    name: str
    layer: str
    dump: Path
    elements: int
    nbytes: int
    difference: Optional[ArrayDifference] = None
    unlike: str = ""

    @property
    def same(self) -> bool:
        """True if all bytes are equal."""
        return self.difference is None and not self.unlike

    def lines(self) -> list[str]:
        """Return the finding in words.

        Returns
        -------
        list of str
            Lines for a terminal.
        """
        if self.same:
            return [f"same     {self.name}"]
        if self.difference is None:
            return [f"DIFFERS  {self.name}: {self.unlike} ({self.dump})"]
        d = self.difference
        lines = [
            f"DIFFERS  {self.name}: index={d.index} {spell_position(d.position)} "
            f"got={d.got} want={d.want} ({self.dump})",
            f"         {d.differing} of {self.elements} elements and {d.differing_bytes} of "
            f"{self.nbytes} bytes differ, by {d.largest} at most",
        ]
        return lines + ([f"         likely cause: {d.cause}"] if d.cause else [])


@dataclass(frozen=True, eq=False)
class Comparison(Charted, Result):
    """Comparison of a device's dumps with a golden set; compare() returns it, print() shows it.

    Attributes
    ----------
    findings : tuple of Finding
        One for each dump, in program order.
    missing : tuple of str
        Goldens without a dump.
    strange : tuple of Path
        Files in the dump folder that belong to no golden.
    nodes : bool
        Whether these are nodes of a program, compared with the device's values, and no dumps.
    """

    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    strange: tuple[Path, ...] = ()
    nodes: bool = False

    @property
    def same(self) -> bool:
        """True if all dumps equal their goldens."""
        return all(finding.same for finding in self.findings)

    @property
    def first(self) -> Optional[Finding]:
        """First dump in program order that differs; None if all are equal."""
        return next((finding for finding in self.findings if not finding.same), None)

    def lines(self) -> list[str]:
        """Return the comparison in words.

        Returns
        -------
        list of str
            Lines for a terminal: every dump, what is missing, and the verdict.
        """
        lines = [line for finding in self.findings for line in finding.lines()]
        lines += [f"missing  {name}" for name in self.missing]
        lines += [f"ignored  {path}: no golden has this name" for path in self.strange]
        total = len(self.findings)
        what, own = ("nodes", "the device's values") if self.nodes else ("dumps", "their goldens")
        if self.first is None:
            return [*lines, f"all {total} {what} are equal to {own}"]
        different = sum(not finding.same for finding in self.findings)
        return [*lines, f"{different} of {total} {what} differ, first {self.first.name}"]

    def charts(self) -> list[Chart]:
        """Return the share of each dump that differs from its golden.

        Returns
        -------
        list of chart
            svg() draws it; a dump of wrong size or type differs as a whole.
        """
        shares = tuple(
            100 * finding.difference.differing / max(finding.elements, 1)
            if finding.difference
            else 100.0 * (not finding.same)
            for finding in self.findings
        )
        names = tuple(finding.name for finding in self.findings)
        return [BarChart("Elements that differ, %", names, shares)]

    def junit(self, suite: str = "compare") -> str:
        """Return the comparison as JUnit XML for CI servers.

        Parameters
        ----------
        suite : str, default "compare"
            The name of the suite.

        Returns
        -------
        str
            A test case for each golden; one without a dump is skipped.
        """
        return junit([(suite, self.cases())])

    def cases(self) -> list[Case]:
        """Return a test case for each golden.

        Returns
        -------
        list of junit.Case
            Compared goldens, then those without a dump.
        """
        found = [
            Case(finding.name, "" if finding.same else "\n".join(finding.lines()))
            for finding in self.findings
        ]
        return found + [Case(name, missing=True) for name in self.missing]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            The verdict, a dictionary for each dump, and the names of what has no partner.
        """
        return {
            "same": self.same,
            "dumps": [_dump_values(finding) for finding in self.findings],
            "missing": list(self.missing),
            "ignored": [str(path) for path in self.strange],
        }

    def __repr__(self) -> str:
        return f"<Comparison: {self.lines()[-1]}>"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _dump_values(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON has it."""
    return {
        "golden": finding.name,
        "layer": finding.layer,
        "file": str(finding.dump),
        "same": finding.same,
        "elements": finding.elements,
        "bytes": finding.nbytes,
        "difference": None if finding.difference is None else asdict(finding.difference),
        "unlike": finding.unlike or None,
    }


def compare(
    golden: Path,
    dump: Path,
    base: Optional[int] = None,
    search: Optional[Callable[[Profile], FaultSearch]] = None,
) -> Comparison:
    """Compare the dumps in a folder with the golden set in another; see dumps.py for their names.

    dump may be the log of a self-test, see self_test_log.py; or golden is a file of the golden set,
    and dump a file with the dump of this one.

    Every dump of a golden is compared by its bytes. Goldens without a dump are listed and are no
    difference. Raises Error if the golden set is damaged, a dump cannot be read, or no file of the
    dump folder belongs to a golden. base: of texts, see dumps.read(). search: returns the search
    for faults of the network on a device.
    """
    goldens, dump = load(Path(golden)), Path(dump)
    if not dump.exists():
        raise Error(f"there is no folder or log {dump}: give the dumps of the device")
    single = dump.is_file() and goldens.one
    log = read_log(dump) if dump.is_file() and not single else None
    present = _list_present(dump)
    twins = _find_twins(goldens)
    faults = None if search is None else _Faults(goldens, search(goldens.profile))
    read: Iterable[tuple[Entry, Path, Union[np.ndarray, str]]]
    if single:
        read = [(entry, dump, _read(entry, dump, base)) for entry in goldens.entries]
    elif log is None:
        read = _iterate_dumps(goldens, dump, present, base)
    else:
        read = _iterate_results(goldens, dump, log)
    if faults is not None:
        read = list(read)
        for entry, _, got in read:
            if isinstance(got, np.ndarray):
                faults.add(entry, got)
    findings = [
        _compare(goldens, entry, path, twins[entry.input], got, faults) for entry, path, got in read
    ]
    if not findings:
        raise _make_nothing_error(dump, goldens, present)
    missing = _make_missing(goldens, findings)
    return Comparison(tuple(findings), tuple(missing), tuple(sorted(present)))


def _iterate_results(
    goldens: Goldens, path: Path, log: Mapping[str, bytes]
) -> Iterator[tuple[Entry, Path, Union[np.ndarray, str]]]:
    """Yield golden, file and content of each result in the log of a self-test."""
    for entry in goldens.entries:
        if entry.name in log:
            content = log[entry.name]
            dtype = dumps.to_stored(entry.dtype)
            wrong = f"it has {len(content)} bytes, but the golden has {entry.nbytes}"
            whole = len(content) == entry.nbytes
            yield entry, path, np.frombuffer(content, dtype) if whole else wrong


def _iterate_dumps(
    goldens: Goldens, dump: Path, present: set[Path], base: Optional[int]
) -> Iterator[tuple[Entry, Path, Union[np.ndarray, str]]]:
    """Yield golden, file and content of each dump, and remove its file from `present`."""
    for entry in goldens.entries:
        stems = dumps.list_dump_names(entry.name, goldens.inputs)
        paths = [dump / (stem + ending) for stem in stems for ending in dumps.ENDINGS]
        for path in [path for path in paths if path in present]:
            yield entry, path, _read(entry, path, base)
            present.remove(path)


def _list_present(dump: Path) -> set[Path]:
    """Return the files with a dump's ending."""
    return {
        Path(root) / name
        for root, _, names in os.walk(dump)
        for name in names
        if name.endswith(dumps.ENDINGS)
    }


def _find_twins(goldens: Goldens) -> dict[int, dict[int, str]]:
    """Return input -> CRC-32 -> name of the golden of that input with that content."""
    twins: dict[int, dict[int, str]] = {}
    for entry in goldens.entries:
        twins.setdefault(entry.input, {}).setdefault(entry.crc32, entry.name)
    return twins


def _make_nothing_error(dump: Path, goldens: Goldens, present: set[Path]) -> Error:
    if not goldens.entries:
        return Error(
            f"the golden set {goldens.folder} has no goldens: write it again with `golden`"
        )
    wanted = dumps.list_dump_names(goldens.entries[0].name, goldens.inputs)
    files = [path.relative_to(dump).as_posix() for path in sorted(present)]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    holds = ", ".join(files[:_NAMED]) + more or f"nothing that ends in {', '.join(dumps.ENDINGS)}"
    return Error(
        f"no file in {dump} has the name of a golden, such as {' or '.join(wanted)} with "
        f"the ending {', '.join(dumps.ENDINGS)}; the folder has {holds}"
    )


def compare_arrays(golden: Path, arrays: Mapping[str, np.ndarray]) -> Comparison:
    """Compare arrays by the names of their goldens, such as "x0/conv1", or "conv1" of a single
    input.

    Raises Error if the golden set is damaged, or an array has no golden's name.
    """
    goldens = load(Path(golden))
    twins = _find_twins(goldens)
    findings, left = [], dict(arrays)
    for entry in goldens.entries:
        names = [name for name in dumps.list_dump_names(entry.name, goldens.inputs) if name in left]
        for name in names:
            got, source = dumps.convert_to_stored(left.pop(name)), Path(name)
            findings.append(_make_finding(goldens, entry, source, twins[entry.input], got))
    if left or not findings:
        known = ", ".join(entry.name for entry in goldens.entries[:_NAMED])
        strange = ", ".join(map(repr, list(left)[:_NAMED])) or "no array is given"
        raise Error(
            f"{strange}: {golden} has no golden of this name; names are {known}, for instance"
        )
    return Comparison(tuple(findings), tuple(_make_missing(goldens, findings)))


def _make_missing(goldens: Goldens, findings: Sequence[Finding]) -> list[str]:
    found = {finding.name for finding in findings}
    return [entry.name for entry in goldens.entries if entry.name not in found]


class _Faults:
    """Search for the faults of layers in all dumps."""

    def __init__(self, goldens: Goldens, search: FaultSearch) -> None:
        known = {entry.layer for entry in goldens.entries}
        lacking = [node.name for node in search.graph.nodes if node.name not in known]
        if lacking:
            raise Error(
                f"{goldens.folder} has no golden of the layer {lacking[0]!r} of "
                f"{search.graph.name}: it is of another network; give the network of the goldens"
            )
        self._goldens = goldens
        self._search = search
        self._dumped: dict[str, np.ndarray] = {}
        self._found: dict[str, Found] = {}
        self._groups: dict[PurePosixPath, list[Entry]] = {}
        for entry in goldens.entries:
            self._groups.setdefault(PurePosixPath(entry.name).parent, []).append(entry)

    def add(self, entry: Entry, got: np.ndarray) -> None:
        """Add a dump, which later layers read."""
        self._dumped[entry.name] = got.ravel()

    def explain(self, entry: Entry) -> str:
        """Return the fault of a layer in words, "" if unknown; other samples confirm it."""
        first = self._find(entry)
        alike = [each for each in self._goldens.entries if each.layer == entry.layer]
        others = (self._find(each) for each in alike if each != entry and self._differs(each))
        return spell(first, list(islice(others, _CONFIRMED)) if first.sentences else [])

    def _differs(self, entry: Entry) -> bool:
        got = self._dumped.get(entry.name)
        return got is not None and zlib.crc32(got.tobytes()) != entry.crc32

    def _find(self, entry: Entry) -> Found:
        """Search in one dump, once."""
        if entry.name not in self._found:
            group = PurePosixPath(entry.name).parent
            before = self._find_before(entry, group)
            values, earlier = self._values(group), self._values(before)
            values.pop(entry.layer, None)
            start = before if group.name != "t0" else group.parent / "start"
            own = self._values(start)
            states = (tensor.name for tensor in self._search.graph.states)
            values.update({name: own[name] for name in states if name in own})
            want, got = self._goldens.values(entry), self._dumped[entry.name]
            self._found[entry.name] = self._search.find(entry.layer, want, got, values, earlier)
        return self._found[entry.name]

    def _find_before(self, entry: Entry, group: PurePosixPath) -> PurePosixPath:
        """Return the group of the time step, or the input, before."""
        if len(group.parts) > 1 and group.name not in ("t0", "start"):
            return group.parent / f"t{int(group.name[1:]) - 1}"
        return PurePosixPath(f"x{entry.input - 1}")

    def _values(self, group: PurePosixPath) -> dict[str, np.ndarray]:
        """Return layer -> bytes of the device, or of the golden if there is no dump."""
        dumped, values = self._dumped, self._goldens.values
        return {
            entry.layer: dumped[entry.name] if entry.name in dumped else values(entry)
            for entry in self._groups.get(group, [])
        }


def _read(entry: Entry, path: Path, base: Optional[int]) -> Union[np.ndarray, str]:
    """Return a dump, or why it has another size or type."""
    try:
        return dumps.read(path, entry.dtype, math.prod(entry.shape), base)
    except dumps.Unlike as reason:
        return str(reason)


def _compare(
    goldens: Goldens,
    entry: Entry,
    path: Path,
    twins: Mapping[int, str],
    got: Union[np.ndarray, str],
    faults: Optional[_Faults],
) -> Finding:
    if isinstance(got, str):
        size = math.prod(entry.shape), entry.nbytes
        return Finding(entry.name, entry.layer, path, *size, unlike=got)
    return _make_finding(goldens, entry, path, twins, got, faults)


def _make_finding(
    goldens: Goldens,
    entry: Entry,
    source: Path,
    twins: Mapping[int, str],
    got: np.ndarray,
    faults: Optional[_Faults] = None,
) -> Finding:
    want = goldens.values(entry)
    unlike, differs = "", None
    if (got.dtype, got.size) != (want.dtype, want.size):
        unlike = (
            f"it has {got.size} elements of {got.dtype.name}, but the golden has {want.size} of "
            f"{want.dtype.name}"
        )
    elif find_differing(got.ravel(), want.ravel()).any():
        flat = got.ravel()
        search = partial(faults.explain, entry) if faults else str
        cause = find_likely_cause(goldens, entry, want, flat, twins, search)
        differs = measure_difference(want, got.ravel(), cause)
    return Finding(entry.name, entry.layer, source, want.size, want.nbytes, differs, unlike)


def measure_difference(want: np.ndarray, got: np.ndarray, cause: str = "") -> ArrayDifference:
    """Return the difference of `got`, flat, from `want`, which has as many elements and is not
    equal.
    """
    flat = want.ravel()
    differs = np.flatnonzero(find_differing(got, flat))
    index = int(differs[0])
    position = tuple(int(i) for i in np.unravel_index(index, want.shape))
    return ArrayDifference(
        index=index,
        position=position,
        got=got[index].item(),
        want=flat[index].item(),
        differing=int(differs.size),
        differing_bytes=int(np.count_nonzero(got.view(np.uint8) != flat.view(np.uint8))),
        largest=_find_largest(got[differs], flat[differs]),
        cause=cause,
    )


def _find_largest(got: np.ndarray, want: np.ndarray) -> Union[int, float]:
    """Return the largest |got - want|, in Python's integers, because 64-bit differences
    overflow.
    """
    if got.dtype.itemsize < 8 and got.dtype.kind != "f":
        return int(np.abs(got.astype(np.int64) - want).max())
    largest: Union[int, float] = max(abs(a - b) for a, b in zip(got.tolist(), want.tolist()))
    return largest


def spell_position(position: tuple[int, ...]) -> str:
    """Return an element in words: [y=3][x=4][c=5] for images, [i] otherwise."""
    names = ("y=", "x=", "c=") if len(position) == 3 else ("",) * len(position)
    return "".join(f"[{name}{i}]" for name, i in zip(names, position))
