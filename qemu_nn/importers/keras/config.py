"""Description of a layer in its file, with access to options by name and type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ...errors import ModelError

#: Key of the operands among the arguments of a call: None for a tensor, numbers of the file.
OPERANDS = "*operands"


@dataclass(frozen=True)
class KerasLayer:
    """A layer.

    kind: the class in Keras. options: its config. call: arguments of its call. version: of Keras,
    as far as it is known. Each method raises ModelError, with the layer, for a value of a different
    type.
    """

    kind: str
    name: str
    options: Mapping[str, Any]
    weights: list[np.ndarray]
    call: Mapping[str, Any]
    version: str = ""

    def error(self, message: str) -> ModelError:
        """Return an error that names this layer."""
        return ModelError(f"{self.kind} {self.name!r}: {message}")

    def number(self, key: str, default: Optional[float] = None) -> float:
        """Return a finite number."""
        value = self.options.get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not math.isfinite(value)
        ):
            raise self.error(f"its {key} is {value!r}, not a number")
        return float(value)

    def integer(self, key: str, default: Optional[int] = None) -> int:
        """Return a whole number."""
        value = self.number(key, default)
        if value != int(value):
            raise self.error(f"its {key} is {value}, not a whole number")
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.options.get(key)
        return default if value is None else bool(value)

    def choice(self, key: str, default: str, *choices: str) -> str:
        """Return one of some words."""
        value = self.options.get(key) or default
        if value not in choices:
            raise self.error(f"its {key} is {value!r}; have: {', '.join(choices)}")
        return str(value)

    def pair(self, key: str, default: Optional[tuple[int, int]] = None) -> tuple[int, int]:
        """Return two positive integers, or one for both."""
        value: Any = self.options.get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, list) and len(value) == 1:  # of a one-dimensional layer
            value = [value[0], 1]
        elif type(value) is int:
            value = [value, value]
        if not self._integers(value, 2) or min(value) < 1 or max(value) > 65535:
            raise self.error(f"its {key} is {self.options.get(key)!r}, not one or two integers")
        return (value[0], value[1])

    def pads(self, key: str) -> tuple[int, int]:
        """Return two integers from 0 on, or one for both."""
        value: Any = self.options.get(key)
        if isinstance(value, list) and len(value) == 1:  # of a one-dimensional layer
            value = [value[0], 0]
        value = [value, value] if type(value) is int else value
        if not self._integers(value, 2) or min(value) < 0 or max(value) > 65535:
            raise self.error(f"its {key} is {self.options.get(key)!r}, not one or two integers")
        return (value[0], value[1])

    def length(self, key: str, default: Optional[int] = None) -> int:
        """Return a positive integer, alone or in a list."""
        value = self.options.get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if type(value) is not int or not 1 <= value <= 65535:
            raise self.error(f"its {key} is {self.options.get(key)!r}, not an integer")
        return value

    def integers(self, key: str) -> list[int]:
        """Return a list of integers."""
        value = self.options.get(key)
        if not self._integers(value):
            raise self.error(f"its {key} is {value!r}, not a list of integers")
        return list(value)  # type: ignore[arg-type]

    def edges(self, key: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return cells at the four sides: n, (y, x), or ((top, bottom), (left, right))."""
        value = self.options.get(key)
        if type(value) is int:
            value = [value, value]
        if isinstance(value, list) and len(value) == 2:
            sides = [[side, side] if type(side) is int else side for side in value]
            if all(
                self._integers(side, 2) and 0 <= min(side) <= max(side) < 65536 for side in sides
            ):
                return ((sides[0][0], sides[0][1]), (sides[1][0], sides[1][1]))
        raise self.error(f"its {key} is {value!r}, not cells at four sides")

    def layout(self) -> str:
        """Return the layout of images."""
        last = self.choice("data_format", "channels_last", "channels_last", "channels_first")
        return "NHWC" if last == "channels_last" else "NCHW"

    def arrays(self, *ranks: int) -> list[np.ndarray]:
        """Return the weights; their number and numbers of axes must match."""
        if [array.ndim for array in self.weights] != list(ranks):
            shapes = ", ".join(str(list(array.shape)) for array in self.weights) or "none"
            raise self.error(
                f"its weights have the shapes {shapes}; they must have {list(ranks)} axes"
            )
        return self.weights

    @staticmethod
    def _integers(value: Any, count: Optional[int] = None) -> bool:
        return (
            isinstance(value, list)
            and all(type(each) is int for each in value)
            and (count is None or len(value) == count)
        )
