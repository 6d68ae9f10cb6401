"""Libraries that not every user needs: imported on first use, named with the pip command."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from ..errors import Error

#: Source for pip: a clone of the repository, until an index has the package.
_SOURCE = "."

#: Module -> pip's name, if the names differ.
_PACKAGES = {
    **{"google": "protobuf", "PIL": "pillow", "sklearn": "scikit-learn"},
    **{"tosa_serializer": "tosa-tools", "serial": "pyserial", "clang": "libclang"},
    **{"ethosu": "ethos-u-vela"},
}


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Return a module of an optional dependency; raise Error with the install command if it is
    missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _make_missing_error(
            (error.name or module).partition(".")[0], extra, purpose
        ) from None


def require_installed(module: str, extra: str, purpose: str) -> None:
    """Check a module as require() does, without importing it: another process imports it."""
    try:
        found = importlib.util.find_spec(module)
    except ValueError:  # somebody has put something into sys.modules
        found = None
    if found is None:
        raise _make_missing_error(module, extra, purpose)


def format_install_command(extra: str) -> str:
    """Return the command that installs an extra of this package, in a clone of the repository."""
    return f"pip install '{_SOURCE}[{extra}]'"


def _make_missing_error(module: str, extra: str, purpose: str) -> Error:
    name = _PACKAGES.get(module, module)
    return Error(
        f"{purpose} needs {name}, which is not installed: "
        f"{format_install_command(extra)} in a clone of qemu_nn"
    )
