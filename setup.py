"""Build the C core, and put its files into the package; pyproject.toml has the rest."""

import bz2
import json
import os
import re
import shutil
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from runpy import run_path
from sysconfig import get_config_var

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.modified import newer_group

#: Options of GCC in place of -O3: networks are as fast, and the wheel is 0.2 MB smaller.
GCC = [
    *("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"),
    *("-fno-tree-pre", "-fno-schedule-insns2"),
]

#: Variables that change the objects, besides the interpreter: each set has a folder of its own.
SETTINGS = [os.environ.get(name) for name in ("CC", "CFLAGS", "CPPFLAGS", "ARCHFLAGS")]
OBJECTS = f"build/temp/{zlib.crc32(str([get_config_var('EXT_SUFFIX'), *SETTINGS]).encode()):08x}"


class BuildInParallel(build_ext):
    """Compiles sources on all cores, except those older than their objects."""

    def build_extensions(self):
        if self.compiler.compiler_type == "unix":
            options = GCC if is_gcc(self.compiler.compiler_so) else []
            self.compiler.compile = partial(self.compile_changed, self.compiler.compile, options)
        super().build_extensions()

    def compile_changed(self, compile_all, gcc, sources, output_dir, extra_postargs, **options):
        postargs = [*extra_postargs, *(gcc if "-O3" in extra_postargs else []), "-MD"]

        def compile_one(source):
            (built,) = self.compiler.object_filenames([source], output_dir=output_dir)
            if newer_group(files_read(Path(built)), built, missing="newer"):
                compile_all([source], output_dir, extra_postargs=postargs, **options)
            return built

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(compile_one, sources))


def is_gcc(command):
    """True if a command, such as "ccache gcc", runs GCC itself."""
    done = subprocess.run([*command, "--version"], capture_output=True)
    return b"Free Software Foundation" in done.stdout


def files_read(built):
    """Return the files that an object depends on: the rule of -MD lists what the compiler read."""
    rule = built.with_suffix(".d")
    if not rule.exists():
        return [rule]
    names = re.findall(r"(?:\\ |[^\s\\])+", rule.read_text(encoding="utf-8").partition(": ")[2])
    return ["setup.py", "qemu_nn/_build.py", *(name.replace("\\ ", " ") for name in names)]


def is_plain(source):
    """True if a C file has no fast rows, no proofs of fast rows and no checks of a contract."""
    return not re.search("_(avx|amx|neon|i8mm|portable|proof|check)", Path(source).stem)


def included(paths):
    """Return these C files and all files that they include, directly or not."""
    found, wanted = set(), set(paths)
    while wanted:
        path = wanted.pop()
        found.add(path)
        names = re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M)
        wanted |= {Path(os.path.normpath(path.parent / name)) for name in names} - found
    return found


class BuildWithKernels(build_py):
    """Copies csrc into the package, except for fast rows.

    Applications compile the files that `qemu-nn sdk` prints. `qemu-nn export` copies the rest out
    of an archive: small files that are much alike compress well only as a whole.
    """

    def run(self):
        if not self.editable_mode:  # a module that was moved or removed must not be packed
            shutil.rmtree(Path(self.build_lib) / "qemu_nn", ignore_errors=True)
        super().run()
        if not self.editable_mode:
            self.pack_kernels(Path(self.build_lib) / "qemu_nn")

    def pack_kernels(self, package):
        plain = {path for path in Path("csrc").rglob("*.c") if is_plain(path)}
        sdk = {p for p in plain if p.match("csrc/sdk/*") or p.match("csrc/wuqi/*_ref.c")}
        files = included(sdk)
        for path in sorted(files):
            (package / path.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, package / path)
        rest = sorted(included(p for p in plain if {"q", "s"} & {*p.parts}) - files)
        texts = {p.relative_to("csrc").as_posix(): p.read_text(encoding="utf-8") for p in rest}
        (package / "csrc" / "kernels.json.bz2").write_bytes(
            bz2.compress(json.dumps(texts).encode())
        )


setup(
    ext_modules=[run_path("qemu_nn/_build.py")["runner"]],
    cffi_modules=["qemu_nn/_build.py:builder"],
    cmdclass={"build_ext": BuildInParallel, "build_py": BuildWithKernels},
    options={
        "bdist_wheel": {"py_limited_api": False if get_config_var("Py_GIL_DISABLED") else "cp39"},
        "build_ext": {"build_temp": OBJECTS, "force": True},  # each object has its own rule
    },
)
