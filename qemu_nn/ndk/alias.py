"""The name `ndk` for this package, for scripts that import the kit as its manual does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Optional

from ..errors import Error

_NAME = "ndk"
_HOME = __package__

#: Modules of the manual with a different location here.
_ELSEWHERE = {"ndk.examples": "qemu_nn.examples"}


def install() -> None:
    """Make `import ndk` and `from ndk.layers import Layer` give this package, in this process.

    Calling it again changes nothing.

    Raises
    ------
    Error
        Another `ndk` is imported already.
    """
    known = sys.modules.get(_NAME)
    if known is not None and known is not sys.modules[_HOME]:
        raise Error(
            f"another ndk is imported already, from {getattr(known, '__file__', 'elsewhere')}: "
            "call install() before it, or leave it out"
        )
    if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Alias())


class _Alias(MetaPathFinder, Loader):
    """Gives the modules of this package under the other name, each the same object."""

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        return spec_from_loader(name, self) if name.split(".")[0] == _NAME else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_real_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is to be run; the import system has put the other name's spec in, which goes."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _real_name(name: str) -> str:
    for start, place in {**_ELSEWHERE, _NAME: _HOME}.items():
        if name == start or name.startswith(f"{start}."):
            return place + name[len(start) :]
    return name
