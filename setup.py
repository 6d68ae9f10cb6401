"""Builds the C core: pyproject.toml says the rest."""

from setuptools import setup

setup(
    cffi_modules=["qemu_nn/_build.py:builder"],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
