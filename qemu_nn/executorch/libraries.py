"""PyTorch and ExecuTorch, which are imported with the first call that needs them."""

from __future__ import annotations

from types import ModuleType

from ..io.optional_deps import require


def import_library(name: str) -> ModuleType:
    """Return a module of PyTorch or ExecuTorch; Error with the pip command where it is missing."""
    return require(name, "executorch", "a program of PyTorch")
