"""Parsing of an .espdl model: nodes in order, and the tensors that they name."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from ...io.espdl_fields import DTYPES, FLOAT, FLOATS, INT, INTS, STRING
from ...ir.tensors import MEMORY_LIMIT
from ..flatbuffer import SchemaTable
from .schema import SCHEMA

#: Most nodes, tensors, ends of a node, attributes of a node, axes, and characters of a name.
_NODES, _TENSORS, _ENDS, _ATTRIBUTES, _AXES, _NAME = 5000, 50_000, 1000, 100, 8, 1000

#: Most absolute value of an exponent.
_EXPONENT = 64

#: Bytes of a block of raw data.
_BLOCK = 16


@dataclass(frozen=True)
class EspValue:
    """A tensor that a run reads or writes; its value is integer * 2^exponent."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    exponent: int

    def __str__(self) -> str:
        return f"{self.name[:60]!r} ({self.dtype} {list(self.shape)})"

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class EspConstant:
    """A tensor with its elements, in the order of the file.

    exponents: one of the tensor, or one for each output channel. label: text of the exporter about
    the order of the elements.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    exponents: tuple[int, ...]
    label: str
    data: np.ndarray

    def __str__(self) -> str:
        return f"{self.name[:60]!r} ({self.dtype} {list(self.shape)})"

    @property
    def exponent(self) -> int:
        """The exponent of the tensor; raise ModelError if its channels have exponents."""
        if len(set(self.exponents)) != 1:
            raise ModelError(f"{self} has {len(self.exponents)} exponents; it must have one")
        return self.exponents[0]


@dataclass(frozen=True)
class EspNode:
    """A node of the file; a missing optional input is ""."""

    index: int
    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    def __str__(self) -> str:
        name = f" {self.name[:60]!r}" if self.name else ""
        return f"{re.sub(r'[^A-Za-z0-9_.]', '?', self.operator[:60])}{name} (node {self.index})"


@dataclass(frozen=True)
class TestVectors:
    """Inputs that the exporter stored in the file, and the outputs of its simulation."""

    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: dict[str, np.ndarray] = field(default_factory=dict)


class EspModel:
    """A model of a file.

    inputs, outputs: tensors in the order of the file. values: every tensor that has a description,
    by name. constants: by name. target: that the file names, or None.
    """

    def __init__(self, data: bytes) -> None:
        root = SchemaTable(SCHEMA, "Model", data, struct.unpack_from("<I", data)[0])
        graph = root.table("graph", "Graph")
        if graph is None:
            raise ModelError("it has no network")
        self._graph = graph
        entries = root.tables("metadata_props", "StringStringEntry", _ATTRIBUTES)
        metadata = {entry.text("key"): entry.text("value") for entry in entries}
        self.target = metadata.get("target") or None
        self.constants = {each.name: each for each in self._list_tensors("initializer")}
        self.inputs = self._list_values("input")
        self.outputs = self._list_values("output")
        described = (*self._list_values("value_info"), *self.inputs, *self.outputs)
        self.values = {value.name: value for value in described}
        self.nodes = _sort(self._list_nodes(), {*self.constants, *(v.name for v in self.inputs)})

    def read_test_vectors(self) -> TestVectors:
        """Return the values that the file was exported with; empty if it has none."""
        inputs, outputs = (
            {each.name: each.data for each in self._list_tensors(f"test_{end}_value")}
            for end in ("inputs", "outputs")
        )
        return TestVectors(inputs, outputs)

    def _list_tensors(self, kind: str) -> list[EspConstant]:
        return [_read_constant(table) for table in self._graph.tables(kind, "Tensor", _TENSORS)]

    def _list_values(self, kind: str) -> list[EspValue]:
        return [_read_value(table) for table in self._graph.tables(kind, "ValueInfo", _TENSORS)]

    def _list_nodes(self) -> list[EspNode]:
        tables = self._graph.tables("node", "Node", _NODES)
        return [_read_node(index, table) for index, table in enumerate(tables)]


def _read_name(table: SchemaTable) -> str:
    name = table.text("name")
    if len(name) > _NAME:
        raise ModelError(f"a name has {len(name)} characters; at most {_NAME} are supported")
    return name


def _check_shape(name: str, sides: list[int]) -> tuple[int, ...]:
    if len(sides) > _AXES or any(side < 0 for side in sides) or math.prod(sides) > MEMORY_LIMIT:
        raise ModelError(f"the tensor {name[:60]!r} has the shape {sides[: _AXES + 1]}")
    return tuple(sides)


def _read_dtype(name: str, number: int) -> str:
    if number not in DTYPES:
        have = ", ".join(DTYPES.values())
        raise ModelError(f"the tensor {name[:60]!r} has the type {number}; it must be of {have}")
    return DTYPES[number]


def _read_exponents(table: SchemaTable, name: str) -> tuple[int, ...]:
    found = table.numbers("exponents", "int64")
    if found.size and int(np.abs(found.clip(-_EXPONENT - 1, _EXPONENT + 1)).max()) > _EXPONENT:
        raise ModelError(
            f"the tensor {name[:60]!r} has an exponent that is not from -{_EXPONENT} to {_EXPONENT}"
        )
    return tuple(found.tolist())


def _read_constant(table: SchemaTable) -> EspConstant:
    """Return a tensor with its elements, flat."""
    name = _read_name(table)
    shape = _check_shape(name, table.numbers("dims", "int64").tolist())
    dtype = _read_dtype(name, table.number("data_type"))
    size = math.prod(shape)
    blocks = table.numbers("raw_data", f"V{_BLOCK}")
    needed = size * np.dtype(dtype).itemsize
    if needed > blocks.size * _BLOCK:
        raise ModelError(
            f"the tensor {name[:60]!r} has {blocks.size * _BLOCK} bytes of data; its shape "
            f"{list(shape)} needs {needed}"
        )
    little = np.dtype(dtype).newbyteorder("<")
    data = np.frombuffer(blocks.tobytes(), little, size).astype(dtype)
    label = table.text("doc_string")[:_NAME]
    return EspConstant(name, dtype, shape, _read_exponents(table, name) or (0,), label, data)


def _read_value(table: SchemaTable) -> EspValue:
    """Return the description of a tensor without its elements."""
    name = _read_name(table)
    kind = table.table("value_info_type", "TypeInfo")
    tensor = kind.table("value", "TensorTypeAndShape") if kind is not None else None
    if tensor is None:
        raise ModelError(f"the tensor {name[:60]!r} has no type")
    shape = tensor.table("shape", "TensorShape")
    sides = []
    for dimension in shape.tables("dim", "Dimension", _AXES) if shape is not None else ():
        value = dimension.table("value", "DimensionValue")
        sides.append(value.number("dim_value") if value is not None else 0)
    dtype = _read_dtype(name, tensor.number("elem_type"))
    exponents = _read_exponents(table, name)
    return EspValue(name, dtype, _check_shape(name, sides), exponents[0] if exponents else 0)


def _read_node(index: int, table: SchemaTable) -> EspNode:
    attributes = {}
    for each in table.tables("attribute", "Attribute", _ATTRIBUTES):
        attributes[_read_name(each)] = _read_attribute(each)
    return EspNode(
        index=index,
        name=_read_name(table),
        operator=table.text("op_type"),
        inputs=tuple(table.texts("input", _ENDS)),
        outputs=tuple(table.texts("output", _ENDS)),
        attributes=attributes,
    )


def _read_attribute(table: SchemaTable) -> Any:
    """Return the value of an attribute; None for kinds that no operator has."""
    kind = table.number("attr_type")
    if kind == FLOAT:
        return table.number("f")
    if kind == INT:
        return table.number("i")
    if kind == STRING:
        return table.numbers("s", "uint8").tobytes()[:_NAME].decode(errors="replace")
    if kind == INTS:
        return table.numbers("ints", "int64")[:_ENDS].tolist()
    if kind == FLOATS:
        return table.numbers("floats", "float32")[:_ENDS].tolist()
    return None


def _sort(nodes: list[EspNode], known: set[str]) -> tuple[EspNode, ...]:
    """Return the nodes so that each is after those that compute its inputs, as the device runs
    them.
    """
    made = {name for node in nodes for name in node.outputs}
    waiting, found = list(nodes), []
    while waiting:
        later = []
        for node in waiting:
            if all(name in known or name not in made for name in node.inputs):
                found.append(node)
                known.update(node.outputs)
            else:
                later.append(node)
        if len(later) == len(waiting):
            raise ModelError(f"{later[0]} depends on its own output")
        waiting = later
    return tuple(found)
