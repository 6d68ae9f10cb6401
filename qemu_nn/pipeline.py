"""The only place where stages meet: load, save, and a network that runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from .errors import ModelError
from .graph import Graph
from .importers import device
from .package import load_package, save_package
from .runtime.session import Session
from .targets import DEFAULT_CMSIS, DEFAULT_CORE, DEFAULT_ROUNDING, profile


@dataclass(frozen=True)
class Network:
    """A quantized network, ready to be planned for a device."""

    graph: Graph

    def session(
        self,
        target: str = DEFAULT_CORE,
        cmsis: str = DEFAULT_CMSIS,
        rounding: str = DEFAULT_ROUNDING,
        variant: Optional[str] = None,
        threads: int = 1,
    ) -> Session:
        """Plan the network for a core ("cortex-m4"), a CMSIS release and a rounding.

        variant: the row of the kernel table to run wherever a layer has one of that name;
        threads: samples computed at a time. Raises Error with the choices for unknown names, and
        the layer's constraint where the device could not run it.
        """
        return Session(self.graph, profile(target, cmsis, rounding), variant, threads)

    def save(self, path: Union[str, Path]) -> None:
        """Write the network as the project's own single file (.qnz)."""
        save_package(self.graph, path)


def load(path: Union[str, Path]) -> Network:
    """A network from a file: .qnz, or network.json (or its folder) as firmware is described.

    Raises ModelError with a sentence for anything that is not such a file.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "network.json"
    if not path.exists():
        raise ModelError(f"there is no file {path}")
    if path.suffix == ".qnz":
        return Network(load_package(path))
    if path.suffix == ".json":
        return Network(device.load(path))
    raise ModelError(f"{path} is not a model this version reads; have: .qnz, network.json")
