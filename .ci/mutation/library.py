"""The C core as a shared library of which one object is compiled from a changed file."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).parents[2]

#: As the product, but for optimization and for AMX, whose instructions are a model in plain C.
COMPILE = ["-std=c11", "-ffp-contract=off", "-fPIC", "-w", "-DQN_AMX_MODEL"]
#: The fastest compilation, and the one that finds out which changes make no difference.
QUICK, THOROUGH = ("clang", "-O0"), ("gcc", "-O2")
#: Mutants that no build accepts are none: pointers to other types, numbers for pointers.
REFUSE = ["-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-Werror=return-type"]


class Library:
    """A copy of the C core in a work folder, compiled; any of its files can be changed for a while.

    Objects are named by their sources: csrc/q/mult_avx2.c.
    """

    def __init__(self, work: Path, root: Path = ROOT) -> None:
        self.work, self.tree = work, work / "tree"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(root / "csrc", self.tree / "csrc", ignore=shutil.ignore_patterns("sdk"))
        shutil.copytree(root / "tests" / "c", self.tree / "tests" / "c")
        self.sources = sorted(self._relative(path) for path in self.tree.glob("csrc/**/*.c"))
        for source in self.sources:
            self.object_of(source).parent.mkdir(parents=True, exist_ok=True)

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.tree).as_posix()

    def object_of(self, source: str) -> Path:
        """Return the path of the unchanged object, compiled quickly."""
        return self.work / "objects" / f"{source}.o"

    def build(self) -> None:
        """Compile every object of the unchanged core, on all cores."""
        with ThreadPool(os.cpu_count()) as pool:
            done = pool.map(lambda s: self._compile(s, self.object_of(s)), self.sources)
        assert all(done), "the unchanged core does not compile"

    def _compile(
        self, source: str, target: Path, how: tuple[str, str] = QUICK, cached: bool = True
    ) -> bool:
        compiler, level = how
        own = [level, *COMPILE, *REFUSE, "-Icsrc/include", "-Itests/c", "-MD", "-MF", f"{target}.d"]
        environment = os.environ if cached else {**os.environ, "CCACHE_DISABLE": "1"}
        done = subprocess.run(
            [compiler, *own, "-c", source, "-o", str(target)],
            cwd=self.tree,
            env=environment,
            capture_output=True,
        )
        return done.returncode == 0

    def text(self, path: str) -> str:
        """Return an unchanged file."""
        return (self.tree / path).read_text(encoding="utf-8")

    def includes(self, source: str) -> list[str]:
        """Return the files of csrc/ that an object is compiled from, its own first."""
        rule = Path(f"{self.object_of(source)}.d").read_text(encoding="utf-8")
        names = rule.replace("\\\n", " ").partition(": ")[2].split()
        found = dict.fromkeys(os.path.normpath(name) for name in names)
        return [name for name in found if name.startswith("csrc/")]

    @cached_property
    def symbols(self) -> dict[str, tuple[set[str], set[str]]]:
        """The global symbols that each object defines, and those that it needs."""
        found: dict[str, tuple[set[str], set[str]]] = {
            name: (set(), set()) for name in self.sources
        }
        names = {str(self.object_of(source)): source for source in self.sources}
        command = ["nm", "-g", "-P", "-A", *names]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for line in lines.splitlines():
            path, symbol, kind = line.split()[:3]
            found[names[path.rstrip(":")]][kind == "U"].add(symbol)
        return found

    def needing(self, source: str) -> set[str]:
        """Return the sources whose objects need this one, directly or not, and itself.

        The object with the list of all rows, which needs all of them, is left out.
        """
        found, fresh = set(), {source}
        while fresh:
            found |= fresh
            defined = set().union(*(self.symbols[name][0] for name in fresh))
            fresh = {name for name, (_, needed) in self.symbols.items() if needed & defined}
            fresh = {name for name in fresh if "qn_kernel_at" not in self.symbols[name][0]} - found
        return found

    def changed(self, source: str, path: str, text: str) -> Optional[Path]:
        """Compile an object with another text of one file; None if the compiler refuses."""
        target = self.work / "changed.o"
        with self._changed(path, text):
            return target if self._compile(source, target, cached=False) else None

    def makes_same_code(self, source: str, path: str, text: str) -> bool:
        """True if an optimized object with another text of one file is the unchanged one."""
        before = self.work / "optimized" / f"{source}.o"
        if not before.exists():
            before.parent.mkdir(parents=True, exist_ok=True)
            self._compile(source, before, THOROUGH)
        return before.read_bytes() == self.optimized(source, path, text).read_bytes()

    @contextmanager
    def _changed(self, path: str, text: str) -> Iterator[None]:
        before = self.text(path)
        try:
            (self.tree / path).write_text(text, encoding="utf-8")
            yield
        finally:
            (self.tree / path).write_text(before, encoding="utf-8")

    def optimized(self, source: str, path: str, text: str) -> Path:
        """Compile an object with another text of one file as the product is compiled."""
        target = self.work / "changed_optimized.o"
        with self._changed(path, text):
            self._compile(source, target, THOROUGH, cached=False)
        return target

    def linked(self, source: str, changed: Path) -> Path:
        """Link the core as a shared library, with another object of one source."""
        objects = {name: self.object_of(name) for name in self.sources}
        return link([*{**objects, source: changed}.values()], self.work / "changed.so")


def link(objects: Sequence[Path], target: Path) -> Path:
    """Link objects to a shared library that uses its own symbols."""
    target.unlink(missing_ok=True)
    flags = ["-shared", "-fuse-ld=gold", "-Wl,-Bsymbolic", "-pthread", "-lm", "-o", str(target)]
    subprocess.run(["gcc", *map(str, objects), *flags], check=True)
    return target
