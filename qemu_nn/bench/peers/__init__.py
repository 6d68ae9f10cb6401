"""Other runtimes on the same networks: same geometry, weights and shifts, as models of theirs."""

from __future__ import annotations

from contextlib import suppress
from importlib import metadata
from typing import Callable

import numpy as np

from ...ir.graph import Graph
from . import litert, onnx

#: Name -> function that prepares a batch for this runtime. See litert.prepare().
PEERS: dict[str, Callable[[Graph, np.ndarray, int], Callable[[], np.ndarray]]] = {
    "LiteRT": litert.prepare,
    "ONNX Runtime": onnx.prepare,
}

#: Name -> pip's name of the package with the runtime's version.
_PACKAGES = {"LiteRT": "ai-edge-litert", "ONNX Runtime": "onnxruntime"}


def peer_versions() -> dict[str, str]:
    """Return name -> version of each peer that is installed."""
    found = {}
    for name, package in _PACKAGES.items():
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(package)
    return found
