"""The firmware's own memory: buffers, and the addresses of calls' arrays in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional


@dataclass(frozen=True)
class Address:
    """Address in the firmware's memory: a buffer and a byte offset into it."""

    buffer: str
    offset: int

    def __str__(self) -> str:
        return f"{self.buffer}+{self.offset}" if self.offset else self.buffer


@dataclass(frozen=True)
class CallAddresses:
    """The pointer arguments of one call."""

    inputs: tuple[Address, ...]
    output: Address
    scratch: Optional[Address] = None


@dataclass(frozen=True)
class Memory:
    """The firmware's own memory: calls share buffers, and overwrite each other's results.

    buffers: name -> bytes. calls: node -> its addresses. input: address of a sample before the
    first call. states: tensor name -> its address between time steps of a recurrent network.
    """

    buffers: Mapping[str, int]
    calls: Mapping[str, CallAddresses]
    input: Address
    states: Mapping[str, Address] = field(default_factory=dict)
