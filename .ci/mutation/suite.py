"""Tests of the everyday suite on an extension module of which one C object is another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from .library import ROOT, Library

#: Seconds that these tests may take.
PATIENCE = 900
NATIVE = "_native.abi3.so"


class Suite:
    """The repository by links, its extension module linked again for each changed object."""

    def __init__(self, library: Library) -> None:
        self._library, self._root = library, library.work / "suite"
        package = self._root / "qemu_nn"
        package.mkdir(parents=True, exist_ok=True)
        for folder, target in ((ROOT, self._root), (ROOT / "qemu_nn", package)):
            for path in folder.iterdir():
                link = target / path.name
                if path.name not in ("qemu_nn", NATIVE, "__pycache__") and not link.exists():
                    link.symlink_to(path)
        shared = ROOT.parent / "shared"
        if shared.exists() and not (library.work / "shared").exists():
            (library.work / "shared").symlink_to(shared.resolve())
        self._module = self._compiled_module()
        self._failing: dict[str, list[str]] = {}

    def _compiled_module(self) -> Path:
        """Compile cffi's own file, which the build has made."""
        (source,) = ROOT.glob("build/temp/qemu_nn._native.c")
        target = self._library.work / "native.o"
        python = sysconfig.get_paths()["include"]
        flags = ["-O1", "-fPIC", "-w", "-DPy_LIMITED_API=0x03090000", f"-I{python}"]
        command = ["gcc", *flags, "-Icsrc/include", "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True, cwd=ROOT)
        return target

    def killed(self, source: str, changed: Path, tests: Sequence[str]) -> str:
        """Return the first test that fails with a changed object; "" if all pass."""
        failing = self._failing_anyway(tests)
        self._library.linked(source, changed, self._module, self._root / "qemu_nn" / NATIVE)
        return (
            self._failures(["-x", *tests, *(f"--deselect={name}" for name in failing)]) or [""]
        )[0]

    def _failing_anyway(self, tests: Sequence[str]) -> list[str]:
        """Return the tests that fail on the unchanged core, once found."""
        key = " ".join(tests)
        if key not in self._failing:
            self._library.linked(None, None, self._module, self._root / "qemu_nn" / NATIVE)
            self._failing[key] = self._failures(tests)
        return self._failing[key]

    def _failures(self, arguments: Sequence[str]) -> list[str]:
        own = ["-q", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
        command = [sys.executable, "-m", "pytest", *own, *arguments]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=self._root, env=environment, capture_output=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return ["endless"]
        said = done.stdout.decode(errors="replace")
        if done.returncode < 0:
            return [f"signal {-done.returncode}"]
        if done.returncode > 1:
            raise RuntimeError(said + done.stderr.decode(errors="replace"))
        return re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.M)


def tests_that_name(word: str) -> list[str]:
    """Return the test files that have a word."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [
        path.relative_to(ROOT).as_posix()
        for path in files
        if word in path.read_text(encoding="utf-8")
    ]
