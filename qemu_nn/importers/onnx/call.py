"""Conversion of a node: its attributes and inputs, checked, and the operators it adds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

import numpy as np

from ...errors import ModelError
from ...operators import Identity, Operator, Reshape
from ..tensor import Tensor, Value
from .building import OnnxBuilder
from .reading import OnnxNode


@dataclass(frozen=True)
class OnnxCall:
    """A node, the values of its inputs (None where left out), and the network under construction.

    asked: the attributes and the places of inputs that were read. Every method raises ModelError
    if the file holds something else.
    """

    node: OnnxNode
    inputs: tuple[Optional[Value], ...]
    builder: OnnxBuilder
    asked: set[Union[str, int]] = field(default_factory=set, compare=False, repr=False)

    # Attributes

    def ignore(self, *keys: str) -> None:
        """Mark attributes as read that cannot change the numbers."""
        self.asked.update(keys)

    def integer(self, key: str, default: int) -> int:
        """Return an integer attribute."""
        value: int = self._attribute(key, int, default)
        return value

    def number(self, key: str, default: float) -> float:
        """Return a finite float attribute."""
        value: float = self._attribute(key, float, default)
        if not math.isfinite(value):
            raise ModelError(f"its {key} must be finite, not {value}")
        return value

    def limit(self, key: str, at: int, default: float) -> float:
        """Return a number, maybe infinite: an attribute or, in later operator sets, the input
        `at`.
        """
        if key in self.node.attributes or not self.has(at):
            value: float = self._attribute(key, float, default)
        else:
            array = self.array(at)
            if array.dtype.kind != "f" or array.size != 1:
                raise ModelError(f"its input {self.node.inputs[at]!r} must be one number")
            value = float(array.reshape(()))
        if math.isnan(value):
            raise ModelError(f"its {key} is not a number")
        return value

    def text(self, key: str, default: str) -> str:
        """Return a string attribute."""
        value: str = self._attribute(key, str, default)
        return value

    def integers(self, key: str, at: Optional[int] = None) -> Optional[list[int]]:
        """Return a list of integers: an attribute or, in later operator sets, the input `at`."""
        if key in self.node.attributes:
            values: list[int] = self._attribute(key, list, [])
            if all(isinstance(value, int) for value in values) and len(values) <= 64:
                return values
            raise ModelError(f"its attribute {key!r} must be a short list of integers")
        if at is None or not self.has(at):
            return None
        array = self.array(at)
        if array.dtype.kind not in "iu" or array.ndim > 1 or array.size > 64:
            raise ModelError(f"its input {self.node.inputs[at]!r} must be a short list of integers")
        return [int(value) for value in array.reshape(-1)]

    def get_stored_array(self, key: str) -> np.ndarray:
        """Return the array of a tensor attribute."""
        self.asked.add(key)
        proto = self.node.attributes.get(key)
        if not hasattr(proto, "data_type"):
            raise ModelError(f"its attribute {key!r} must be a tensor")
        return self.builder.decode(proto)

    def _attribute(self, key: str, kind: type, default: Any) -> Any:
        self.asked.add(key)
        value = self.node.attributes.get(key, default)
        if not isinstance(value, kind):
            raise ModelError(f"its attribute {key!r} must be of the type {kind.__name__}")
        return value

    # Inputs

    def has(self, index: int) -> bool:
        """True if an optional input is given."""
        self.asked.add(index)
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """Return an input, constant or not."""
        self.asked.add(index)
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise ModelError(f"its input {index} is missing")
        return value

    def optional(self, index: int) -> Optional[Value]:
        """Return an input that may be left out."""
        return self.value(index) if self.has(index) else None

    def tensor(self, index: int = 0) -> Tensor:
        """Return an input that depends on the network's input."""
        value = self.value(index)
        if isinstance(value, np.ndarray):
            raise ModelError(
                f"its input {self.node.inputs[index]!r} is a constant, but it must be computed"
            )
        return value

    def array(self, index: int) -> np.ndarray:
        """Return a constant input."""
        value = self.value(index)
        if not isinstance(value, np.ndarray):
            name = self.node.inputs[index]
            raise ModelError(f"its input {name!r} is computed or quantized; it must be a constant")
        return value

    def floats(self, index: int) -> np.ndarray:
        """Return a constant input of finite floats, float32 or float64."""
        array = self.array(index)
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ModelError(f"its input {self.node.inputs[index]!r} must be finite floats")
        if array.dtype != np.float16:
            return array
        self.builder.spend(array.size)
        return array.astype(np.float32)

    # The network

    def put(
        self, operator: Operator, *tensors: Tensor, part: str = "", batched: Optional[bool] = None
    ) -> Tensor:
        """Add an operator; the last one of a node has no `part` and makes its first output."""
        name = self.node.outputs[0]
        if part:
            name = self.builder.part(name, part)
        batched = tensors[0].batched if batched is None else batched
        return self.builder.add(name, operator, tensors, batched)

    def reshape(
        self, tensor: Tensor, shape: Sequence[int], part: str = "", batched: Optional[bool] = None
    ) -> Tensor:
        """Return the tensor in another shape; a leading 1 is the batch if not told otherwise."""
        if batched is None:
            batched = tuple(shape[:1]) == (1,)
        sample = tuple(shape[1:] if batched else shape)
        operator = Identity() if sample == tensor.sample else Reshape(sample)
        return self.put(operator, tensor, part=part, batched=batched)


#: Function that adds the operators of one node, the last under the name of the node's output.
Converter = Callable[[OnnxCall], object]
