"""A .tflite file taken apart: its operators in order, and the tensors that they name by index."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...io.files import MEGABYTE, read_bytes
from ...ir.tensors import MEMORY_LIMIT
from .checked import Table, library

#: Most bytes of a file: more than any microcontroller holds.
FILE_LIMIT = 512 * MEGABYTE

#: Most operators of a file, and most inputs and outputs of one and of all of them.
_OPERATOR_LIMIT, _ENDS_LIMIT, _ALL_ENDS_LIMIT = 5000, 1000, 20_000

#: Most axes of a tensor, longest name.
_AXES_LIMIT, _NAME_LIMIT = 8, 1000

#: The types whose numbers are read; others are named in messages.
_DTYPES = {
    "INT4": "int8",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "FLOAT32": "float32",
    "BOOL": "bool",
}


@dataclass(frozen=True)
class FileTensor:
    """A tensor of the file.

    type: its name in the format's schema ("INT8"). scales, zeros: one for the whole tensor, or one
    for each element of `axis`; none where it is not quantized. data: its numbers, in its shape,
    if the file holds them; of INT4 flat and two in a byte. open_axes: those that are not fixed.
    """

    index: int
    name: str
    type: str
    shape: tuple[int, ...]
    scales: np.ndarray
    zeros: np.ndarray
    axis: int
    data: Optional[np.ndarray]
    variable: bool
    open_axes: tuple[int, ...]

    def __str__(self) -> str:
        return f"tensor {self.index} ({self.name[:60]!r})"

    @property
    def dtype(self) -> str:
        """Its numpy type."""
        if self.type not in _DTYPES:
            raise ModelError(f"{self} is {self.type}; have: {', '.join(_DTYPES)}")
        return _DTYPES[self.type]


@dataclass(frozen=True)
class Operator:
    """A call of the file; inputs that are left out are -1."""

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    table: Table

    def __str__(self) -> str:
        return f"{self.name} (operator {self.index})"


def read(path: Path) -> Model:
    """The first graph of a file. Raises ModelError for everything that is inconsistent."""
    return parse(path, read_bytes(path, FILE_LIMIT))


def parse(path: Path, data: bytes) -> Model:
    """The same of the bytes that a file has or will have."""
    if data[4:8] != b"TFL3":
        raise ModelError(f"{path} is not a TensorFlow Lite model: it lacks the mark 'TFL3'")
    try:
        root = Table.root("Model", data)
        version = root.number("Version")
        if version != 3:
            raise ModelError(f"it has the format version {version}; only version 3 is supported")
        if not root.count("Subgraphs"):
            raise ModelError("it has no network")
        return Model(path.name, root, 0)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


class Model:
    """A graph of a file. number: its place among these; inputs, outputs: indices of its tensors."""

    def __init__(self, name: str, root: Table, number: int) -> None:
        self.name = name
        self._read: dict[int, FileTensor] = {}
        self._ends = 0
        self._root, self.number = root, number
        self._graph = root.member("Subgraphs", "SubGraph", number)
        self.inputs = self._indices(self._graph, "Inputs")
        self.outputs = self._indices(self._graph, "Outputs")
        self.operators = tuple(map(self._operator, range(self._operators())))

    def subgraph(self, number: int) -> Model:
        """Another graph of the file."""
        have = self._root.count("Subgraphs")
        if not 0 < number < have:
            raise ModelError(f"it calls the graph {number} of the file, which has {have}")
        return Model(self.name, self._root, number)

    def tensor(self, index: int) -> FileTensor:
        """A tensor by its index."""
        if index not in self._read:
            self._read[index] = self._tensor(index)
        return self._read[index]

    def hold(self, index: int, data: np.ndarray) -> None:
        """Say what numbers a tensor holds that an operator makes of constants alone."""
        self._read[index] = replace(self.tensor(index), data=data)

    def memory(self, tensor: FileTensor, size: int) -> Optional[np.ndarray]:
        """The file's bytes from a constant's first one on, as a device has them that reads the
        file; None for other tensors, and beyond the end of the file."""
        if tensor.data is None:
            return None
        whole = np.frombuffer(self._root.data, np.uint8)
        start, at = (array.__array_interface__["data"][0] for array in (whole, tensor.data))
        inside = 0 <= at - start <= whole.size - size
        return whole[at - start :][:size] if inside else None

    def _operators(self) -> int:
        count = self._graph.count("Operators")
        least = 0 if self.number else 1  # what a branch makes may be what it is given
        if not least <= count <= _OPERATOR_LIMIT:
            raise ModelError(f"it has {count} operators; 1 to {_OPERATOR_LIMIT} are supported")
        names = vars(library("BuiltinOperator")).items()
        self._names = {code: name for name, code in names if isinstance(code, int)}
        return count

    def _indices(self, table: Table, field: str, least: int = 0) -> tuple[int, ...]:
        """Indices of tensors, each of one that there is; least: -1 where some may be left out."""
        found, have = table.numbers(field), self._graph.count("Tensors")
        self._ends += len(found)
        if len(found) > _ENDS_LIMIT or self._ends > _ALL_ENDS_LIMIT:
            raise ModelError(f"it has too many {field.lower()}: {len(found)} more")
        for index in found.tolist():
            if not least <= index < have:
                raise ModelError(f"its {field.lower()} name tensor {index}, but there are {have}")
        return tuple(found.tolist())

    def _operator(self, index: int) -> Operator:
        table = self._graph.member("Operators", "Operator", index)
        code, have = table.number("OpcodeIndex"), self._root.count("OperatorCodes")
        if code >= have:
            raise ModelError(f"operator {index} has the operator code {code}, but there are {have}")
        kind = self._root.member("OperatorCodes", "OperatorCode", code)
        number = max(kind.number("BuiltinCode"), kind.number("DeprecatedBuiltinCode"))
        name = self._names.get(number, f"operator code {number}")
        if name == "CUSTOM":
            name = _printable(kind.text("CustomCode")[:60])
            if not name or name in self._names.values():
                name = f"CUSTOM {name!r}"  # none, or that of an operator which it is not
        try:
            inputs = self._indices(table, "Inputs", -1)
            return Operator(index, name, inputs, self._indices(table, "Outputs"), table)
        except ModelError as error:
            raise ModelError(f"{name} (operator {index}): {error}") from None

    def _tensor(self, index: int) -> FileTensor:
        table = self._graph.member("Tensors", "Tensor", index)
        name = _printable(table.text("Name"))
        shape = _shape(index, table)
        kinds = {code: name for name, code in vars(library("TensorType")).items()}
        kind = kinds.get(table.number("Type"), "of a type that is not known")
        signature = table.numbers("ShapeSignature").tolist()
        if table.table("Sparsity", "SparsityParameters") is not None:
            raise ModelError(f"tensor {index} ({name[:60]!r}) is sparse; make it dense")
        scales, zeros, axis = _quantization(table)
        tensor = FileTensor(
            index=index,
            name=name,
            type=kind,
            shape=shape,
            scales=scales,
            zeros=zeros,
            axis=axis,
            data=None,
            variable=table.number("IsVariable"),
            open_axes=tuple(i for i, length in enumerate(signature) if length < 0),
        )
        data = self._data(tensor, table.number("Buffer"))
        return tensor if data is None else _with_data(tensor, data)

    def _data(self, tensor: FileTensor, index: int) -> Optional[np.ndarray]:
        """The bytes of a buffer; None if it has none."""
        have = self._root.count("Buffers")
        if index >= have and index:  # without any, all tensors name the first
            raise ModelError(f"{tensor} is in buffer {index}, but there are {have}")
        if not have:
            return None
        buffer = self._root.member("Buffers", "Buffer", index)
        if buffer.number("Offset") > 1:
            raise ModelError(f"{tensor} lies outside the file's tables, as in files over 2 GiB")
        data = buffer.numbers("Data")
        return data if len(data) else None


def _printable(text: str) -> str:
    if len(text) > _NAME_LIMIT:
        raise ModelError(
            f"the name {text[:20]!r}... has {len(text)} characters; {_NAME_LIMIT} are supported"
        )
    return "".join(c if c.isprintable() else "_" for c in text)


def _shape(index: int, table: Table) -> tuple[int, ...]:
    shape = tuple(table.numbers("Shape")[: _AXES_LIMIT + 1].tolist())
    if len(shape) > _AXES_LIMIT or any(length < 0 for length in shape):
        raise ModelError(f"tensor {index} cannot have the shape {list(shape)}")
    if math.prod(shape) > MEMORY_LIMIT:
        raise ModelError(f"tensor {index} is too large: {list(shape)}")
    return shape


def _quantization(table: Table) -> tuple[np.ndarray, np.ndarray, int]:
    found = table.table("Quantization", "QuantizationParameters")
    if found is None:
        return np.empty(0, np.float32), np.empty(0, np.int64), 0
    if found.number("DetailsType"):
        raise ModelError("a tensor is quantized by something other than scales and zero points")
    return found.numbers("Scale"), found.numbers("ZeroPoint"), found.number("QuantizedDimension")


def _with_data(tensor: FileTensor, data: np.ndarray) -> FileTensor:
    """The tensor with its numbers, of which there must be as many as its shape says."""
    if tensor.variable:
        raise ModelError(f"{tensor} is a variable, so the file must not hold numbers for it")
    dtype = np.dtype(tensor.dtype).newbyteorder("<")
    count, packed = math.prod(tensor.shape), tensor.type == "INT4"
    size = -(-count // 2) if packed else count * dtype.itemsize
    if data.size != size:
        raise ModelError(
            f"{tensor} has the shape {list(tensor.shape)}, which is {size} bytes of {tensor.type}, "
            f"but the file holds {data.size}"
        )
    numbers = data.view(dtype).reshape(-1 if packed else tensor.shape)
    return replace(tensor, data=numbers.astype(tensor.dtype, copy=False))
