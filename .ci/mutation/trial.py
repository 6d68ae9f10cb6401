"""Outcome of a mutant: the draw or the test that notices it."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

from . import sweep
from .library import Library, link
from .sites import Mutant, mutants_of
from .suite import Suite, tests_that_name

#: Seconds of processor time of a sweep; the longest takes about 3.
PATIENCE = 10
#: Objects whose rows are swept before a mutant counts as unnoticed; with --again all are.
MOST_SWEPT = 3
#: Folders that have tests and proofs of their own. Lists of kernels are left out as well.
ELSEWHERE = ("csrc/include/", "csrc/common/")
#: Files whose faults tests find, and these tests.
BY_TESTS = {"csrc/runtime/split.c": tests_that_name("runtime import split")}
BY_TESTS |= {
    f"csrc/ethosu/{name}.c": ["tests/ethosu"]
    for name in ("decode", "engine", "order", "program_ref", "run", "weights")
}
#: Tests of the everyday suite that plan networks, but for the largest ones.
OF_NETWORKS = [
    *("tests/rows", "tests/runtime", "-k", "not mobilenet"),
    *("-m", "caps and not rows and not slow and not compiles"),
]


class Trial:
    """The C core, the rows that depend on each of its objects, and the mutants of their files."""

    def __init__(self, work: Path) -> None:
        self.library = Library(work)
        self.library.build()
        objects = list(map(self.library.object_of, self.library.sources))
        features = sweep.features_of(link(objects, work / "unchanged.so"))
        self._pairs = {source: self._pairs_of(source, features) for source in self.library.sources}
        self._suite: Optional[Suite] = None

    def _pairs_of(self, source: str, features: int) -> list[sweep.Pair]:
        """Return what to sweep after a change of an object; nothing if plain rows depend on it."""
        symbols = self.library.symbols
        own = symbols[source][0]
        if own & {"qn_kernel_at", *sweep.PLAIN} or any(name.endswith("_check") for name in own):
            return []
        needing = self.library.needing(source)
        return sweep.pairs_of(set().union(*(symbols[name][0] for name in needing)), features)

    def mutants(self) -> Iterator[tuple[Mutant, list[str]]]:
        """Yield each change of a file, and the sources of the objects that contain it."""
        found = {path: [path] for path in BY_TESTS if (self.library.tree / path).exists()}
        for source, pairs in self._pairs.items():
            for path in self.library.includes(source) if pairs else ():
                if not path.startswith(ELSEWHERE) and not path.endswith("kernels.inc"):
                    found.setdefault(path, []).append(source)
        for path in sorted(found):
            for mutant in mutants_of(path, self.library.text(path)):
                yield mutant, found[path]

    def entry(self, mutant: Mutant, sources: Iterable[str], how: Namespace) -> dict[str, Any]:
        """Return the journal's line of a mutant: what it is, and what becomes of it."""
        source = self.library.text(mutant.path)
        before, after = mutant.lines(source)
        started = time.monotonic()
        order = sorted(sources, key=lambda source: (-len(self._pairs[source]), source))
        most = len(order) if how.again else MOST_SWEPT
        outcome, by = self._outcome(mutant, order, most, how.tests)
        return {
            "path": mutant.path,
            "line": mutant.line(source),
            "kind": mutant.kind,
            "before": before,
            "after": after,
            "outcome": outcome,
            "by": by,
            "seconds": round(time.monotonic() - started, 1),
        }

    def _outcome(
        self, mutant: Mutant, sources: Sequence[str], most: int, tests: bool
    ) -> tuple[str, str]:
        text = mutant.applied(self.library.text(mutant.path))
        different: list[str] = []
        for source in sources:
            changed = self.library.changed(source, mutant.path, text)
            if changed is None:
                return "refused", ""
            if changed.read_bytes() != self.library.object_of(source).read_bytes():
                different.append(source)
                by_tests = tests and mutant.path in BY_TESTS
                found = (
                    self._by_tests(source, changed) if by_tests else self._by_draws(source, changed)
                )
                if found:
                    return "noticed", found
            if len(different) == most:
                break
        if not different:
            return "absent", ""
        if all(self.library.makes_same_code(s, mutant.path, text) for s in [*different, *sources]):
            return "same code", ""
        if not tests or mutant.path in BY_TESTS:
            return "unnoticed", " ".join(different)
        changed = self.library.optimized(different[0], mutant.path, text)
        found = self._by_tests(different[0], changed)
        return ("noticed", found) if found else ("unnoticed", " ".join(different))

    def _by_draws(self, source: str, changed: Path) -> str:
        pairs = self._pairs[source]
        if not pairs:
            return ""
        sweep.warm(pairs)
        return sweep.apart(self.library.linked(source, changed), pairs, PATIENCE)

    def _by_tests(self, source: str, changed: Path) -> str:
        if self._suite is None:
            self._suite = Suite(self.library.work)
        tests = OF_NETWORKS
        if source in BY_TESTS:
            tests = [*BY_TESTS[source], "-m", "not slow and not compiles"]
        return self._suite.killed(source, changed, tests)
