"""A quantized network under construction: its calls, and the value of each tensor of the file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions import NETWORK_FUNCTIONS, Function
from ...ir.graph import Build, Loop, Node, Tensor
from ..arguments import ARRAY_LIMIT, CALL_LIMIT, SUFFIXES, check_spent
from .invoke_period import InvokePeriods
from .parser import TfliteModel, TfliteTensor
from .values import BARE as BARE
from .values import PLAIN as PLAIN
from .values import GraphContext, Variables
from .values import TfliteValue as TfliteValue

#: Maximum number of operators in graphs that operators call, counted once per call.
_INSIDE_LIMIT = 20_000


class TfliteBuilder:
    """Values by the file's tensor indices, and the calls that compute these values.

    arena: states that an Ethos-U keeps in the arena between runs, by their offset.
    """

    def __init__(self, model: TfliteModel) -> None:
        self.model = model
        self.nodes: list[Node] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.states: list[Tensor] = []
        self.pace = InvokePeriods()
        self._values: dict[int, TfliteValue] = {}
        self._aliases: dict[int, TfliteValue] = {}
        self._names: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._spent = [0]
        self._effects: list[str] = []
        self._builds: list[tuple[Build, list[Optional[np.ndarray]]]] = []
        self.variables = Variables()
        self.loops: list[Loop] = []
        self.where = GraphContext()
        self._inside = [0]
        self._kept: dict[tuple[int, int], TfliteValue] = {}
        self.arena: dict[int, TfliteValue] = {}

    def enter_graph(
        self, model: TfliteModel, where: Optional[GraphContext] = None
    ) -> TfliteBuilder:
        """Return a builder of the same network for another graph of the file."""
        self._inside[0] += 1 + len(model.operators)
        if self._inside[0] > _INSIDE_LIMIT:
            raise ModelError(f"its graphs exceed {_INSIDE_LIMIT} operators")
        inner = copy(self)
        inner.model, inner.where = model, where or self.where
        inner._values, inner._aliases, inner._names = {}, {}, {}
        inner.variables = self.variables.of_another_graph()
        return inner

    def value(self, index: int) -> TfliteValue:
        """Return the value of a tensor that an earlier operator computes, or of an input."""
        if index not in self._values:
            raise ModelError(
                f"it reads {self.model.tensor(index)}; an earlier operator must compute that tensor"
            )
        return self._values[index]

    def has(self, index: int) -> bool:
        """True if a tensor has a value."""
        return index in self._values

    def declare(self, index: int, *more: str) -> TfliteValue:
        """Return an output tensor with the file's format, for the operator that computes it.

        more: allowed types besides INT8, UINT8 and INT16.
        """
        tensor = self.model.tensor(index)
        if tensor.data is not None or tensor.variable or index in self._values:
            kind = "a constant" if tensor.data is not None else "a variable"
            role = "an output of an earlier operator" if index in self._values else kind
            raise ModelError(f"its output, {tensor}, is already {role}")
        if min(tensor.shape, default=1) < 1:
            raise ModelError(f"its output, {tensor}, has the empty shape {list(tensor.shape)}")
        return TfliteValue(
            self._name(tensor), tensor.shape, tensor.dtype, *_check_format(tensor, *more)
        )

    def constant(self, tensor: TfliteTensor, *more: str, flat: bool = False) -> TfliteValue:
        """Return a constant as a value; `more` are allowed types as in declare().

        flat: True if its scale may be 0.
        """
        form = _check_format(tensor, *more, flat=flat)
        return TfliteValue(self._name(tensor), tensor.shape, tensor.dtype, *form)

    def state(self, tensor: TfliteTensor) -> TfliteValue:
        """Return the state of a variable tensor: calls read and write it, and runs keep it.

        A graph with several callers has one state for all of them.
        """
        if not tensor.variable or tensor.index in self._values:
            raise ModelError(f"its state, {tensor}, must be a variable that no operator computes")
        place = self.model.number, tensor.index
        if place not in self._kept:
            value = self._kept[place] = self.constant(tensor)
            reset = np.full(value.shape, value.zero, value.dtype) if value.dtype == "int8" else None
            self.keep(value, reset)
        self._values[tensor.index] = self._kept[place]
        return self._kept[place]

    def refuse_guarded(self) -> None:
        """Raise ModelError for a state in a branch or a loop.

        A branch that is not taken must not change the state. Several operators may call the graph
        of a loop.
        """
        for found, name in ((self.where.guard, "a branch of IF"), (self.where.loops, "a WHILE")):
            if found:
                raise ModelError(f"it keeps a state inside of {name}; that is not supported")

    def keep(self, value: TfliteValue, reset: Optional[np.ndarray] = None) -> None:
        """Add a state that runs keep; `reset` is its initial value, else zeros."""
        self.states.append(value.tensor)
        self.reset(value, reset)

    def reset(self, value: TfliteValue, reset: Optional[np.ndarray]) -> None:
        """Set the initial value of a state, if it is not all zeros."""
        tensor = value.tensor
        if reset is not None and reset.any():
            self._spend(reset.nbytes)
            self.arrays[tensor.name] = reset.reshape(tensor.shape).astype(tensor.dtype)

    def warn(self, effect: str) -> None:
        """Record an unexpected effect of the next call on a device with CMSIS-NN."""
        self._effects.append(effect)

    def record_build(
        self, build: Build, weights: Optional[np.ndarray], bias: Optional[np.ndarray]
    ) -> None:
        """Record the replacement of the next call in other builds."""
        self._builds.append((build, [weights, bias]))

    @property
    def is_full(self) -> bool:
        """True at the maximum size of a network."""
        return self._spent[0] > ARRAY_LIMIT or len(self.nodes) == CALL_LIMIT

    def set_value(self, index: int, value: TfliteValue) -> None:
        """Set the value of a tensor."""
        self._values[index] = value

    def alias(self, index: int, output: TfliteValue, x: TfliteValue) -> None:
        """Make a tensor an alias of `x` with the shape and format of `output`."""
        self._values[index] = replace(output, name=x.name)
        self._aliases[index] = output

    def end(self, indices: Sequence[int]) -> tuple[str, ...]:
        """Return the names of the network's outputs.

        If an output is an alias, the call of the aliased tensor writes the output instead. An
        output is a copy if no call writes it, or if that call writes another output. A tensor that
        is an output twice has a copy.
        """
        names: list[str] = []
        new: dict[str, str] = {}
        plain = {self.value(i).name for i in indices if self.has(i) and i not in self._aliases}
        for at, index in enumerate(indices):
            value = self._bring_output(index)
            output = None if index in indices[:at] else self._aliases.get(index)
            name = new.get(value.name, value.name)
            taken = name in names or (output is not None and value.name in plain)
            if taken or all(node.name != name for node in self.nodes):
                name = self._copy(replace(value, name=name), output)
            elif output is not None:
                self.rename(name, output)
                new[value.name] = name = output.name
            names.append(name)
        return tuple(names)

    def _bring_output(self, index: int) -> TfliteValue:
        """Return the value of a network output; a constant becomes the output of a call."""
        tensor = self.model.tensor(index)
        if self.has(index) or tensor.data is None:
            return self.value(index)
        value = self.constant(tensor, *BARE)
        function = f"tflm_constant_{SUFFIXES[value.dtype]}"
        self.call(function, {"length": value.size}, [], value, tensor.data.reshape(-1))
        return value

    def _copy(self, value: TfliteValue, output: Optional[TfliteValue]) -> str:
        """Add a call that copies a tensor, in the shape of an output; return the copy's name."""
        made = output or replace(value, name=self.make_name(value.name, "copy"))
        function = f"tflm_read_variable_{SUFFIXES[value.dtype]}"
        self.call(function, {"length": value.size}, [value], made)
        return made.name

    def rename(self, name: str, output: TfliteValue) -> None:
        """Replace the output of a call, and the inputs of all calls that read that output."""
        new = {name: output.name}
        for at, node in enumerate(self.nodes):
            tensor = output.tensor if node.name == name else node.output
            inputs = tuple(new.get(source, source) for source in node.inputs)
            self.nodes[at] = replace(node, inputs=inputs, output=tensor)
        for at, loop in enumerate(self.loops):
            self.loops[at] = replace(loop, condition=new.get(loop.condition, loop.condition))

    def make_name(self, name: str, part: str) -> str:
        """Return a new name for an intermediate tensor of an operator."""
        return self._unique(f"{name}/{part}")

    def find_function(self, name: str) -> Function:
        """Return a function by its name; raise ModelError if no function has the name."""
        if name not in NETWORK_FUNCTIONS:
            raise ModelError(f"its types are not supported: no function is called {name}")
        return NETWORK_FUNCTIONS[name]

    def call(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[TfliteValue],
        output: TfliteValue,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
    ) -> None:
        """Add a call of a function that writes `output`."""
        declared = self.find_function(function)
        names = tuple(value.name for value in inputs)
        if len(self.nodes) == CALL_LIMIT:
            raise ModelError(f"the network needs more than {CALL_LIMIT} calls")
        arrays = self._add_arrays(output.name, weights, bias)
        known = {id(weights): arrays[0], id(bias): arrays[1]}
        builds = []
        for build, own in self._builds:
            fresh = [None if id(array) in known else array for array in own]
            made = self._add_arrays(f"{output.name}/{build.difference}", *fresh)
            own_names = [known.get(id(array), name) for array, name in zip(own, made)]
            builds.append(replace(build, weights=own_names[0], bias=own_names[1]))
        self.nodes.append(
            Node(
                function=declared,
                params=declared.parse_params(params),
                inputs=names,
                output=output.tensor,
                effect="; ".join(self._effects),
                builds=tuple(builds),
                weights=arrays[0],
                bias=arrays[1],
            )
        )
        self._effects.clear()
        self._builds.clear()

    def _add_arrays(
        self, stem: str, weights: Optional[np.ndarray], bias: Optional[np.ndarray]
    ) -> list[Optional[str]]:
        """Add a call's arrays and return their names."""
        names: list[Optional[str]] = []
        for kind, array in (("weights", weights), ("bias", bias)):
            names.append(None if array is None else f"{stem}/{kind}")
            if array is not None:
                self._spend(array.nbytes)
                self.arrays[f"{stem}/{kind}"] = array
        return names

    def _spend(self, size: int) -> None:
        self._spent[0] += size
        check_spent(self._spent[0])

    def _name(self, tensor: TfliteTensor) -> str:
        if tensor.index not in self._names:
            self._names[tensor.index] = self._unique(tensor.name or f"tensor{tensor.index}")
        return self._names[tensor.index]

    def _unique(self, name: str) -> str:
        """Return a name that no tensor has yet."""
        unique = name
        while unique in self._taken:
            self._taken[name] += 1
            unique = f"{name}_{self._taken[name]}"
        self._taken[unique] = 1
        return unique


def _check_format(tensor: TfliteTensor, *more: str, flat: bool = False) -> tuple[float, int]:
    """Return the one scale and the one zero point of a tensor.

    more: allowed types besides INT8, UINT8 and INT16; these types need no scale. flat: True if the
    scale may be 0.
    """
    if tensor.type not in ("INT8", "UINT8", "INT16", *more):
        raise ModelError(f"{tensor} is {tensor.type}; it must be INT8, INT16 or UINT8")
    bare = tensor.type in more and not len(tensor.scales)
    if bare or (tensor.type in PLAIN and tensor.type != "INT32"):
        return 1.0, 0
    if len(tensor.scales) != 1 or len(tensor.zeros) > 1:
        count = f"{len(tensor.scales)} scales and {len(tensor.zeros)} zero points"
        raise ModelError(f"{tensor} has {count}; it must have one of each")
    scale, zero = float(tensor.scales[0]), int(tensor.zeros[0]) if len(tensor.zeros) else 0
    if not (0 < scale < math.inf or (flat and scale == 0)):
        raise ModelError(f"{tensor} has the scale {scale}; it must be positive and finite")
    limits = np.iinfo(tensor.dtype)
    if not limits.min <= zero <= limits.max:
        raise ModelError(
            f"{tensor} has the zero point {zero}; it must be {limits.min} to {limits.max}"
        )
    return scale, zero
