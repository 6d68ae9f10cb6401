"""Reading of fields from untrusted bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ..errors import ModelError


class Cursor:
    """Bytes and a position in them. name: of the file, for errors."""

    def __init__(self, data: bytes, name: str, at: int) -> None:
        self.data, self.name, self.at = data, name, at

    def error(self, text: str) -> ModelError:
        """Return an error that names the file."""
        return ModelError(f"{self.name} {text}")

    def take(self, count: int) -> bytes:
        """Return the next bytes; raise ModelError if there are fewer."""
        if count > len(self.data) - self.at:
            raise self.error(f"ends at byte {len(self.data)}, within a field of {count} bytes")
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, layout: str) -> tuple[Any, ...]:
        """Return the next fields by a format of the struct module."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def text(self) -> str:
        """Return a name: its length in one byte, and UTF-8."""
        data = self.take(self.unpack("<B")[0])
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"has a name that is not UTF-8 before byte {self.at}") from None

    def array(self, count: int, dtype: str) -> np.ndarray:
        """Return the next integers, as an array of its own memory."""
        kind = np.dtype(dtype)
        return np.frombuffer(self.take(count * kind.itemsize), kind).astype(kind.newbyteorder("="))
