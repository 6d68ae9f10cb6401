"""The C compilers of this host, and programs of golden sets that they build."""

import shutil
import subprocess

import pytest

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def compiled(compiler, folder, main, *flags):
    """Build main.c with a golden set and return the lines that the program prints."""
    (folder.parent / "main.c").write_text(main)
    program = folder.parent / "program"
    sources = [folder.parent / "main.c", folder / "golden_check.c"]
    command = [compiler, *STRICT, *flags, f"-I{folder}", *sources, "-o", program]
    subprocess.run(command, check=True, capture_output=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


needs_compiler = pytest.mark.skipif(not COMPILERS, reason="there is no C compiler here")
