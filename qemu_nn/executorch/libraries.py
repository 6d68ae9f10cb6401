"""Imports of PyTorch and ExecuTorch at the first call that needs them."""

from __future__ import annotations

from types import ModuleType

from ..io.optional_deps import require


def import_library(name: str) -> ModuleType:
    """Return a module of PyTorch or ExecuTorch; raise Error with the pip command if it
    is missing.
    """
    return require(name, "executorch", "a program of PyTorch")
