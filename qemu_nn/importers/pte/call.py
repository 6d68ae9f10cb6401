"""Conversion of an instruction: its arguments, checked, and the calls it adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np

from ...errors import ModelError
from ..arguments import SUFFIXES, have_same_bytes, moves, sides
from .building import PteBuilder, Value
from .program import FileTensor, Instruction, Program

#: Memory orders of the axes of images and volumes with channels last.
LAST, _LAST_OF_5 = (0, 2, 3, 1), (0, 2, 3, 4, 1)


@dataclass(frozen=True)
class PteCall:
    """An instruction, the program, and the network under construction.

    Every method raises ModelError if the program holds something without a meaning.
    """

    instruction: Instruction
    program: Program
    builder: PteBuilder

    # Arguments

    def expect(self, count: int) -> None:
        """Check the number of arguments: those of the schema, and the results."""
        have = len(self.instruction.args)
        if have != count:
            raise ModelError(f"it has {have} arguments; it must have {count}")

    def argument(self, index: int) -> Any:
        """Return an argument of any type."""
        return self.program.value(self.instruction.args[index])

    def tensor(self, index: int, *dtypes: str) -> FileTensor:
        """Return an argument that is a tensor, of one of these types."""
        found = self.argument(index)
        if not isinstance(found, FileTensor):
            raise ModelError(f"its argument {index} is no tensor")
        if dtypes and found.dtype not in dtypes:
            raise ModelError(f"its argument {index}, {found}, must be {' or '.join(dtypes)}")
        if not found.nbytes:
            raise ModelError(f"its argument {index}, {found}, is empty")
        return found

    def image(self, index: int, last: bool = False) -> tuple[int, int, int, int]:
        """Return images, height, width and channels of a tensor; last: its channels are its last
        axis.
        """
        tensor = self.tensor(index, "int8")
        if len(tensor.sizes) != 4:
            raise ModelError(f"its argument {index}, {tensor}, must have 4 axes")
        n, *rest = tensor.sizes
        (c, h, w) = (rest[2], rest[0], rest[1]) if last else rest
        if not last and not tensor.channels_last:
            raise ModelError(
                f"its argument {index}, {tensor}, must have its channels last in memory: "
                "the device's kernel refuses it, and the program stops"
            )
        return n, h, w, c

    def same_order(self, *tensors: FileTensor) -> None:
        """Refuse orders that a portable kernel's check refuses.

        It accepts tensors whose axes are all in order, or whose channels are all last.
        """
        plain = all(not tensor.moved for tensor in tensors)
        if not plain and any(tensor.order not in (LAST, _LAST_OF_5) for tensor in tensors):
            raise ModelError(
                "its tensors have different orders of axes in memory: the device's kernel "
                "refuses that, and the program stops"
            )

    def in_order(self, *tensors: FileTensor) -> None:
        """Refuse tensors whose axes are not in order, as a portable kernel does."""
        for tensor in tensors:
            if tensor.moved:
                raise ModelError(
                    f"the axes of {tensor} are not in order in memory: the device's kernel "
                    "refuses that, and the program stops"
                )

    def integer(self, index: int, low: int = -(2**31), high: int = 2**31 - 1) -> int:
        """Return an integer in a range."""
        found = self.argument(index)
        if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
            raise ModelError(f"its argument {index} must be an integer from {low} to {high}")
        return found

    def real(self, index: int) -> float:
        """Return a finite float."""
        found = self.argument(index)
        if (
            isinstance(found, bool)
            or not isinstance(found, (int, float))
            or not math.isfinite(found)
        ):
            raise ModelError(f"its argument {index} must be a finite number")
        return float(found)

    def flag(self, index: int) -> bool:
        """Return a truth value."""
        found = self.argument(index)
        if not isinstance(found, bool):
            raise ModelError(f"its argument {index} must be true or false")
        return found

    def integers(self, index: int, count: Optional[int] = None) -> list[int]:
        """Return a list of integers of 32 bits."""
        found = self.argument(index)
        right = isinstance(found, list) and all(type(item) is int for item in found)
        if not right or (count is not None and len(found) != count):
            some = "" if count is None else f"{count} "
            raise ModelError(f"its argument {index} must be a list of {some}integers")
        if any(not -(2**31) <= item < 2**31 for item in found):
            raise ModelError(
                f"its argument {index} contains integers of more than 32 bits; they must fit"
            )
        numbers: list[int] = found
        return numbers

    def pair(self, index: int, name: str, low: int) -> dict[str, int]:
        """Return height and width of something, each `low` at least."""
        numbers = self.integers(index, 2)
        if min(numbers) < low:
            raise ModelError(f"its {name} is {numbers}; it must be {low} or more")
        return {f"{name}_h": numbers[0], f"{name}_w": numbers[1]}

    def constant(self, index: int, dtype: str) -> np.ndarray:
        """Return the numbers of a constant in its logical shape."""
        tensor = self.tensor(index, dtype)
        if tensor.data is None:
            raise ModelError(f"its argument {index}, {tensor}, must be a constant")
        return tensor.data

    def row(self, index: int, count: int) -> np.ndarray:
        """Return a constant of this many int32."""
        numbers = self.constant(index, "int32").reshape(-1)
        if numbers.size != count:
            raise ModelError(f"its argument {index} has {numbers.size} elements, not {count}")
        return numbers

    # The network

    def value(self, index: int, *dtypes: str) -> Value:
        """Return the value of an argument."""
        return self.builder.read(self.tensor(index, *dtypes))

    @property
    def name(self) -> str:
        """Name of its output: the operator's, and the number of the instruction."""
        short = self.instruction.name.partition("::")[2].partition(".")[0].lstrip("_")
        return f"{short}_{self.instruction.index}"

    def put(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[Value],
        output: FileTensor,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        format: Optional[tuple[float, int]] = None,
        name: str = "",
        effect: str = "",
    ) -> None:
        """Add the call that computes an output of the instruction."""
        made = Value(name or self.name, output.dtype, output.shape, output.moved)
        made = self.builder.call(function, params, inputs, made, weights, bias, format, effect)
        self.builder.write(output, made)

    def put_moved(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[Value],
        output: FileTensor,
        order: Sequence[int],
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
    ) -> None:
        """Add a call that computes an output with permuted axes, and permute them back."""
        if have_same_bytes(output.sizes, order, output.order):
            self.put(function, params, inputs, output, weights, bias)
            return
        shape = tuple(output.sizes[axis] for axis in order)
        like = Value("", output.dtype, shape)
        made = self.part("made", function, params, inputs, like, weights, bias)
        places = [list(order).index(axis) for axis in output.order]
        moved = f"tflm_transpose_{SUFFIXES[output.dtype]}"
        self.put(moved, moves(shape, places), [made], output)

    def part(
        self,
        part: str,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[Value],
        like: Value,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        effect: str = "",
    ) -> Value:
        """Add a call for an intermediate value; like: its type and shape."""
        made = replace(like, name=f"{self.name}/{part}", order=())
        return self.builder.call(function, params, inputs, made, weights, bias, None, effect)

    def read_moved(self, part: str, tensor: FileTensor, order: Sequence[int]) -> Value:
        """Return the value of a tensor with its axes in a different memory order."""
        x = self.builder.read(tensor)
        places = [tensor.order.index(axis) for axis in order]
        shape = tuple(tensor.sizes[axis] for axis in order)
        if have_same_bytes(tensor.sizes, tensor.order, order):
            return replace(x, shape=shape, order=())
        function = f"tflm_transpose_{SUFFIXES[x.dtype]}"
        like = replace(x, shape=shape)
        return self.part(part, function, moves(x.shape, places), [x], like)

    def scalar(self, part: str, number: float, shape: Sequence[int]) -> Value:
        """Return a float32, spread to a shape."""
        one = Value(f"{self.name}/{part}", "float32", (1,))
        value = np.array([number], np.float32)
        self.builder.call("tflm_constant_f32", {"length": 1}, [], one, value)
        return self.broadcast(f"{part}s", one, shape)

    @staticmethod
    def slice_of(size: int, begin: int, count: int) -> dict[str, int]:
        """Return arguments that take `count` elements of a vector, from one on."""
        params = {f"{name}_{i}": 1 for name in ("input", "stride", "output") for i in range(4)}
        params.update({f"begin_{i}": 0 for i in range(4)})
        return {**params, "input_4": size, "begin_4": begin, "stride_4": 1, "output_4": count}

    def broadcast(self, part: str, x: Value, shape: Sequence[int]) -> Value:
        """Return a value in a shape that it broadcasts to."""
        if x.shape == tuple(shape):
            return x
        rank = max(len(shape), 4)
        inner = (1,) * (rank - len(x.shape)) + x.shape
        outer = (1,) * (rank - len(shape)) + tuple(shape)
        if rank > 4 or any(a not in (1, b) for a, b in zip(inner, outer)):
            raise ModelError(f"its input is {list(x.shape)}; it must broadcast to {list(shape)}")
        params = {**sides("input", inner), **sides("output", outer)}
        like = replace(x, shape=tuple(shape))
        return self.part(part, f"tflm_broadcast_{SUFFIXES[x.dtype]}", params, [x], like)


#: Function that adds the calls of one instruction.
Converter = Callable[[PteCall], None]
