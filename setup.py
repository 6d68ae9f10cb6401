"""Builds the C core, and puts its files into the package: pyproject.toml says the rest."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py


class BuildOnAllCores(build_ext):
    """Compiles as many files at a time as there are cores."""

    def build_extensions(self):
        compile = self.compiler.compile

        def compile_at_once(sources, **how):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = pool.map(lambda source: compile([source], **how), sources)
                return [built for each in found for built in each]

        if self.compiler.compiler_type == "unix":
            self.compiler.compile = compile_at_once
        super().build_extensions()


class BuildWithKernels(build_py):
    """An installed package has csrc inside: `qemu-nn export` copies kernels from there."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "qemu_nn" / "csrc"
            ignored = shutil.ignore_patterns("*.py", "__pycache__")
            shutil.copytree("csrc", target, ignore=ignored, dirs_exist_ok=True)


setup(
    cffi_modules=["qemu_nn/_build.py:builder"],
    cmdclass={"build_ext": BuildOnAllCores, "build_py": BuildWithKernels},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
