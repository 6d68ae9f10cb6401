"""Tests of the everyday suite on an extension module of which one C object is another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .library import ROOT, link

#: Seconds that tests may take: of the unchanged core, and times as long after a change, but this.
PATIENCE, SLOWER, LEAST = 900, 4, 30
NATIVE = "_native.abi3.so"


class Suite:
    """The repository by links, its extension module linked again for each changed object."""

    def __init__(self, work: Path) -> None:
        self._root = work / "suite"
        package = self._root / "qemu_nn"
        package.mkdir(parents=True, exist_ok=True)
        for folder, target in ((ROOT, self._root), (ROOT / "qemu_nn", package)):
            for path in folder.iterdir():
                if path.name not in ("qemu_nn", NATIVE, "__pycache__"):
                    (target / path.name).symlink_to(path)
        (work / "shared").symlink_to(ROOT.parent / "shared")
        self._objects = _objects_of_product()
        self._failing: dict[str, list[str]] = {}
        self._patience: dict[str, float] = {}

    def killed(self, source: str, changed: Path, tests: Sequence[str]) -> str:
        """Return the first test that fails with a changed object; "" if all pass."""
        key = " ".join(tests)
        if key not in self._failing:
            self._link(self._objects)
            started = time.monotonic()
            self._failing[key] = self._failures(tests, PATIENCE)
            self._patience[key] = LEAST + SLOWER * (time.monotonic() - started)
        self._link({**self._objects, source: changed})
        known = [f"--deselect={name}" for name in self._failing[key]]
        return next(iter(self._failures(["-x", *tests, *known], self._patience[key])), "")

    def _link(self, objects: dict[str, Path]) -> None:
        link(list(objects.values()), self._root / "qemu_nn" / NATIVE)

    def _failures(self, arguments: Sequence[str], patience: float) -> list[str]:
        own = ["-q", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
        command = [sys.executable, "-m", "pytest", *own, *arguments]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=self._root, env=environment, capture_output=True, timeout=patience
            )
        except subprocess.TimeoutExpired:
            return ["endless"]
        said = done.stdout.decode(errors="replace")
        if done.returncode < 0:
            return [f"signal {-done.returncode}"]
        if done.returncode > 1:
            raise RuntimeError(said + done.stderr.decode(errors="replace"))
        return re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.M)


def _objects_of_product() -> dict[str, Path]:
    """Return the newest object that the build has made of each source, and cffi's own."""
    found: dict[str, Path] = {}
    for path in sorted(ROOT.glob("build/temp/*/**/*.o"), key=lambda path: path.stat().st_mtime):
        if path.stem != "runner":
            source = path.with_suffix(".c").relative_to(ROOT / "build" / "temp")
            found[source.as_posix().partition("/")[2]] = path
    return {name: path for name, path in found.items() if (ROOT / name).exists()}


def tests_that_name(word: str) -> list[str]:
    """Return the test files that have a word."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [
        path.relative_to(ROOT).as_posix()
        for path in files
        if word in path.read_text(encoding="utf-8")
    ]
