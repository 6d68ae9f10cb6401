"""Tensors that the command stream of an NPU writes, for traces."""

from __future__ import annotations

from dataclasses import dataclass

from ..ethosu.tensors import Piece
from .tensors import Tensor


@dataclass(frozen=True)
class NpuTensor:
    """A tensor that operations of a command stream write, and the pieces of each operation."""

    tensor: Tensor
    pieces: tuple[Piece, ...]
