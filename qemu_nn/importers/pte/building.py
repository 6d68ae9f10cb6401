"""Network under construction: its calls so far, and the content of the program's memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions import NETWORK_FUNCTIONS
from ...ir.graph import Build, Node, Tensor
from ..arguments import SUFFIXES, check_spent
from .program import ETHOS_U, FileTensor, Instruction, Program

#: Bytes of an output that keep their previous content.
_LEFT = (
    "the device never writes the last rows of its output (its padding is no multiple of "
    "its stride); they keep the earlier contents of the memory"
)


@dataclass(frozen=True)
class Value:
    """Result of a call, or the program's input: the name of its tensor in the graph, its type, its
    shape in memory, and its logical axes if not in order.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    order: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class _Written:
    """Bytes of a memory, and the value written to them."""

    start: int
    end: int
    value: Value


class PteBuilder:
    """Calls of a network, and the writer of each part of the program's memory.

    A view is a second tensor at the same address, so the address identifies a tensor's value.
    """

    def __init__(self, program: Optional[Program] = None) -> None:
        self.nodes: list[Node] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._memory: dict[int, list[_Written]] = {}
        self._own: dict[int, Value] = {}  # of tensors whose memory the caller gives
        self._constants: dict[int, Value] = {}
        self._spent = 0
        self._program = program
        self._builds: list[tuple[Build, Optional[np.ndarray]]] = []

    # The program's memory

    def write(self, tensor: FileTensor, value: Value) -> None:
        """Record the new value of a tensor."""
        if tensor.place is None:
            self._own[tensor.index] = value
            return
        memory, start = tensor.place
        end = start + tensor.nbytes
        self.mark_overwritten(memory, start, end)
        self._memory.setdefault(memory, []).append(_Written(start, end, value))

    def forget(self, tensor: FileTensor) -> None:
        """Record that a tensor has a value that no call computes."""
        self._own.pop(tensor.index, None)
        if tensor.place is not None:
            self.mark_overwritten(tensor.place[0], tensor.place[1], tensor.place[1] + tensor.nbytes)

    def mark_overwritten(self, memory: int, start: int, end: int) -> None:
        """Record that bytes of a memory have been overwritten."""
        held = self._memory.get(memory, [])
        self._memory[memory] = [each for each in held if each.end <= start or end <= each.start]

    def before(self, tensor: FileTensor, done: int, index: int) -> Optional[tuple[Value, int]]:
        """Return the previous content of an int8 tensor's bytes that instruction `index` does not
        write, from `done` on.

        The result is an int8 value and its first element there; None if the bytes are zeros,
        because no instruction writes them.
        """
        if tensor.place is None:
            raise ModelError(f"{_LEFT} that the caller gives")
        memory, start = tensor.place
        span = (start + done, start + tensor.nbytes)
        for each in self._memory.get(memory, []):
            if each.start <= span[0] and span[1] <= each.end and each.value.dtype == "int8":
                return each.value, span[0] - each.start
        others = _spans(self._program, index).get(memory, []) if self._program else []
        if any(start < span[1] and span[0] < end for start, end in others):
            raise ModelError(f"{_LEFT} where other instructions write")
        return None

    def read(self, tensor: FileTensor) -> Value:
        """Return the value of a tensor, in its own shape."""
        if tensor.data is not None:
            return self._constant(tensor)
        found = self._own.get(tensor.index)
        if tensor.place is not None:
            start = tensor.place[1]
            span = (start, start + tensor.nbytes)
            for each in self._memory.get(tensor.place[0], []):
                if (each.start, each.end) == span and each.value.dtype == tensor.dtype:
                    found = each.value
        if found is None:
            raise ModelError(
                f"it reads {tensor}, but no instruction before it wrote exactly these "
                "bytes, so their values depend on earlier contents of the memory"
            )
        return replace(found, shape=tensor.shape, order=tensor.moved)

    # Calls

    def call(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[Value],
        output: Value,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        format: Optional[tuple[float, int]] = None,
        effect: str = "",
    ) -> Value:
        """Add a call that makes `output`.

        format: scale and zero point of its integers. effect: as that of a node.
        """
        if function not in NETWORK_FUNCTIONS:
            raise ModelError(f"no function computes its types: {function}")
        declared = NETWORK_FUNCTIONS[function]
        scale, zero = format or (None, 0)
        made = Tensor(
            *(output.name, output.shape or (1,), output.dtype, None, scale, zero, output.order)
        )
        kept = self._keep(f"{output.name}/weights", weights)
        builds = []
        for build, own in self._builds:
            other = self._keep(f"{output.name}/{build.difference}", own)
            weights_of = build.weights or (kept if build.function else None)
            builds.append(replace(build, weights=weights_of, bias=build.bias or other))
        self.nodes.append(
            Node(
                function=declared,
                params=declared.parse_params(params),
                inputs=tuple(value.name for value in inputs),
                output=made,
                effect=effect,
                builds=tuple(builds),
                weights=kept,
                bias=self._keep(f"{output.name}/bias", bias),
            )
        )
        self._builds.clear()
        return output

    def copy_value(self, value: Value) -> str:
        """Add a call that copies a value, and return the copy's name."""
        source = next(node.output for node in self.nodes if node.name == value.name)
        copies = sum(node.name.startswith(f"{value.name}/copy") for node in self.nodes)
        made = replace(value, name=f"{value.name}/copy{copies or ''}")
        function = f"tflm_read_variable_{SUFFIXES.get(value.dtype, value.dtype)}"
        known = None if source.scale is None else (source.scale, source.zero_point)
        self.call(function, {"length": value.size}, [value], made, format=known)
        return made.name

    def otherwise(self, build: Build, bias: Optional[np.ndarray] = None) -> None:
        """Record the next call for cores with a difference, on the same weights."""
        self._builds.append((build, bias))

    def _keep(self, name: str, array: Optional[np.ndarray]) -> Optional[str]:
        if array is None:
            return None
        self._spent += array.nbytes
        check_spent(self._spent)
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def _constant(self, tensor: FileTensor) -> Value:
        """Return a constant as a value, by a call that loads it."""
        if tensor.index not in self._constants:
            assert tensor.data is not None
            value = Value(f"constant_{tensor.index}", tensor.dtype, tensor.shape, tensor.moved)
            flat = tensor.data.transpose(tensor.order).reshape(-1)
            self.call(
                f"tflm_constant_{SUFFIXES.get(tensor.dtype, tensor.dtype)}",
                {"length": value.size},
                [],
                value,
                flat,
            )
            self._constants[tensor.index] = value
        return self._constants[tensor.index]


def scratch(program: Program, instruction: Instruction) -> list[FileTensor]:
    """Return the scratch memory of a call: the backend passes it as uint8, but not to delegates."""
    if instruction.name == ETHOS_U:
        return []
    values = [program.value(index) for index in instruction.args]
    return [each for each in values if isinstance(each, FileTensor) and each.dtype == "uint8"]


def _spans(program: Program, index: int) -> dict[int, list[tuple[int, int]]]:
    """Return the ranges of each memory that the inputs and all instructions but one write."""
    tensors = [program.value(at) for at in program.inputs]
    for instruction in program.instructions:
        made = program.value(instruction.args[-1]) if instruction.args else None
        if instruction.name == ETHOS_U:
            made = [program.value(at) for at in instruction.args]
        if instruction.index != index:
            tensors += made if isinstance(made, list) else [made]
        tensors += scratch(program, instruction)
    found: dict[int, list[tuple[int, int]]] = {}
    for tensor in tensors:
        if isinstance(tensor, FileTensor) and tensor.place is not None:
            memory, start = tensor.place
            found.setdefault(memory, []).append((start, start + tensor.nbytes))
    return found
