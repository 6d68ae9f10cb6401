"""Operators and tensors of a TOSA file (.tosa), which ExecuTorch's Arm backend gives to vela."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError
from ..io.files import read_bytes
from ..ir.tensors import Tensor
from .flatbuffer import Schema, SchemaTable

#: Most bytes of a file, and most operators, tensors, and ends of an operator.
_BYTES, _MOST, _ENDS = 2**30, 100_000, 1000

#: First field of a file is the offset of its root, the next four bytes are its identifier.
_IDENTIFIER = b"TOSA"

#: A constant that the Arm backend makes of a function: its name has the node of the edge program.
_TABLE = re.compile(r"b_(\w+)_table_constant")

#: Number of a type in the file -> its name here; tensors of further types have no trace.
_TYPES = {1: "bool", 3: "int8", 4: "int16", 5: "int32", 17: "int64"}

_SCHEMA = Schema(
    {
        "TosaGraph": ("version", "regions"),
        "TosaRegion": ("name", "blocks"),
        "TosaBasicBlock": ("name", "operators", "tensors", "inputs", "outputs"),
        "TosaOperator": ("op", "attribute_type", "attribute", "inputs", "outputs", "location"),
        "TosaTensor": ("name", "shape", "type"),
        "OpLocation": ("text",),
    },
    {"attribute_type": "<B"},
)


@dataclass(frozen=True)
class TosaOperator:
    """An operator: names of the tensors that it reads and writes.

    node: the node of the exported PyTorch program that it is part of; "" if the file does not say.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    node: str


@dataclass(frozen=True)
class TosaFile:
    """The first block of a file. tensors: those of a type that NumPy has, without a batch of 1."""

    operators: tuple[TosaOperator, ...]
    tensors: Mapping[str, Tensor]


def read_tosa(path: Path) -> TosaFile:
    """Read a .tosa file; raise ModelError if it is damaged."""
    data = read_bytes(path, _BYTES)
    try:
        return _read_block(data)
    except ModelError as error:
        raise ModelError(f"{path.name}: {error}") from None


def _read_block(data: bytes) -> TosaFile:
    if data[4:8] != _IDENTIFIER:
        raise ModelError(f"it begins with {data[:8]!r}; a TOSA file has {_IDENTIFIER!r} at byte 4")
    graph = SchemaTable(_SCHEMA, "TosaGraph", data, int.from_bytes(data[:4], "little"))
    blocks = [
        block
        for region in graph.tables("regions", "TosaRegion", _MOST)
        for block in region.tables("blocks", "TosaBasicBlock", _MOST)
    ]
    if not blocks:
        raise ModelError("it has no block of operators")
    tables = blocks[0].tables("operators", "TosaOperator", _MOST)
    found = [_read_tensor(each) for each in blocks[0].tables("tensors", "TosaTensor", _MOST)]
    tensors = {tensor.name: tensor for tensor in found if tensor.dtype}
    return TosaFile(tuple(_read_operator(each) for each in tables), tensors)


def _read_operator(table: SchemaTable) -> TosaOperator:
    inputs, outputs = (tuple(table.texts(name, _ENDS)) for name in ("inputs", "outputs"))
    location = table.table("location", "OpLocation")
    node = "" if location is None else _find_node(location.text("text"))
    found = [match[1] for match in map(_TABLE.fullmatch, inputs) if match]
    if node in outputs:  # the backend made the operator, and knows no node
        node = found[0] if found else ""
    return TosaOperator(inputs, outputs, node)


def _find_node(location: str) -> str:
    """Return the node that ExecuTorch's location names: the last one of its trace."""
    try:
        trace = json.loads(location)["torch_info"]["node_trace"]
        return str(trace[-1]["name"]) if isinstance(trace, list) else ""
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return ""


def _read_tensor(table: SchemaTable) -> Tensor:
    shape = tuple(table.numbers("shape", "<i4").tolist())
    kept = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
    return Tensor(table.text("name"), kept, _TYPES.get(table.number("type"), ""))
