"""Memory of TensorFlow Lite Micro for a .tflite file, besides its tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TflmFigures:
    """Figures of a file that are not in its network.

    Attributes
    ----------
    file : int
        Bytes of the file, which firmware has in flash.
    tail, tail_helium : int
        Bytes of the interpreter's structures at the end of the arena, without and with Helium.
    before, after : int
        Bytes of float tensors that a first QUANTIZE reads and a last DEQUANTIZE makes; the network
        begins and ends with the integers.
    """

    file: int
    tail: int
    tail_helium: int
    before: int = 0
    after: int = 0

    def tail_on(self, path: str) -> int:
        """Return bytes of the tail on a core that takes this path through CMSIS-NN."""
        return self.tail_helium if path == "mve" else self.tail


@dataclass(frozen=True)
class TflmMemory:
    """Memory of a file in TensorFlow Lite Micro on one core.

    Attributes
    ----------
    file : int
        Bytes of the file, in flash.
    head, tail : int
        Bytes of the arena's tensors, and of the interpreter's structures.
    """

    file: int
    head: int
    tail: int

    @property
    def arena(self) -> int:
        """Bytes that kTensorArenaSize needs."""
        return self.head + self.tail
