"""Libraries that not every user needs: imported on first use, named with the pip command."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import Error

#: What is imported -> what pip calls it, where that is something else.
_PACKAGES = {"google": "protobuf", "PIL": "pillow", "sklearn": "scikit-learn"}


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """A module of an optional dependency; Error with what to install where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        missing = _PACKAGES.get(missing, missing)
        raise Error(
            f"{purpose} needs {missing}, which is not installed: pip install 'qemu_nn[{extra}]'"
        ) from None
