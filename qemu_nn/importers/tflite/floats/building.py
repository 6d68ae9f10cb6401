"""A float network under construction, and the conversion of one operator of a .tflite file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable, Optional, Union

import numpy as np

from ....errors import ModelError
from ....ir.float_graph import NODE_LIMIT, TENSOR_LIMIT, FloatNode
from ....ir.tensors import make_free_name
from ....operators import Clip, Concat, Identity, Operator, Relu, Reshape, Shape
from ...arguments import check_spent
from ...tensor import Tensor, Value
from ..call import Options, check_counts, read_options
from ..parser import TfliteModel, TfliteOperator, TfliteTensor
from ..values import unpack_int4

#: Fused activation -> its operator.
FUSED: dict[str, Operator] = {
    "RELU": Relu(),
    "RELU6": Relu(limit=6.0),
    "RELU_N1_TO_1": Clip(-1.0, 1.0),
}


#: Maximum iterations of all loops of a file.
_MOST_ITERATIONS = 4096


@dataclass(frozen=True)
class Pieces:
    """Rows of a tensor of which a loop replaces one in each iteration.

    rows: tensors and constants of one row each. row: shape of a row without its first axis.
    """

    rows: tuple[Value, ...]
    row: Shape

    @property
    def shape(self) -> Shape:
        """The shape of all rows."""
        return (len(self.rows), *self.row)


#: Value of a tensor of the file.
Held = Union[Value, Pieces]


class FloatBuilder:
    """Tensors and constants by the file's indices, and the nodes that make the tensors.

    batch: samples of the file's own inputs. Shapes are those of one sample with a batch axis of 1.
    """

    def __init__(self, model: TfliteModel, batch: int = 1) -> None:
        self.model, self.batch = model, batch
        self.outputs: tuple[int, ...] = model.outputs
        self.nodes: list[FloatNode] = []
        self.values: dict[int, Held] = {}
        #: Operators that an earlier one of the file computes with, by their numbers.
        self.done: set[int] = set()
        #: Tensor -> the reason why it is not computed.
        self.unmade: dict[int, str] = {}
        self._names: set[str] = set()
        self._spent = [0, 0]  # bytes of constants, iterations of loops
        self._stem = self._prefix = ""  # of names: of all iterations of a loop, of one
        self._graphs: tuple[int, ...] = (model.number,)

    def enter(self, number: int, operator: int) -> FloatBuilder:
        """Return a builder of the same network for another graph of the file, which an operator
        calls."""
        if number in self._graphs:
            raise ModelError(f"graph {number} calls itself; recursion is not supported")
        inner = FloatBuilder(self.model.subgraph(number), self.batch)
        inner.nodes, inner._names, inner._spent = self.nodes, self._names, self._spent
        inner._graphs = (*self._graphs, number)
        inner._stem = f"{self._prefix}loop{operator}/"
        return inner

    def begin(self, step: int) -> None:
        """Begin an iteration of this graph: keep the constants of the file alone."""
        self._spent[1] += 1
        if self._spent[1] > _MOST_ITERATIONS:
            raise ModelError(f"its loops have more than {_MOST_ITERATIONS} iterations")
        held = self.values.items()
        self.values = {at: value for at, value in held if self.model.tensor(at).data is not None}
        self.done, self.unmade = set(), {}
        self._prefix = f"{self._stem}{step}/"

    def held(self, index: int) -> Held:
        """Return what a tensor stands for: rows of a loop as such."""
        found = self.values.get(index) if index >= 0 else None
        return found if isinstance(found, Pieces) else self.value(index)

    def value(self, index: int) -> Value:
        """Return a tensor that an earlier operator makes, or a constant, decoded on first use."""
        if index not in self.values:
            tensor = self.model.tensor(index)
            if tensor.data is None and index in self.unmade:
                raise ModelError(f"it reads {tensor}: {self.unmade[index]}")
            if tensor.data is None:
                raise ModelError(f"it reads {tensor}; an earlier operator must compute that tensor")
            self.set_constant(index, _decode(tensor))
        held = self.values[index]
        if isinstance(held, Pieces):
            held = self.values[index] = self._join(index, held)
        return held

    def _join(self, index: int, pieces: Pieces) -> Value:
        """Return rows as one tensor, or as one constant."""
        tensors = [row for row in pieces.rows if isinstance(row, Tensor)]
        if not tensors:
            empty = np.empty((0, *pieces.row), np.float32)
            return np.concatenate([empty, *(np.asarray(row) for row in pieces.rows)])
        if len(tensors) < len(pieces.rows):
            raise ModelError(f"no iteration sets some rows of {self.model.tensor(index)}")
        whole = []
        for at, row in enumerate(tensors):
            if row.batched:
                operator: Operator = Reshape((1, *pieces.row))
                row = self.add(self.make_name(index, f"row{at}"), operator, [row], False)
            whole.append(row)
        return self.add(self.make_name(index, "rows"), Concat(0), whole, False)

    def set_constant(self, index: int, array: np.ndarray) -> None:
        """Set the elements of a constant."""
        self._spent[0] += array.nbytes
        check_spent(self._spent[0])
        self.values[index] = array

    def start(self, index: int) -> Tensor:
        """Add an input of the network: its first axis is the batch if it is 1, open, or an image's.

        Raises ModelError for an input that is no float tensor of a fixed size.
        """
        tensor = self.model.tensor(index)
        if tensor.type not in ("FLOAT32", "FLOAT16"):
            raise ModelError(f"the input {tensor} is {tensor.type}; it must be FLOAT32")
        if any(axis > 0 for axis in tensor.open_axes):
            raise ModelError(
                f"the input {tensor} has no fixed size on axis {tensor.open_axes[-1]}; convert the "
                "network for one size"
            )
        if not tensor.shape or min(tensor.shape) < 1:
            raise ModelError(f"the input {tensor} has the shape {list(tensor.shape)}")
        shape, rank = tensor.shape, len(tensor.shape)
        batched = rank > 1 and (shape[0] == 1 or 0 in tensor.open_axes or rank == 4)
        self.batch = shape[0] if batched else 1
        made = Tensor(self.make_name(index), (1, *shape[1:]) if batched else shape, batched)
        self.values[index] = made
        return made

    def make_name(self, index: int, part: str = "") -> str:
        """Return a new name: of a tensor of the file, or of an intermediate tensor before it."""
        name = self._prefix + (self.model.tensor(index).name or f"tensor{index}")
        name = make_free_name(f"{name}/{part}" if part else name, self._names)
        self._names.add(name)
        return name

    def add(self, name: str, operator: Operator, inputs: Sequence[Tensor], batched: bool) -> Tensor:
        """Add an operator and return its output."""
        sample = operator.shape(*(tensor.sample for tensor in inputs))
        if min(sample, default=1) < 1 or math.prod(sample) > TENSOR_LIMIT:
            raise ModelError(
                f"its output would have the shape {list(sample)}, which is empty or too large"
            )
        if len(self.nodes) >= NODE_LIMIT:
            raise ModelError(f"the network needs more than {NODE_LIMIT} operators")
        self.nodes.append(FloatNode(name, operator, tuple(each.name for each in inputs)))
        return Tensor(name, (1, *sample) if batched else sample, batched)


def _decode(tensor: TfliteTensor) -> np.ndarray:
    """Return a constant's elements: floats in float32, integers with scales as the floats that they
    stand for, other integers as such."""
    data = tensor.data
    assert data is not None
    if tensor.type in ("FLOAT32", "FLOAT16"):
        return data.astype(np.float32, copy=False)
    if not len(tensor.scales):
        return data
    if tensor.type == "INT4":
        data = unpack_int4(data, tensor.shape)
    scales, zeros = tensor.scales.astype(np.float32), tensor.zeros.astype(np.float32)
    if len(scales) > 1 or len(zeros) > 1:
        axis = tensor.axis
        if (
            not 0 <= axis < data.ndim
            or data.shape[axis] != len(scales)
            or len(zeros) != len(scales)
        ):
            raise ModelError(
                f"{tensor} has {len(scales)} scales for axis {axis} of {list(tensor.shape)}; it "
                "must have one for each index"
            )
        shape = [-1 if i == axis else 1 for i in range(data.ndim)]
        scales, zeros = scales.reshape(shape), zeros.reshape(shape)
    check_spent(4 * data.size)
    with np.errstate(all="ignore"):
        wide: np.ndarray = (data.astype(np.float32) - zeros) * scales
    return wide


@dataclass(frozen=True)
class FloatCall:
    """An operator of the file, and the network that it adds its operators to.

    Every method raises ModelError if the file holds something else.
    """

    operator: TfliteOperator
    builder: FloatBuilder

    def read_options(self, kind: str) -> Options:
        """Return the operator's options from its table of type `kind`; zeros without one."""
        return read_options(self.operator, kind)

    # Inputs

    def check_counts(self, least: int, most: int, outputs: int = 1) -> None:
        """Raise ModelError without `least` to `most` inputs and exactly `outputs` outputs."""
        check_counts(self.operator, least, most, outputs)

    def has(self, at: int) -> bool:
        """True if an optional input is given."""
        return at < len(self.operator.inputs) and self.operator.inputs[at] >= 0

    def value(self, at: int) -> Value:
        """Return an input, computed or constant."""
        if not self.has(at):
            raise ModelError(f"its input {at} is missing; it is required")
        return self.builder.value(self.operator.inputs[at])

    def tensor(self, at: int = 0) -> Tensor:
        """Return an input that depends on the network's input."""
        value = self.value(at)
        if isinstance(value, np.ndarray):
            raise ModelError(f"its input {at} is a constant; it must be computed")
        return value

    def array(self, at: int) -> np.ndarray:
        """Return a constant input."""
        value = self.value(at)
        if isinstance(value, Tensor):
            raise ModelError(f"its input {at}, {value.name[:60]!r}, must be a constant")
        return value

    def floats(self, at: int) -> np.ndarray:
        """Return a constant input of finite floats."""
        array = self.array(at)
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ModelError(f"its input {at} must be finite floats")
        return array

    def number(self, at: int) -> float:
        """Return a constant input of one float, maybe infinite."""
        array = self.array(at)
        if array.dtype.kind != "f" or array.size != 1 or np.isnan(array).any():
            raise ModelError(f"its input {at} must be one number")
        return float(array.reshape(()))

    def integers(self, at: int, most: int = 64) -> list[int]:
        """Return a constant input as a list of at most `most` integers."""
        array = self.array(at)
        if array.dtype.kind not in "iu" or array.size > most:
            raise ModelError(f"its input {at} must be a list of up to {most} integers")
        return [int(number) for number in array.reshape(-1)]

    def integer(self, at: int) -> int:
        """Return a constant input that is one integer."""
        numbers = self.integers(at, 1)
        if not numbers:
            raise ModelError(f"its input {at} is empty; it must be one integer")
        return numbers[0]

    # The network

    def read_shape(self, at: int, x: Tensor) -> Shape:
        """Return the shape of the output, for a batch of 1: of an input with constants, -1 for the
        rest of x, or else of the file.

        The file's shape may be wrong if the batch is open.
        """
        index = self.operator.inputs[at] if self.has(at) else -1
        known = index >= 0 and (
            index in self.builder.values or self.builder.model.tensor(index).data is not None
        )
        if not known or isinstance(self.value(at), Tensor):
            return self.get_output_shape()
        shape, batch = self.integers(at), self.builder.batch
        if batch > 1 and shape[:1] == [batch]:
            shape[0] = 1
        if shape.count(-1) == 1:
            rest = math.prod(n for n in shape if n != -1)
            shape[shape.index(-1)] = math.prod(x.shape) // rest if rest > 0 else 0
        return tuple(shape)

    def get_output_shape(self, at: int = 0) -> Shape:
        """Return the file's shape of an output, for a batch of 1."""
        shape, batch = (
            self.builder.model.tensor(self.operator.outputs[at]).shape,
            self.builder.batch,
        )
        return (1, *shape[1:]) if batch > 1 and shape[:1] == (batch,) else shape

    def put(
        self,
        operator: Operator,
        *tensors: Tensor,
        part: str = "",
        batched: Optional[bool] = None,
        at: int = 0,
    ) -> Tensor:
        """Add an operator; the last one of a call has no `part` and makes output `at`."""
        index = self.operator.outputs[at]
        batched = tensors[0].batched if batched is None else batched
        made = self.builder.add(self.builder.make_name(index, part), operator, tensors, batched)
        if not part:
            self.builder.values[index] = made
        return made

    def reshape(
        self,
        x: Tensor,
        shape: Sequence[int],
        part: str = "",
        batched: Optional[bool] = None,
        at: int = 0,
    ) -> Tensor:
        """Return the tensor in another shape; a leading 1 is the batch if not told otherwise."""
        if batched is None:
            batched = tuple(shape[:1]) == (1,)
        sample = tuple(shape[1:] if batched else shape)
        operator = Identity() if sample == x.sample else Reshape(sample)
        return self.put(operator, x, part=part, batched=batched, at=at)

    def whole(self, x: Tensor, part: str = "whole") -> Tensor:
        """Return a tensor whose first axis, if it is the batch of 1, belongs to the sample."""
        if not x.batched:
            return x
        if self.builder.batch > 1:
            raise ModelError("it works on the batch axis; samples must be independent")
        return self.reshape(x, x.shape, part=part, batched=False)

    def finish(self, operator: Operator, *tensors: Tensor, options: Options, part: str) -> Tensor:
        """Add the last operator of a call, and its fused activation; `part` names the tensor
        between both."""
        kind = options.choice("FusedActivationFunction", "ActivationFunctionType")
        if kind == "NONE":
            return self.put(operator, *tensors)
        if kind not in FUSED:
            raise ModelError(
                f"its fused activation is {kind}; it must be one of NONE, {', '.join(FUSED)}"
            )
        return self.put(FUSED[kind], self.put(operator, *tensors, part=part))


#: A function that adds the operators of one call.
FloatConverter = Callable[[FloatCall], object]


def read_image(call: FloatCall, at: int = 0) -> Tensor:
    """Return an input that is an image [1, height, width, channels]."""
    x = call.tensor(at)
    if not x.batched or len(x.shape) != 4:
        raise ModelError(f"its input is {list(x.shape)}; it must be an image [1, H, W, C]")
    return x
