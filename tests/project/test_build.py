"""The build: an edit compiles what it touches, and each set of options has its own objects."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

pytestmark = pytest.mark.compiles

needs_unix = pytest.mark.skipif(os.name == "nt", reason="MSVC's objects are always compiled again")

FILES = {
    "include/qn_params.h": "typedef struct pair { int a, b; } pair;\n",
    "include/qn_params_s.h": "",
    "include/qn_params_e.h": "",
    "include/qn_params_signal.h": "",
    "include/qn_params_movement.h": "",
    "include/qn_params_f.h": "",
    "include/qn_params_ethosu.h": "",
    "include/qn.h": '#include "qn_params.h"\nint first(pair p);\nint second(pair p);\n',
    "first.c": (
        '#include "include/qn.h"\n#include "q/value.h"\nint first(pair p) { return p.a + VALUE; }\n'
    ),
    "second.c": '#include "include/qn.h"\nint second(pair p) { return p.b; }\n',
    "q/value.h": "#define VALUE 1\n",
    "../qemu_nn/runtime/runner.c": "void *PyInit__runner(void) { return 0; }\n",
}


class Tree:
    """A small project with this project's own setup.py and _build.py."""

    def __init__(self, root: Path):
        self.root = root
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "qemu_nn/_build.py"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        (root / "qemu_nn" / "__init__.py").touch()  # without it, an installed package comes first
        (root / "qemu_nn" / "io").mkdir()
        (root / "qemu_nn" / "io" / "version.py").write_text('__version__ = "0"\n')
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.root / "csrc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def build(self, **environment: str) -> set[str]:
        """Build, and give the names of the C files that were compiled."""
        before = self.objects()
        clean = {name: value for name, value in os.environ.items() if name not in ("CC", "CFLAGS")}
        subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
            cwd=self.root,
            env={**clean, **environment},
            check=True,
            capture_output=True,
        )
        after = self.objects()
        return {path.stem + ".c" for path, time in after.items() if before.get(path) != time}

    def objects(self) -> dict[Path, int]:
        """Objects and the times at which they were written."""
        found = (self.root / "build").rglob("*.o")
        return {path: path.stat().st_mtime_ns for path in found}

    def first(self) -> int:
        """Return the results of the extension in a process of its own."""
        code = "from qemu_nn._native import lib; print(lib.first({'a': 10, 'b': 0}))"
        run = [sys.executable, "-c", code]
        return int(subprocess.run(run, cwd=self.root, check=True, capture_output=True).stdout)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@needs_unix
def test_an_edit_compiles_what_it_touches(tree):
    assert tree.build() == {"first.c", "second.c", "qemu_nn._native.c", "runner.c"}
    assert tree.first() == 11
    assert tree.build() == set()

    tree.write("q/value.h", "#define VALUE 5\n")
    assert tree.build() == {"first.c"}
    assert tree.first() == 15

    tree.write("second.c", '#include "include/qn.h"\nint second(pair p) { return -p.b; }\n')
    assert tree.build() == {"second.c"}


@needs_unix
def test_a_change_of_options_compiles_everything(tree):
    everything = tree.build()
    assert tree.build(CFLAGS="-DOTHER") == everything
    assert tree.build() == set()  # both sets of objects are kept

    build = tree.root / "qemu_nn" / "_build.py"
    build.write_text(build.read_text().replace('"-O3"', '"-O1"'))
    assert tree.build() == everything


@needs_unix
def test_a_header_that_moves_is_found_again(tree):
    tree.build()
    core = tree.root / "csrc"
    (core / "include" / "q").mkdir()
    (core / "q" / "value.h").rename(core / "include" / "q" / "value.h")
    assert tree.build() == {"first.c"}
    assert tree.first() == 11


@pytest.mark.skipif(sys.platform != "linux", reason="reads the names of ELF sections")
def test_only_a_build_that_asks_for_it_has_debug_information(tree):
    def has_debug_information() -> bool:
        (module,) = (tree.root / "qemu_nn").glob("_native*.so")
        return b".debug_info" in module.read_bytes()

    tree.build()
    assert not has_debug_information()
    tree.build(CFLAGS="-g -O0")
    assert has_debug_information()
