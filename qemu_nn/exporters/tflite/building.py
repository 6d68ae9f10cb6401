"""A .tflite file under construction: tensors, operators, and indices of the network's tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...ir.graph import Graph, Node, Tensor
from ...operators import Shape
from .schema import FileGraph, FileOperator, FileTensor, OptionValue
from .versions import find_version

#: Element type -> name in the schema.
TYPES = {
    **{f"int{bits}": f"INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT{bits}" for bits in (8, 32, 64)},
    **{"float32": "FLOAT32", "bool": "BOOL"},
}


class TfliteGraphBuilder:
    """A graph of the file under construction.

    graph: the network. copies: broadcasts that operators of the file do themselves, by name.
    handles: state -> index of its resource tensor.
    """

    def __init__(self, graph: Graph, copies: Mapping[str, Node]) -> None:
        self.graph, self.copies, self.known = graph, copies, graph.tensors
        self.tensors: list[FileTensor] = []
        self.operators: list[FileOperator] = []
        self._places: dict[str, int] = {}
        self._views: dict[tuple[str, Shape], int] = {}
        self._constants: dict[tuple[str, Shape, bytes], int] = {}
        self._taken = set(self.known)
        self.handles: dict[str, int] = {}

    def finish(self, inputs: Sequence[int], outputs: Sequence[int], name: str = "") -> FileGraph:
        """Return the finished graph of the file."""
        own = name or self.graph.name
        return FileGraph(own, self.tensors, self.operators, tuple(inputs), tuple(outputs))

    def add(self, tensor: FileTensor) -> int:
        """Add a tensor and return its index."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def add_network_tensor(self, tensor: Tensor, shape: Shape, data: Optional[bytes] = None) -> int:
        """Add a tensor of the network and return its index."""
        index = self.add(replace(describe(tensor, shape), data=data))
        self.set_index(tensor.name, index)
        return index

    def set_index(self, name: str, index: int) -> None:
        """Set the index of a tensor of the network."""
        self._places[name] = index

    def shape(self, name: str) -> Shape:
        """Return the shape of a network tensor in the file."""
        return self.tensors[self._places[name]].shape

    def view(self, name: str, shape: Optional[Shape] = None) -> int:
        """Return the index of a network tensor in a shape; add a RESHAPE once if necessary."""
        index = self._places[name]
        tensor = self.tensors[index]
        if shape is None or tensor.shape == shape:
            return index
        if (name, shape) not in self._views:
            spelled = "x".join(map(str, shape))
            if tensor.data is not None:
                made = self.add(
                    replace(tensor, name=self.make_name(f"{name}/{spelled}"), shape=shape)
                )
            else:
                made = self.reshape(index, self.make_name(f"{name}/{spelled}"), shape)
            self._views[name, shape] = made
        return self._views[name, shape]

    def reshape(self, index: int, name: str, shape: Shape) -> int:
        """Add a RESHAPE of a tensor and return the index of the result."""
        made = self.add(replace(self.tensors[index], name=name, shape=shape))
        whole = self.constant(np.array(shape, np.int32))
        self.add_operator("RESHAPE", (index, whole), (made,), "ReshapeOptions", NewShape=shape)
        return made

    def constant(self, array: np.ndarray, type: str = "", shape: Optional[Shape] = None) -> int:
        """Return the index of a constant without scale, such as axes; equal constants share one."""
        key = (type or TYPES[str(array.dtype)], shape or array.shape, to_little_endian(array))
        if key not in self._constants:
            held = FileTensor(self.make_name("constant"), key[1], key[0], data=key[2])
            self._constants[key] = self.add(held)
        return self._constants[key]

    def weights(
        self,
        name: str,
        array: np.ndarray,
        shape: Shape,
        scales: Sequence[float],
        axis: int = 0,
        zero: int = 0,
        type: str = "",
    ) -> int:
        """Add a quantized constant with one scale, or one per axis index; return its index."""
        values = tuple(map(float, scales))
        held = FileTensor(
            self.make_name(name),
            shape,
            type or TYPES[str(array.dtype)],
            values,
            (zero,) * len(values),
            axis,
            to_little_endian(array),
        )
        return self.add(held)

    def add_operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        kind: str = "",
        **options: OptionValue,
    ) -> None:
        """Add an operator; `kind` is the table type of its options, `options` are the fields."""
        ends = [[self.tensors[i] for i in each if i >= 0] for each in (inputs, outputs)]
        number = find_version(name, ends[0], ends[1], options)
        made = FileOperator(name, number, tuple(inputs), tuple(outputs), kind, options)
        self.operators.append(made)

    def make_name(self, name: str) -> str:
        """Return a name that no tensor has yet."""
        number, made = 1, name
        while made in self._taken:
            number, made = number + 1, f"{name}_{number}"
        self._taken.add(made)
        return made


@dataclass(frozen=True)
class TfliteSite:
    """A call of the network during its conversion to operators."""

    node: Node
    file: TfliteGraphBuilder

    @property
    def params(self) -> Mapping[str, int]:
        """Scalar arguments of the call."""
        return self.node.params

    @property
    def output(self) -> Tensor:
        """The call's output tensor."""
        return self.node.output

    def source(self, index: int = 0) -> Tensor:
        """Return an input tensor of the call."""
        return self.file.known[self.node.inputs[index]]

    def array(self, role: str) -> np.ndarray:
        """Return the weights or the bias of the call."""
        name = self.node.weights if role == "weights" else self.node.bias
        assert name is not None  # all callers convert functions with this array
        return self.file.graph.arrays[name]

    def view_input(self, index: int, shape: Optional[Shape] = None) -> int:
        """Return the file's index of an input in a shape."""
        return self.file.view(self.node.inputs[index], shape)

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of an input in the file."""
        return self.file.shape(self.node.inputs[index])

    @property
    def whole(self) -> Shape:
        """The default shape of the output in the file."""
        return add_batch_axis(self.output.shape)

    def put(
        self,
        operator: str,
        inputs: Sequence[int],
        kind: str = "",
        shape: Optional[Shape] = None,
        **options: OptionValue,
    ) -> int:
        """Add the operator that computes the call's output in a shape; return the operator's index.

        If the output is one of the network, a RESHAPE restores its default shape.
        """
        own, made = self.output, self.whole if shape is None else shape
        direct = own.name not in self.file.graph.outputs or made == self.whole
        if direct:
            first = self.file.add_network_tensor(own, made)
        else:
            first = self.file.add(describe(own, made, self.file.make_name(f"{own.name}/made")))
        place = len(self.file.operators)
        self.file.add_operator(operator, inputs, (first,), kind, **options)
        if not direct:
            self.file.set_index(own.name, self.file.reshape(first, own.name, self.whole))
        return place

    def make_error(self, why: object) -> ModelError:
        """Return the error for a call that no operator computes."""
        return ModelError(f"{self.node.name} ({self.node.function.name}): {why}")


def add_batch_axis(shape: Shape) -> Shape:
    """Return a sample's shape in a file: prepend a batch axis of 1, unless it has four axes."""
    return shape if len(shape) > 3 and shape[0] != 1 else (1, *shape)


def describe(tensor: Tensor, shape: Shape, name: str = "", variable: bool = False) -> FileTensor:
    """Return the file's description of a tensor of the network."""
    if math.prod(shape) != math.prod(tensor.shape):
        raise ModelError(
            f"{tensor.name} is {list(tensor.shape)}; it must have the elements of {list(shape)}"
        )
    name, type = name or tensor.name, TYPES[tensor.dtype]
    if tensor.scale is None:
        return FileTensor(name, shape, type, variable=variable)
    scales, zeros = (tensor.scale,), (tensor.zero_point,)
    return FileTensor(name, shape, type, scales, zeros, variable=variable)


def to_little_endian(array: np.ndarray) -> bytes:
    """Return the little-endian bytes of an array."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
