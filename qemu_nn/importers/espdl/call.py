"""Conversion of a node: its arguments, checked, and the calls it adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np

from ...errors import ModelError
from ..arguments import SUFFIXES, moves, sides
from .building import EspBuilder
from .model import EspConstant, EspNode, EspValue

#: Types of a node's arithmetic, by the attribute that chooses the device's kernel.
_KINDS = {"S8": "int8", "S16": "int16", "F32": "float32"}

#: Most absolute value of an integer attribute.
_MOST = 2**31 - 1

#: Most axes of a slice.
_SLICES = 5


@dataclass(frozen=True)
class EspCall:
    """A node, and the network under construction.

    Every method raises ModelError if the file holds something without a meaning.
    """

    node: EspNode
    builder: EspBuilder

    # Arguments

    def expect(self, low: int, high: Optional[int] = None, outputs: int = 1) -> None:
        """Check the numbers of inputs and outputs; trailing inputs may be missing."""
        have, made = len(self.node.inputs), len(self.node.outputs)
        high = low if high is None else high
        if not low <= have <= high or "" in self.node.inputs[:low]:
            count = low if low == high else f"{low} to {high}"
            raise ModelError(f"it has {have} inputs; it must have {count}")
        if made != outputs or "" in self.node.outputs:
            raise ModelError(f"it has {made} outputs; it must have {outputs}")

    def has(self, index: int) -> bool:
        """True if an optional input is given."""
        return index < len(self.node.inputs) and self.node.inputs[index] != ""

    def value(self, index: int, *dtypes: str) -> EspValue:
        """Return the value of an input, of one of these types."""
        found = self.builder.value(self.node.inputs[index])
        if dtypes and found.dtype not in dtypes:
            raise ModelError(f"its input {index}, {found}, must be {' or '.join(dtypes)}")
        return found

    def operand(self, index: int, *dtypes: str) -> EspValue:
        """Return the value of an input of the type that the node's kernel is for.

        dtypes: types that are supported; default: int8 and int16.
        """
        found = self.value(index, *(dtypes or ("int8", "int16")))
        kind = self.text("quant_type", "")
        if _KINDS.get(kind) != found.dtype:
            raise ModelError(
                f"its quant_type is {kind!r}, but its input {index} is {found}; both must agree"
            )
        return found

    def constant(self, index: int, *dtypes: str) -> EspConstant:
        """Return an input that must be a constant, of one of these types."""
        name = self.node.inputs[index]
        found = self.builder.model.constants.get(name)
        if found is None:
            raise ModelError(f"its input {index}, {name[:60]!r}, must be a constant")
        if dtypes and found.dtype not in dtypes:
            raise ModelError(f"its input {index}, {found}, must be {' or '.join(dtypes)}")
        return found

    def numbers(self, index: int) -> list[int]:
        """Return the integers of a constant, within 32 bits."""
        found = self.constant(index, "int32", "int64").data
        return [max(-_MOST, min(int(number), _MOST)) for number in found.tolist()]

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from the first."""
        if not -rank <= axis < rank:
            raise ModelError(f"its axis is {axis}; it must be {-rank} to {rank - 1}")
        return axis % rank

    # Attributes

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is text."""
        return str(self._attribute(name, default, str))

    def integer(self, name: str, default: int) -> int:
        """Return an attribute that is an integer of 32 bits."""
        found = self._attribute(name, default, int)
        if abs(found) > _MOST:
            raise ModelError(f"its {name} is {found}")
        return int(found)

    def number(self, name: str, default: float) -> float:
        """Return an attribute that is a finite float."""
        found = float(self._attribute(name, default, float))
        if not math.isfinite(found):
            raise ModelError(f"its {name} is {found}")
        return found

    def integers(self, name: str, count: int, default: Sequence[int], low: int) -> list[int]:
        """Return an attribute that is a list of so many integers from `low` on."""
        found: list[int] = self._attribute(name, [], list) or list(default)
        if len(found) != count or any(not low <= each <= 2**16 for each in found):
            raise ModelError(
                f"its {name} is {found[:9]}; it must be {count} integers from {low} to {2**16}"
            )
        return found

    def _attribute(self, name: str, default: Any, kind: type) -> Any:
        found = self.node.attributes.get(name, default)
        if not isinstance(found, kind):
            raise ModelError(f"its {name} must be {kind.__name__}, is {type(found).__name__}")
        return found

    def is_rectified(self) -> int:
        """Return 1 if Relu is fused into the layer, 0 if nothing is."""
        activation = self.text("activation", "Linear")
        if activation not in ("Linear", "Relu"):
            raise ModelError(f"its activation is {activation!r}; have: Linear, Relu")
        return int(activation == "Relu")

    # Results

    def result(self, shape: Sequence[int], number: int = 0, *dtypes: str) -> EspValue:
        """Return an output with the type and exponent that the file describes.

        shape: what the device computes; the file's own shapes may be those of a different length.
        """
        name = self.node.outputs[number]
        described = self.builder.model.values.get(name)
        if described is None:
            raise ModelError(f"its output {name[:60]!r} has no description; export the model again")
        if dtypes and described.dtype not in dtypes:
            raise ModelError(f"its output, {described}, must be {' or '.join(dtypes)}")
        if any(side < 1 for side in shape):
            raise ModelError(f"its output {name[:60]!r} has the shape {list(shape)}")
        return replace(described, shape=tuple(shape))

    def put(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[EspValue],
        output: EspValue,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
    ) -> None:
        """Add the call that computes an output of the node."""
        made = self.builder.call(function, params, inputs, output, weights, bias)
        self.builder.set(output.name, made)

    def part(
        self,
        part: str,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[EspValue],
        like: EspValue,
    ) -> EspValue:
        """Add a call for an intermediate value; like: its type, shape and exponent."""
        made = replace(like, name=f"{self.node.outputs[0]}/{part}")
        return self.builder.call(function, params, inputs, made)

    def load(self, part: str, numbers: np.ndarray) -> EspValue:
        """Add a call for an array of integers of 32 bits."""
        made = EspValue(f"{self.node.outputs[0]}/{part}", "int32", numbers.shape, 0)
        return self.builder.call("tflm_constant_s32", {"length": made.size}, [], made, numbers)

    def view(self, x: EspValue, shape: Sequence[int]) -> None:
        """Give the output the same elements in a different shape."""
        output = self.result(shape)
        if output.size != x.size:
            raise ModelError(f"its input is {x}; it must have as many elements as {list(shape)}")
        if (output.dtype, output.exponent) != (x.dtype, x.exponent):
            raise ModelError(
                f"its output, {output}, shares memory with its input, {x}, but has exponent "
                f"{output.exponent}, not {x.exponent}; export the model again"
            )
        self.builder.set(output.name, replace(x, shape=tuple(shape)))

    # Movement

    def broadcast(self, part: str, x: EspValue, shape: Sequence[int]) -> EspValue:
        """Return a value in a shape that it broadcasts to."""
        if x.size == math.prod(shape):
            return replace(x, shape=tuple(shape))
        params = {**sides("input", x.shape), **sides("output", shape)}
        function = f"tflm_broadcast_{SUFFIXES[x.dtype]}"
        return self.part(part, function, params, [x], replace(x, shape=tuple(shape)))

    def transpose(self, part: str, x: EspValue, order: Sequence[int]) -> EspValue:
        """Return a value with its axes in a different order."""
        shape = tuple(x.shape[axis] for axis in order)
        function = f"tflm_transpose_{SUFFIXES[x.dtype]}"
        return self.part(part, function, moves(x.shape, order), [x], replace(x, shape=shape))

    @staticmethod
    def take(
        shape: Sequence[int], begins: Sequence[int], steps: Sequence[int], counts: Sequence[int]
    ) -> dict[str, int]:
        """Return arguments of a slice: elements of each axis from `begins` on."""
        missing = _SLICES - len(shape)
        if missing < 0:
            raise ModelError(f"it slices {len(shape)} axes; at most {_SLICES} are supported")
        whole = [(1, 0, 1, 1)] * missing + list(zip(shape, begins, steps, counts))
        names = ("input", "begin", "stride", "output")
        return {
            f"{name}_{at}": number
            for at, numbers in enumerate(whole)
            for name, number in zip(names, numbers)
        }


#: Function that adds the calls of one node.
Converter = Callable[[EspCall], None]
