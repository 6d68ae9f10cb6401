"""An operator during its conversion: checked options and inputs, and the calls that it adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np

from ...errors import ModelError
from ...ir.graph import Build
from ..arguments import SUFFIXES as SUFFIXES
from .building import PLAIN, TfliteBuilder, TfliteValue
from .checked import library
from .flexbuffers import OptionMap
from .parser import TfliteOperator, TfliteTensor
from .scaling import RANGES, activation_range
from .tflm_answers import refuse

#: Operators with constants whose scale may be 0.
_FLAT = (
    *("MUL", "MAXIMUM", "MINIMUM", "PRELU", "SELECT_V2", "CONCATENATION", "PACK"),
    *("GATHER", "EMBEDDING_LOOKUP", "DYNAMIC_UPDATE_SLICE"),
)

#: Relative difference of two scales below which they count as one, without a warning.
_SCALE_NOISE = 1e-4


@dataclass(frozen=True)
class TfliteCall:
    """An operator, and the network under construction.

    Every method raises ModelError if the file is inconsistent.
    """

    operator: TfliteOperator
    builder: TfliteBuilder

    # Options

    def read_options(self, kind: str) -> Options:
        """Return the operator's options from its table of type `kind`.

        As in the framework, options without a table of this type are zeros.
        """
        return read_options(self.operator, kind, self.warn)

    def read_custom_options(self, *names: str) -> Options:
        """Return the options of a custom operator; their names must be exactly `names`."""
        found = self._map(f"it lacks its options ({', '.join(names)})")
        if sorted(found.numbers) != sorted(names):
            have = ", ".join(found.numbers)
            raise ModelError(f"its options are {have}; they must be {', '.join(sorted(names))}")
        return Options(found)

    def read_optional_options(self) -> Options:
        """Return the options of a custom operator; missing options are 0."""
        return Options(self._map("it lacks its options"))

    def _map(self, missing: str) -> OptionMap:
        data = self.operator.table.numbers("CustomOptions")
        if not data.size:
            raise ModelError(missing)
        return OptionMap(data.astype("uint8").tobytes())

    # Tensors

    def check_counts(self, least: int, most: int, outputs: int = 1) -> None:
        """Raise ModelError without `least` to `most` inputs and exactly `outputs` outputs."""
        check_counts(self.operator, least, most, outputs)

    def value(self, index: int = 0, *more: str) -> TfliteValue:
        """Return an input; a constant becomes the output of a call that copies it.

        more: allowed types besides INT8, UINT8 and INT16.
        """
        tensor = self.tensor(index)
        if tensor.data is not None and not self.builder.has(tensor.index):
            return self._copy_constant(tensor, *more)
        value = self.builder.value(tensor.index)
        if tensor.type == "FLOAT32" and tensor.type not in more:
            raise ModelError(
                f"it reads {tensor} of FLOAT32; it must be quantized: convert the model with full "
                "integer quantization"
            )
        if tensor.type in PLAIN and tensor.type not in more:
            raise ModelError(f"it reads {tensor} of {tensor.type}; it must be quantized")
        if not len(tensor.scales) and tensor.type not in more:
            raise ModelError(f"it reads {tensor} without a scale; it must be quantized")
        return value

    def tensor(self, index: int) -> TfliteTensor:
        """Return the file's description of an input."""
        return self.builder.model.tensor(self._input(index))

    def state(self, index: int) -> TfliteValue:
        """Return an input that is a state: the operator keeps it between runs."""
        return self.builder.state(self.tensor(index))

    def add_state(
        self,
        part: str,
        shape: tuple[int, ...],
        dtype: str,
        reset: Optional[np.ndarray] = None,
    ) -> TfliteValue:
        """Add a state that is no tensor of the file; `reset` is its initial value, else zeros."""
        self.builder.refuse_guarded()
        output = self.builder.model.tensor(self.operator.outputs[0])
        name = self.builder.make_name(output.name or f"operator{self.operator.index}", part)
        value = TfliteValue(name, shape, dtype, 1.0, 0)
        self.builder.keep(value, reset)
        return value

    def warn(self, effect: str) -> None:
        """Record an unexpected effect of the next call on a device with CMSIS-NN."""
        self.builder.warn(f"{self.operator.name}: {effect}")

    def record_build(
        self,
        difference: str,
        function: str,
        params: Mapping[str, int],
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        states: Sequence[TfliteValue] = (),
    ) -> None:
        """Record the replacement of the next call in builds with a difference (tflm_builds.py).

        states: states that only these builds keep; their initial value is their zero point.
        """
        declared = self.builder.find_function(function)
        for state in states:
            self.builder.reset(state, np.full(state.size, state.zero, state.dtype))
        kept = tuple(state.tensor for state in states)
        build = Build(difference, declared, declared.parse_params(params), states=kept)
        self.builder.record_build(build, weights, bias)

    def reject(self, difference: str, why: str) -> None:
        """Record the reason why builds with a difference cannot run the next call."""
        self.builder.record_build(Build(difference, refused=f"{self.operator}: {why}"), None, None)

    def describe(self, index: int) -> TfliteValue:
        """Return an input with the file's format, constant or computed."""
        return self.builder.constant(self.tensor(index), flat=self.operator.name in _FLAT)

    def has_input(self, index: int) -> bool:
        """True if the operator has this optional input."""
        inputs = self.operator.inputs
        return index < len(inputs) and inputs[index] >= 0

    def constant(self, index: int, *types: str) -> tuple[TfliteTensor, np.ndarray]:
        """Return an input that is a constant of one of these types, and its elements."""
        tensor = self.tensor(index)
        if tensor.type not in types:
            raise ModelError(
                f"its input {index}, {tensor}, is {tensor.type}; it {_require_types(types)}"
            )
        if tensor.data is not None:
            return tensor, tensor.data
        if math.prod(tensor.shape):
            raise ModelError(f"its input {index}, {tensor}, must be a constant")
        return tensor, np.empty(tensor.shape, tensor.dtype)

    def integers(self, index: int, most: int = 8) -> list[int]:
        """Return a constant input as a list of at most `most` integers."""
        tensor, data = self.constant(index, "INT32", "INT64")
        if len(tensor.shape) > 1 or data.size > most:
            raise ModelError(
                f"its input {index}, {tensor}, is {list(tensor.shape)}; it must be a list of up to "
                f"{most} integers"
            )
        return [int(number) for number in data.reshape(-1)]

    def read_as_int32(self, index: int, axes: int = 1) -> np.ndarray:
        """Return a constant list, or table of `axes` axes, as the device reads it: as INT32.

        The device ignores the type INT64: it reads the first half of the bytes, as pairs.
        """
        tensor, data = self.constant(index, "INT32", "INT64")
        if len(tensor.shape) != axes:
            raise ModelError(
                f"its input {index}, {tensor}, is {list(tensor.shape)}; it must have {axes} axes"
            )
        if tensor.type == "INT32":
            return data
        pairs = np.ascontiguousarray(data).reshape(-1).view(np.int32)
        return pairs[: data.size].reshape(data.shape)

    def integer(self, index: int) -> int:
        """Return a constant input that is one integer."""
        numbers = self.integers(index, 1)
        if not numbers:
            raise ModelError(f"its input {index} is empty; it must be one integer")
        return numbers[0]

    def operand(self, index: int, output: TfliteValue, *more: str) -> TfliteValue:
        """Return an input, computed or constant, broadcast to the shape of the output."""
        return self.spread(self.value(index, *more), output)

    def spread(self, value: TfliteValue, output: TfliteValue) -> TfliteValue:
        """Return a tensor, broadcast to the shape of the output."""
        if value.size == output.size:
            return value
        inner = (1,) * (len(output.shape) - len(value.shape)) + value.shape
        sides = [(a, b) for a, b in zip(inner, output.shape) if b > 1]
        if len(sides) > 4:
            sides = _merge_axes(sides)
        while len(sides) > 4:  # broadcast the last three axes, with the axes before as one
            before, last = sides[:-3], sides[-3:]
            rows = math.prod(side for side, _ in before)
            value = self._broadcast(value, [(rows, rows), *last])
            inner_most = math.prod(side for _, side in last)
            sides = _merge_axes([*before, (inner_most, inner_most)])
        return self._broadcast(value, sides, output.shape)

    def _broadcast(
        self, value: TfliteValue, sides: list[tuple[int, int]], shape: tuple[int, ...] = ()
    ) -> TfliteValue:
        """Add a call that repeats up to four axes.

        sides: for each axis its sizes before and after. shape: shape of the result, if it is not
        the sizes after.
        """
        sides = [(1, 1)] * (4 - len(sides)) + sides
        params = {f"input_{axis}": side for axis, (side, _) in zip("nhwc", sides)}
        params.update({f"output_{axis}": side for axis, (_, side) in zip("nhwc", sides)})
        made = replace(value, shape=shape or tuple(side for _, side in sides))
        function = f"tflm_broadcast_{SUFFIXES[value.dtype]}"
        return self.add_part("broadcast", made, function, params, [value])

    def _copy_constant(self, tensor: TfliteTensor, *more: str) -> TfliteValue:
        value = self.builder.constant(tensor, *more, flat=self.operator.name in _FLAT)
        params = {"length": value.size}
        function = f"tflm_constant_{SUFFIXES[value.dtype]}"
        assert tensor.data is not None
        self.builder.call(function, params, [], value, tensor.data.reshape(-1))
        self.builder.set_value(tensor.index, value)
        return value

    def output(self, index: int = 0, *more: str) -> TfliteValue:
        """Return an output with the file's format; `more` are allowed types as in value()."""
        return self.builder.declare(self.operator.outputs[index], *more)

    def _input(self, index: int) -> int:
        if not self.has_input(index):
            raise ModelError(f"its input {index} is missing; it is required")
        return self.operator.inputs[index]

    # The network

    def put(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[TfliteValue],
        output: TfliteValue,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        at: int = 0,
    ) -> None:
        """Add the call that writes output `at` of the operator."""
        self.builder.call(function, params, inputs, output, weights, bias)
        self.builder.set_value(self.operator.outputs[at], output)

    def function(self, names: Mapping[str, str], value: TfliteValue) -> str:
        """Return the function for the type of a tensor; `names` maps type suffixes to functions."""
        suffix = SUFFIXES[value.dtype]
        if suffix not in names:
            raise ModelError(f"it does not support {value.dtype}")
        return names[suffix]

    def add_part(
        self,
        part: str,
        like: TfliteValue,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[TfliteValue],
        weights: Optional[np.ndarray] = None,
    ) -> TfliteValue:
        """Add a call for an intermediate tensor and return the tensor.

        part: suffix of the tensor's name. like: format, shape and stem of the name.
        """
        made = replace(like, name=self.builder.make_name(like.name, part))
        self.builder.call(function, params, inputs, made, weights)
        return made


def check_counts(operator: TfliteOperator, least: int, most: int, outputs: int) -> None:
    """Raise ModelError without `least` to `most` inputs and exactly `outputs` outputs."""
    inputs, made = len(operator.inputs), len(operator.outputs)
    if not least <= inputs <= most or made != outputs:
        raise ModelError(
            f"it has {inputs} inputs and {made} outputs; it must have "
            f"{least if least == most else f'{least} to {most}'} and {outputs}"
        )


def read_options(
    operator: TfliteOperator, kind: str, warn: Callable[[str], None] = lambda effect: None
) -> Options:
    """Return an operator's options from its table of type `kind`; without one these are zeros."""
    table, given = operator.table, operator.table.number("BuiltinOptionsType")
    found = None
    if given == getattr(library("BuiltinOptions"), kind):
        found = table.table("BuiltinOptions", kind)
    return Options(_NoOptions(kind) if found is None else found, warn)


@dataclass(frozen=True)
class _NoOptions:
    """The options of an operator without a table of type `kind`: zeros."""

    kind: str

    def number(self, field: str) -> int:
        """Return 0."""
        return 0

    def numbers(self, field: str) -> np.ndarray:
        """Return no numbers."""
        return np.empty(0, np.int64)

    def text(self, field: str) -> str:
        """Return an empty text."""
        return ""


@dataclass(frozen=True)
class Options:
    """The options of one operator."""

    table: Any  # a TfliteTable, an OptionMap of a custom operator, or _NoOptions
    warn: Callable[[str], None] = lambda effect: None

    @property
    def given(self) -> bool:
        """True if the file has these options."""
        return not isinstance(self.table, _NoOptions)

    def integer(self, field: str, low: int = 0, high: int = 2**31 - 1) -> int:
        """Return an integer from `low` to `high`."""
        value = int(self.table.number(field))
        if not low <= value <= high:
            self.require()
        if not low <= value <= high:
            raise ModelError(f"its option {field} is {value}; it must be {low} to {high}")
        return value

    def number(self, field: str) -> float:
        """Return a finite float."""
        value = float(self.table.number(field))
        if not np.isfinite(value):
            raise ModelError(f"its option {field} is {value}; it must be finite")
        return value

    def integers(self, field: str) -> list[int]:
        """Return a list of integers."""
        return [int(number) for number in self.table.numbers(field)]

    def text(self, field: str) -> str:
        """Return a text."""
        return str(self.table.text(field))

    def flag(self, field: str) -> bool:
        """Return a boolean."""
        return bool(self.table.number(field))

    def choice(self, field: str, kind: str) -> str:
        """Return the name of an enumerator of the library's class `kind`."""
        value = self.table.number(field)
        names = {code: name for name, code in vars(library(kind)).items() if code == value}
        if value not in names:
            raise ModelError(f"its option {field} is {value}; it must be a value of {kind}")
        symbol: str = names[value]
        return symbol

    def fused(self) -> str:
        """Return the fused activation; as on the device, one that no kernel computes is ignored."""
        kind = self.choice("FusedActivationFunction", "ActivationFunctionType")
        if kind in RANGES:
            return kind
        self.warn(f"its fused activation {kind} is ignored")
        return "NONE"

    def require(self) -> None:
        """Raise ModelError if the file lacks these options, with which zeros have no meaning."""
        if not self.given:
            raise ModelError(f"it lacks its options ({self.table.kind})")

    def activation(self, output: TfliteValue) -> dict[str, int]:
        """Return act_min and act_max of the fused activation in the output's format."""
        low, high = activation_range(self.fused(), output.scale, output.zero, output.dtype)
        return {"act_min": low, "act_max": high}


def check_same_type(*values: TfliteValue) -> str:
    """Return the function suffix of the one type that all values have."""
    if len({value.dtype for value in values}) != 1:
        names = ", ".join(f"{value.name[:60]!r} {value.dtype}" for value in values)
        raise ModelError(f"its tensors have different types: {names}; they must have one type")
    for value in values:
        if value.dtype == "int16" and value.zero:
            raise ModelError(
                f"{value.name[:60]!r} is int16 with the zero point {value.zero}; it must be 0"
            )
    return SUFFIXES[values[0].dtype]


def check_same_format(first: TfliteValue, second: TfliteValue, words: str = "") -> None:
    """Raise ModelError if two tensors differ in type, scale or zero point.

    words: the framework's error text.
    """
    if (first.dtype, first.scale, first.zero) != (second.dtype, second.scale, second.zero):
        a, b = first.tensor.spelled, second.tensor.spelled
        said = f"its input is {a} and its output {b}; both must have one format"
        raise ModelError(refuse(said, words) if words else said)


def adopt_format(call: TfliteCall, x: TfliteValue, output: TfliteValue) -> TfliteValue:
    """Return a tensor in the output's format: operators that only move elements ignore formats.

    Both must have one type.
    """
    if x.dtype != output.dtype:
        a, b = x.tensor.spelled, output.tensor.spelled
        raise ModelError(f"its input is {a} and its output {b}; both must have one type")
    if x.zero != output.zero or abs(x.scale - output.scale) > _SCALE_NOISE * output.scale:
        call.warn(f"the format of {x.name[:60]!r} differs from that of its output; it is ignored")
    return replace(x, scale=output.scale, zero=output.zero)


def _merge_axes(sides: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge adjacent axes that are both repeated or both not repeated."""
    joined: list[tuple[int, int]] = []
    for a, b in sides:
        if joined and (a == b) == (joined[-1][0] == joined[-1][1]):
            a, b = a * joined[-1][0], b * joined[-1][1]
            joined.pop()
        joined.append((a, b))
    return joined


def _require_types(types: Sequence[str]) -> str:
    return f"must be {' or '.join(dict.fromkeys(types))}"


#: A function that adds the calls of one operator.
Converter = Callable[[TfliteCall], Any]
