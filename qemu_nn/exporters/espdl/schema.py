"""Serialization of an .espdl file: its tables, by the names of the fields."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from ...io.espdl_fields import DTYPES, FIELDS, FLOAT, INT, INTS, STRING
from ...io.version import __version__

#: Bytes of a block of raw data, and of the header.
_BLOCK = 16

#: Element type -> its number in the file.
_NUMBERS = {name: number for number, name in DTYPES.items()}

#: Chip -> its name in the file.
TARGETS = {"esp32": "c", "esp32s3": "esp32s3", "esp32p4": "esp32p4"}

#: Forms of the numbers of a table, as the builder's methods call them; others are offsets.
_FORMS = {
    **dict.fromkeys(("ir_version", "attr_type", "data_type", "elem_type"), "Int32"),
    **dict.fromkeys(("model_version", "dim_value", "i"), "Int64"),
    **{"f": "Float32", "value_type": "Uint8", "dim_type": "Int8"},
}

#: Versions of ONNX, whose operators and tables these are.
_IR_VERSION, _OPSET = 8, 18


@dataclass(frozen=True)
class FileValue:
    """A tensor that a run reads or writes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    exponent: int = 0


@dataclass(frozen=True)
class FileConstant:
    """A tensor with its elements in the order of the file; label: that order in words."""

    value: FileValue
    data: np.ndarray
    label: str = ""


@dataclass(frozen=True)
class FileNode:
    """An operator of the file."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, Union[int, float, str, Sequence[int]]] = field(default_factory=dict)


@dataclass
class FileGraph:
    """The network of a file."""

    name: str
    inputs: list[FileValue] = field(default_factory=list)
    outputs: list[FileValue] = field(default_factory=list)
    nodes: list[FileNode] = field(default_factory=list)
    constants: list[FileConstant] = field(default_factory=list)
    values: list[FileValue] = field(default_factory=list)


def make_file(graph: FileGraph, chip: str) -> bytes:
    """Return the bytes of a file: header and model."""
    data = _Writer().write(graph, TARGETS[chip])
    data += bytes(-len(data) % _BLOCK)
    return b"EDL2" + struct.pack("<III", 0, len(data), 0) + data


class _Writer:
    def __init__(self) -> None:
        from flatbuffers import Builder

        self.builder = Builder(1024)
        self.builder.ForceDefaults(True)  # ESP-DL tells a missing number from 0

    def write(self, graph: FileGraph, target: str) -> bytes:
        """Return the FlatBuffer of a model."""
        tables = {
            "node": self.tables([self.node(each) for each in graph.nodes]),
            "name": self.text(graph.name),
            "initializer": self.tables([self.constant(each) for each in graph.constants]),
            "input": self.tables([self.value(each) for each in graph.inputs]),
            "output": self.tables([self.value(each) for each in graph.outputs]),
            "value_info": self.tables([self.value(each) for each in graph.values]),
        }
        entry = {"key": self.text("target"), "value": self.text(target)}
        model = {
            "ir_version": _IR_VERSION,
            "producer_name": self.text("qemu_nn"),
            "producer_version": self.text(__version__),
            "graph": self.table("Graph", tables),
            "metadata_props": self.tables([self.table("StringStringEntry", entry)]),
        }
        self.builder.Finish(self.table("Model", model))
        return bytes(self.builder.Output())

    def node(self, node: FileNode) -> int:
        fields = {
            "input": self.tables([self.text(name) for name in node.inputs]),
            "output": self.tables([self.text(node.output)]),
            "name": self.text(node.output),
            "op_type": self.text(node.operator),
            "attribute": self.tables([self.attribute(*each) for each in node.attributes.items()]),
        }
        return self.table("Node", fields)

    def attribute(self, name: str, value: Any) -> int:
        fields: dict[str, Any] = {"name": self.text(name)}
        if isinstance(value, str):
            fields.update(s=self.builder.CreateByteVector(value.encode()), attr_type=STRING)
        elif isinstance(value, int):
            fields.update(i=value, attr_type=INT)
        elif isinstance(value, float):
            fields.update(f=value, attr_type=FLOAT)
        else:
            fields.update(ints=self.integers(value), attr_type=INTS)
        return self.table("Attribute", fields)

    def constant(self, constant: FileConstant) -> int:
        value = constant.value
        fields = {
            "dims": self.integers(value.shape),
            "data_type": _NUMBERS[value.dtype],
            "name": self.text(value.name),
            "doc_string": self.text(constant.label),
            "raw_data": self.blocks(np.ascontiguousarray(constant.data).tobytes()),
            "exponents": self.integers([value.exponent]),
        }
        return self.table("Tensor", fields)

    def blocks(self, data: bytes) -> int:
        data += bytes(-len(data) % _BLOCK)
        self.builder.StartVector(_BLOCK, len(data) // _BLOCK, _BLOCK)
        self.builder.head -= len(data)
        self.builder.Bytes[self.builder.head : self.builder.head + len(data)] = data
        return int(self.builder.EndVector())

    def value(self, value: FileValue) -> int:
        sides = []
        for side in value.shape:
            number = self.table("DimensionValue", {"dim_type": 1, "dim_value": side})
            sides.append(self.table("Dimension", {"value": number}))
        shape = self.table("TensorShape", {"dim": self.tables(sides)})
        kind = {"elem_type": _NUMBERS[value.dtype], "shape": shape}
        info = {"value_type": 1, "value": self.table("TensorTypeAndShape", kind)}
        fields = {
            "name": self.text(value.name),
            "value_info_type": self.table("TypeInfo", info),
            "exponents": self.integers([value.exponent]),
        }
        return self.table("ValueInfo", fields)

    def text(self, text: str) -> int:
        return int(self.builder.CreateString(text))

    def integers(self, values: Sequence[int]) -> int:
        return int(self.builder.CreateNumpyVector(np.asarray(values, np.int64)))

    def tables(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def table(self, kind: str, fields: Mapping[str, Any]) -> int:
        slots = FIELDS[kind]
        self.builder.StartObject(len(slots))
        for name, value in fields.items():
            form = _FORMS.get(name, "UOffsetTRelative")
            getattr(self.builder, f"Prepend{form}Slot")(slots.index(name), value, 0)
        return int(self.builder.EndObject())
