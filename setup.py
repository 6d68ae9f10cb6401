"""Builds the C core, and puts its files into the package: pyproject.toml says the rest."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


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
    cmdclass={"build_py": BuildWithKernels},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
