"""Bit-exact emulation of fixed-point neural networks as Cortex-M devices run them.

>>> import qemu_nn
>>> network = qemu_nn.load("network.json")
>>> scores = network.session(target="cortex-m4").run(x)["softmax"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import DeviceWarning, Error, ModelError, Refused, SizeMismatch

if TYPE_CHECKING:
    from .pipeline import FloatNetwork, Network, load

__version__ = "0.1.0"

__all__ = [
    "DeviceWarning",
    "Error",
    "FloatNetwork",
    "ModelError",
    "Network",
    "Refused",
    "SizeMismatch",
    "__version__",
    "load",
]


def __getattr__(name: str) -> object:
    """`load` and the networks on first use: they bring numpy and the C core with them."""
    if name in ("FloatNetwork", "Network", "load"):
        from . import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
