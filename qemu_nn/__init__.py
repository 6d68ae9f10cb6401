"""Bit-exact emulation of fixed-point neural networks as Cortex-M devices run them.

>>> import qemu_nn
>>> network = qemu_nn.load("network.json")
>>> scores = network.session(target="cortex-m4").run(x)["softmax"]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .errors import DeviceWarning, Error, ModelError, Refused, SizeMismatch

if TYPE_CHECKING:
    from .api.analyze import analyze
    from .api.export import export
    from .api.network import FloatNetwork, Network, load
    from .api.quantize import quantize
    from .io.version import __version__

#: Public name -> the module it comes from, on first use: most bring numpy and the C core along.
_HOMES = {
    "FloatNetwork": "api.network",
    "Network": "api.network",
    "analyze": "api.analyze",
    "export": "api.export",
    "load": "api.network",
    "quantize": "api.quantize",
    "__version__": "io.version",
}

__all__ = [
    "DeviceWarning",
    "Error",
    "FloatNetwork",
    "ModelError",
    "Network",
    "Refused",
    "SizeMismatch",
    "__version__",
    "analyze",
    "export",
    "load",
    "quantize",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
