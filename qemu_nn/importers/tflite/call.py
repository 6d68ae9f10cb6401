"""An operator while it is converted: its options and inputs, checked, and the calls it adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np

from ...errors import ModelError
from ...ir.graph import Build
from ..arguments import SUFFIXES as SUFFIXES
from .building import PLAIN, Builder, Value
from .checked import library
from .flexbuffers import Map
from .parser import FileTensor, Operator
from .scaling import activation_range


@dataclass(frozen=True)
class Call:
    """An operator, and the network under construction.

    Every method raises ModelError if the file holds something without a meaning.
    """

    operator: Operator
    builder: Builder

    # Options

    def options(self, kind: str) -> Options:
        """The operator's options, of the table that belongs to it."""
        table, given = self.operator.table, self.operator.table.number("BuiltinOptionsType")
        if given != getattr(library("BuiltinOptions"), kind):
            raise ModelError(f"it lacks its options ({kind})")
        found = table.table("BuiltinOptions", kind)
        if found is None:
            raise ModelError(f"it lacks its options ({kind})")
        return Options(found)

    def custom(self, *names: str) -> Options:
        """The options of a custom operator, of these names and no others."""
        found = self._map(f"it lacks its options ({', '.join(names)})")
        if sorted(found.numbers) != sorted(names):
            have = ", ".join(found.numbers)
            raise ModelError(f"its options are {have}; they must be {', '.join(sorted(names))}")
        return Options(found)

    def optional(self) -> Options:
        """The options of a custom operator, of any names; those that are not there are 0."""
        return Options(self._map("it lacks its options"))

    def _map(self, missing: str) -> Map:
        data = self.operator.table.numbers("CustomOptions")
        if not data.size:
            raise ModelError(missing)
        return Map(data.astype("uint8").tobytes())

    # Tensors

    def counts(self, least: int, most: int, outputs: int = 1) -> None:
        """Say how many inputs and outputs there must be."""
        inputs, made = len(self.operator.inputs), len(self.operator.outputs)
        if not least <= inputs <= most or made != outputs:
            raise ModelError(f"it has {inputs} inputs and {made} outputs")

    def value(self, index: int = 0, *more: str) -> Value:
        """An input that is computed; more: types that it may hold beside the usual."""
        value, tensor = self.builder.value(self._input(index)), self.tensor(index)
        if tensor.type == "FLOAT32" and tensor.type not in more:
            raise ModelError(
                f"it reads {tensor}, which holds real numbers; it computes with integers: convert "
                "the model with full integer quantization"
            )
        if tensor.type in PLAIN and tensor.type not in more:
            raise ModelError(f"it reads {tensor}, which holds {tensor.type}")
        if not len(tensor.scales) and tensor.type not in more:
            raise ModelError(f"it reads {tensor}, which has no scale")
        return value

    def tensor(self, index: int) -> FileTensor:
        """An input as the file describes it."""
        return self.builder.model.tensor(self._input(index))

    def state(self, index: int) -> Value:
        """An input that the operator keeps between runs."""
        return self.builder.state(self.tensor(index))

    def memory(
        self,
        part: str,
        shape: tuple[int, ...],
        dtype: str,
        reset: Optional[np.ndarray] = None,
    ) -> Value:
        """A state that no tensor of the file has; reset: its numbers at first, if not zeros."""
        self.builder.refuse_guarded()
        output = self.builder.model.tensor(self.operator.outputs[0])
        name = self.builder.part(output.name or f"operator{self.operator.index}", part)
        value = Value(name, shape, dtype, 1.0, 0)
        self.builder.keep(value, reset)
        return value

    def warn(self, effect: str) -> None:
        """Say what a device with CMSIS-NN does in the next call that nobody expects."""
        self.builder.warn(f"{self.operator.name}: {effect}")

    def otherwise(
        self,
        difference: str,
        function: str,
        params: Mapping[str, int],
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        states: Sequence[Value] = (),
    ) -> None:
        """Say what builds that have a difference (tflm_builds.py) call instead of the next call.

        states: those that only such builds keep; at first they are their zero points.
        """
        declared = self.builder.declared_function(function)
        for state in states:
            self.builder.reset(state, np.full(state.size, state.zero, state.dtype))
        kept = tuple(state.tensor for state in states)
        build = Build(difference, declared, declared.parse_params(params), states=kept)
        self.builder.otherwise(build, weights, bias)

    def refused(self, difference: str, why: str) -> None:
        """Say why builds that have a difference cannot run the next call."""
        self.builder.otherwise(Build(difference, refused=f"{self.operator}: {why}"), None, None)

    def described(self, index: int) -> Value:
        """An input as the file describes it, whatever it holds."""
        return self.builder.constant(self.tensor(index))

    def given(self, index: int) -> bool:
        """Whether an optional input is there."""
        inputs = self.operator.inputs
        return index < len(inputs) and inputs[index] >= 0

    def constant(self, index: int, *types: str) -> tuple[FileTensor, np.ndarray]:
        """An input whose numbers the file holds, of one of these types."""
        tensor = self.tensor(index)
        if tensor.type not in types:
            raise ModelError(f"its input {index}, {tensor}, is {tensor.type}; it {_have(types)}")
        if tensor.data is not None:
            return tensor, tensor.data
        if math.prod(tensor.shape):
            raise ModelError(f"its input {index}, {tensor}, must be a constant")
        return tensor, np.empty(tensor.shape, tensor.dtype)

    def integers(self, index: int, most: int = 8) -> list[int]:
        """A short list of integers, or one."""
        tensor, data = self.constant(index, "INT32", "INT64")
        if len(tensor.shape) > 1 or data.size > most:
            raise ModelError(f"its input {index}, {tensor}, must be a short list of integers")
        return [int(number) for number in data.reshape(-1)]

    def integer(self, index: int) -> int:
        """One integer."""
        numbers = self.integers(index, 1)
        if not numbers:
            raise ModelError(f"its input {index} is empty")
        return numbers[0]

    def operand(self, index: int, output: Value, *more: str) -> Value:
        """An input, computed or a constant, in the shape of the output that it broadcasts to."""
        return self.spread(self.brought(index, *more), output)

    def spread(self, value: Value, output: Value) -> Value:
        """A tensor in the shape of the output that it broadcasts to."""
        if value.size == output.size:
            return value
        inner = (1,) * (len(output.shape) - len(value.shape)) + value.shape
        sides = [(a, b) for a, b in zip(inner, output.shape) if b > 1]
        if len(sides) > 4:
            sides = _joined(sides)
        while len(sides) > 4:  # the last axes alone, all others as one
            before, last = sides[:-3], sides[-3:]
            rows = math.prod(side for side, _ in before)
            value = self._broadcast(value, [(rows, rows), *last])
            inner_most = math.prod(side for _, side in last)
            sides = _joined([*before, (inner_most, inner_most)])
        return self._broadcast(value, sides, output.shape)

    def _broadcast(
        self, value: Value, sides: list[tuple[int, int]], shape: tuple[int, ...] = ()
    ) -> Value:
        """A call that repeats up to four axes: sides of the value and of what is made of it.

        shape: of the tensor that it makes, if that is not one of four axes.
        """
        sides = [(1, 1)] * (4 - len(sides)) + sides
        params = {f"input_{axis}": side for axis, (side, _) in zip("nhwc", sides)}
        params.update({f"output_{axis}": side for axis, (_, side) in zip("nhwc", sides)})
        made = replace(value, shape=shape or tuple(side for _, side in sides))
        function = f"tflm_broadcast_{SUFFIXES[value.dtype]}"
        return self.part("broadcast", made, function, params, [value])

    def brought(self, index: int, *more: str) -> Value:
        """An input that is computed, or a constant, by a call that brings it; more: types."""
        tensor = self.tensor(index)
        if tensor.data is None or self.builder.has(tensor.index):
            return self.value(index, *more)
        value = self.builder.constant(tensor, *more)
        params = {"length": value.size}
        function = f"tflm_constant_{SUFFIXES[value.dtype]}"
        self.builder.call(function, params, [], value, tensor.data.reshape(-1))
        self.builder.make(tensor.index, value)
        return value

    def output(self, index: int = 0, *more: str) -> Value:
        """An output as the file describes it; more: types that it may hold beside the usual."""
        return self.builder.declared(self.operator.outputs[index], *more)

    def _input(self, index: int) -> int:
        if not self.given(index):
            raise ModelError(f"its input {index} is missing")
        return self.operator.inputs[index]

    # The network

    def put(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[Value],
        output: Value,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        at: int = 0,
    ) -> None:
        """Add the call that makes an output of the operator."""
        self.builder.call(function, params, inputs, output, weights, bias)
        self.builder.make(self.operator.outputs[at], output)

    def function(self, names: Mapping[str, str], value: Value) -> str:
        """The function for the type of a tensor, of those there are."""
        suffix = SUFFIXES[value.dtype]
        if suffix not in names:
            raise ModelError(f"it does not support {value.dtype}")
        return names[suffix]

    def part(
        self,
        part: str,
        like: Value,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[Value],
        weights: Optional[np.ndarray] = None,
    ) -> Value:
        """Add a call that makes something on the way; like: its format, its shape, whose part."""
        made = replace(like, name=self.builder.part(like.name, part))
        self.builder.call(function, params, inputs, made, weights)
        return made


@dataclass(frozen=True)
class Options:
    """The options of one operator."""

    table: Any  # a Table, or the Map of a custom operator

    def integer(self, field: str, low: int = 0, high: int = 2**31 - 1) -> int:
        """An integer in a range."""
        value = int(self.table.number(field))
        if not low <= value <= high:
            raise ModelError(f"its option {field} is {value}; it must be {low} to {high}")
        return value

    def number(self, field: str) -> float:
        """A finite real number."""
        value = float(self.table.number(field))
        if not np.isfinite(value):
            raise ModelError(f"its option {field} must be finite, not {value}")
        return value

    def text(self, field: str) -> str:
        """Text."""
        return str(self.table.text(field))

    def flag(self, field: str) -> bool:
        """A truth value."""
        return bool(self.table.number(field))

    def choice(self, field: str, kind: str) -> str:
        """The name of an enumerator of the library's class `kind`."""
        value = self.table.number(field)
        names = {code: name for name, code in vars(library(kind)).items() if code == value}
        if value not in names:
            raise ModelError(f"its option {field} is {value}, which {kind} does not have")
        return names[value]

    def activation(self, output: Value) -> dict[str, int]:
        """act_min and act_max of the fused activation, for what its output holds."""
        kind = self.choice("FusedActivationFunction", "ActivationFunctionType")
        low, high = activation_range(kind, output.scale, output.zero, output.dtype)
        return {"act_min": low, "act_max": high}


def same_type(*values: Value) -> str:
    """The suffix of a function for values of one type."""
    if len({value.dtype for value in values}) != 1:
        names = ", ".join(f"{value.name[:60]!r} {value.dtype}" for value in values)
        raise ModelError(f"its tensors are of different types: {names}")
    for value in values:
        if value.dtype == "int16" and value.zero:
            raise ModelError(
                f"{value.name[:60]!r} is int16 with the zero point {value.zero}; it must be 0"
            )
    return SUFFIXES[values[0].dtype]


def same_format(first: Value, second: Value) -> None:
    """Refuse tensors that should stand for the same numbers and do not."""
    if (first.dtype, first.scale, first.zero) != (second.dtype, second.scale, second.zero):
        a, b = first.tensor.spelled, second.tensor.spelled
        raise ModelError(f"it only moves numbers, but its input is {a} and its output {b}")


def _joined(sides: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbours as one where both are repeated, or none is."""
    joined: list[tuple[int, int]] = []
    for a, b in sides:
        if joined and (a == b) == (joined[-1][0] == joined[-1][1]):
            a, b = a * joined[-1][0], b * joined[-1][1]
            joined.pop()
        joined.append((a, b))
    return joined


def _have(types: Sequence[str]) -> str:
    return f"must be {' or '.join(types)}"


#: Adds the calls that one operator comes to.
Converter = Callable[[Call], Any]
