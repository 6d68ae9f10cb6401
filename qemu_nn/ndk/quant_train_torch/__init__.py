"""Fixed-point training on PyTorch, which is imported only once this is used."""

from __future__ import annotations

from types import ModuleType

from ...io.optional_deps import require

__all__ = ["quant_layer"]


def __getattr__(name: str) -> ModuleType:
    """Return the module quant_layer, on first use. Raises Error with what to install without
    torch.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return require(f"{__name__}.{name}", "train", "fixed-point training")
