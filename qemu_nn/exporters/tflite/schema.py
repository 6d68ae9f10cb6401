"""Serialization of a .tflite file: its tables, by the names of the schema."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np

from ...io.version import __version__

#: Alignment of a buffer's data in bytes, because kernels read the data in place.
_ALIGNMENT = 16

#: A field of an operator's options: a number, text, integers, or (enumeration, its enumerator).
OptionValue = Union[int, float, str, Sequence[int], tuple[str, str]]


@dataclass(frozen=True)
class FileTensor:
    """A tensor of the file.

    type: name in the schema. scales, zeros: empty, one for the tensor, or one per index of `axis`.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    scales: tuple[float, ...] = ()
    zeros: tuple[int, ...] = ()
    axis: int = 0
    data: Optional[bytes] = None
    variable: bool = False


@dataclass(frozen=True)
class FileOperator:
    """An operator of the file.

    inputs: indices of tensors, -1 for a missing optional input. kind: table type of the options.
    intermediates: empty tensors; a kernel reads their scales.
    """

    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    intermediates: tuple[int, ...] = ()


@dataclass(frozen=True)
class FileGraph:
    """A graph of a file: tensors by index, operators in order."""

    name: str
    tensors: Sequence[FileTensor]
    operators: Sequence[FileOperator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def make_file(graphs: Sequence[FileGraph], metadata: bytes = b"") -> bytes:
    """Return the bytes of a file with graphs, the network first, and metadata if not empty.

    Equal graphs give equal bytes.
    """
    return _Writer(graphs, metadata).model()


def find_enumerator(kind: str, name: str) -> int:
    """Return the number of an enumerator of the schema."""
    module = importlib.import_module(f"tflite.{kind}")
    return int(getattr(getattr(module, kind), name))


class _Writer:
    def __init__(self, graphs: Sequence[FileGraph], metadata: bytes) -> None:
        from flatbuffers import Builder

        self.graphs, self.builder = graphs, Builder(1024)
        operators = [each for graph in graphs for each in graph.operators]
        self.codes = list(dict.fromkeys((each.name, each.version) for each in operators))
        tensors = [tensor for graph in graphs for tensor in graph.tensors]
        constants = [tensor for tensor in tensors if tensor.data is not None]
        self.places = {id(tensor): at for at, tensor in enumerate(constants, 1)}
        self.constants = [tensor.data or b"" for tensor in constants]
        self.metadata = metadata

    def model(self) -> bytes:
        """Return the bytes; the first buffer is empty, for tensors without data."""
        held = [*self.constants, *([self.metadata] if self.metadata else [])]
        buffers = self.tables([self.table("Buffer", {}), *map(self.buffer, held)])
        codes = self.tables([self.code(*code) for code in self.codes])
        graphs = self.tables([self.subgraph(graph) for graph in self.graphs])
        fields = {
            "Version": 3,
            "OperatorCodes": codes,
            "Subgraphs": graphs,
            "Description": self.builder.CreateString(f"qemu_nn {__version__}"),
            "Buffers": buffers,
        }
        if self.metadata:
            entry = {"Name": self.builder.CreateString("TFLITE_METADATA"), "Buffer": len(held)}
            fields["Metadata"] = self.tables([self.table("Metadata", entry)])
        self.builder.Finish(self.table("Model", fields), b"TFL3")
        return bytes(self.builder.Output())

    def buffer(self, data: bytes) -> int:
        self.builder.StartVector(1, len(data), _ALIGNMENT)
        self.builder.head -= len(data)
        self.builder.Bytes[self.builder.head : self.builder.head + len(data)] = data
        return self.table("Buffer", {"Data": self.builder.EndVector()})

    def code(self, name: str, version: int) -> int:
        number = find_enumerator("BuiltinOperator", name)
        old = min(number, find_enumerator("BuiltinOperator", "PLACEHOLDER_FOR_GREATER_OP_CODES"))
        fields = {"DeprecatedBuiltinCode": old, "Version": version, "BuiltinCode": number}
        return self.table("OperatorCode", fields)

    def subgraph(self, graph: FileGraph) -> int:
        fields = {
            "Tensors": self.tables([self.tensor(each) for each in graph.tensors]),
            "Inputs": self.numbers(graph.inputs, np.int32),
            "Outputs": self.numbers(graph.outputs, np.int32),
            "Operators": self.tables([self.operator(each) for each in graph.operators]),
            "Name": self.builder.CreateString(graph.name),
        }
        return self.table("SubGraph", fields)

    def tensor(self, tensor: FileTensor) -> int:
        fields = {
            "Shape": self.numbers(tensor.shape, np.int32),
            "Type": find_enumerator("TensorType", tensor.type),
            "Buffer": self.places.get(id(tensor), 0),
            "Name": self.builder.CreateString(tensor.name),
            "IsVariable": tensor.variable,
        }
        if tensor.scales:
            quantization = {
                "Scale": self.numbers(tensor.scales, np.float32),
                "ZeroPoint": self.numbers(tensor.zeros, np.int64),
                "QuantizedDimension": tensor.axis,
            }
            fields["Quantization"] = self.table("QuantizationParameters", quantization)
        return self.table("Tensor", fields)

    def operator(self, operator: FileOperator) -> int:
        fields = {
            "OpcodeIndex": self.codes.index((operator.name, operator.version)),
            "Inputs": self.numbers(operator.inputs, np.int32),
            "Outputs": self.numbers(operator.outputs, np.int32),
        }
        if operator.kind:
            own = {name: self.value(value) for name, value in operator.options.items()}
            fields["BuiltinOptionsType"] = find_enumerator("BuiltinOptions", operator.kind)
            fields["BuiltinOptions"] = self.table(operator.kind, own)
        if operator.intermediates:
            fields["Intermediates"] = self.numbers(operator.intermediates, np.int32)
        return self.table("Operator", fields)

    def value(self, value: OptionValue) -> Any:
        """Return the value of an options field: a number, or the offset of a text or vector."""
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, str):
            return self.builder.CreateString(value)
        if isinstance(value, tuple) and value and isinstance(value[0], str):
            return find_enumerator(*value)
        return self.numbers(value, np.int32)

    def numbers(self, values: Any, dtype: type) -> int:
        return int(self.builder.CreateNumpyVector(np.asarray(values, np.dtype(dtype))))

    def tables(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def table(self, kind: str, fields: Mapping[str, Any]) -> int:
        module = importlib.import_module(f"tflite.{kind}")
        getattr(module, f"{kind}Start")(self.builder)
        for name, value in fields.items():
            getattr(module, f"{kind}Add{name}")(self.builder, value)
        return int(getattr(module, f"{kind}End")(self.builder))
