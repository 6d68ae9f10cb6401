"""Builds the C core, and puts its files into the package: pyproject.toml says the rest."""

import bz2
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from runpy import run_path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py


def digest(path):
    """A hash of a file's content, read once in a build; None if there is no such file."""
    try:
        at = os.stat(path)
        return digest_of(str(path), at.st_mtime_ns, at.st_size)
    except OSError:
        return None


@cache
def digest_of(path, modified, size):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def files_read(depfile):
    """What the compiler read for an object: the prerequisites in the rule that -MD wrote."""
    rule = depfile.read_text(encoding="utf-8").replace("\\\n", " ")
    return shlex.split(rule.partition(": ")[2])


class BuildChanged(build_ext):
    """Compiles on all cores, and only objects of which some part has changed.

    The parts of an object are its command, its compiler's version, the names of all headers
    here (a new one may hide another) and the content of each file that the compiler read. They
    are recorded beside the object, so that no time stamp is believed.
    """

    def finalize_options(self):
        super().finalize_options()
        self.build_temp = os.path.join("build", "temp")  # an editable install would forget it
        self.force = True  # the records decide, not the age of files

    def build_extensions(self):
        if self.compiler.compiler_type == "unix":
            words = [*self.compiler.compiler_so[:2], "--version"]  # CC may be "ccache gcc"
            version = subprocess.run(words, capture_output=True).stdout.decode(errors="replace")
            headers = sorted(path.as_posix() for path in Path("csrc").rglob("*.[hi]*"))
            self.surroundings = [version, *headers]
            self.compile_one = self.compiler._compile
            self.compile_in_turn = self.compiler.compile
            self.compiler._compile = self.compile_if_changed
            self.compiler.compile = self.compile_on_all_cores
        super().build_extensions()

    def compile_on_all_cores(self, sources, output_dir, macros, extra_postargs, **options):
        """The objects of the sources; those of each command lie in a folder of their own."""
        command = str([self.compiler.compiler_so, self.surroundings[0], macros, extra_postargs])
        folder = os.path.join(output_dir, hashlib.sha256(command.encode()).hexdigest()[:16])
        options.update(output_dir=folder, macros=macros, extra_postargs=extra_postargs)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = pool.map(lambda source: self.compile_in_turn([source], **options), sources)
            return [built for of_one in objects for built in of_one]

    def compile_if_changed(self, built, source, suffix, before, after, defines):
        if "-O3" in after and "Free Software Foundation" in self.surroundings[0]:
            after = [*after, *AS_FAST_AND_SMALLER, *smaller_still(source)]
        record = Path(built + ".json")
        command = [*self.compiler.compiler_so, *before, source, *after, *self.surroundings]
        try:
            known = json.loads(record.read_text(encoding="utf-8"))
            files = {**known["files"], built: known["object"]}
            if known["command"] == command and all(digest(f) == files[f] for f in files):
                return
        except (OSError, ValueError, KeyError):
            pass  # never built, or not to its end
        fresh, started = f"{built}.{os.getpid()}.o", time.time_ns()
        depfile = Path(fresh + ".d")
        depends = ["-MD", "-MF", str(depfile)]
        self.compile_one(fresh, source, suffix, before, [*after, *depends], defines)
        files = {name: digest(name) for name in files_read(depfile)}
        depfile.unlink()
        os.replace(fresh, built)
        if all(os.stat(name).st_mtime_ns < started for name in files):  # none was edited meanwhile
            known = {"command": command, "object": digest(built), "files": files}
            record.write_text(json.dumps(known), encoding="utf-8")


#: Of GCC's -O3 what makes rows fast, and not what makes them large; nobody unwinds their stack.
AS_FAST_AND_SMALLER = [
    *("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"),
    "-fno-asynchronous-unwind-tables",
]

#: Files that nobody waits for: tables, contracts, models of devices.
COLD = r"_(check|dsp)\.c|/(registry|cpu)\.c|_native\.c"

#: Plain rows of which every one stands behind a fast row, where AVX2 is.
BEHIND_AVX2 = r"/(q|recurrent)/\w+_ref\d*\.c|/s/convolve/(convolve|depthwise)(_mve|_s4)?_ref\.c"


def smaller_still(source):
    """Options that make a C file smaller, and nothing slower that users wait for."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    if re.search(f"{COLD}|{BEHIND_AVX2}" if x86 else COLD, Path(source).as_posix()):
        return ["-Os"]
    if re.search("_(avx|amx)", Path(source).stem):  # intrinsics: these passes only lengthen them
        return ["-fno-schedule-insns2", "-fno-tree-pre"]
    return []


def is_plain(source):
    """Is a C file none of the fast rows and their proofs, nor a contract's checks?"""
    return not re.search("_(avx|amx|neon|i8mm|portable|proof|check)", Path(source).stem)


def included(paths):
    """These C files and all that they include, directly or not."""
    found, wanted = set(), set(paths)
    while wanted:
        path = wanted.pop()
        found.add(path)
        names = re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M)
        wanted |= {Path(os.path.normpath(path.parent / name)) for name in names} - found
    return found


class BuildWithKernels(build_py):
    """An installed package has csrc inside, but for its fast rows, which nobody compiles again.

    What applications compile (`qemu-nn sdk`) are files; what `qemu-nn export` copies is an archive,
    compressed as a whole, as small files that are much alike gain little one by one.
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
    cmdclass={"build_ext": BuildChanged, "build_py": BuildWithKernels},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
