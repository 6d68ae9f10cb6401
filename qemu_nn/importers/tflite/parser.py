"""Parser of .tflite files: operators in order, and the tensors that operators name by index."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...io.files import MEGABYTE, read_bytes
from ...ir.tensors import MEMORY_LIMIT
from .checked import TfliteTable, library

#: Maximum size of a file in bytes, above the memory of any microcontroller.
FILE_LIMIT = 512 * MEGABYTE

#: Maximum number of operators, of inputs or outputs of one operator, and of all operators.
_OPERATOR_LIMIT, _ENDS_LIMIT, _ALL_ENDS_LIMIT = 5000, 1000, 20_000

#: Maximum number of axes of a tensor, and of characters of a name.
_AXES_LIMIT, _NAME_LIMIT = 8, 1000

#: Types of the schema that the library `tflite` lacks.
_LATER_TYPES = {19: "INT2", 20: "UINT4", 21: "FLOAT8_E4M3FN", 22: "FLOAT8_E5M2"}

#: Slots of fields that the library `tflite` hides, or whose values it lacks: the code of an
#: OperatorCode; kind and table of the details of QuantizationParameters.
_BUILTIN_CODE, _DETAILS_TYPE, _DETAILS = 10, 12, 14

#: Types with scales.
_SCALED = ("INT8", "INT16", "UINT8", "INT4")

#: Supported types: the schema's name -> numpy's name.
_DTYPES = {
    "INT4": "int8",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "FLOAT16": "float16",
    "FLOAT32": "float32",
    "BOOL": "bool",
}


@dataclass(frozen=True)
class TfliteTensor:
    """A tensor of the file.

    type: the type's name in the schema ("INT8"). scales, zeros: empty if the tensor is not
    quantized, else one element for the tensor or one per index of `axis`. data: elements of a
    constant in the tensor's shape; INT4 elements are flat, two per byte. open_axes: axes without a
    fixed size.
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
        """The numpy type of the elements."""
        if self.type not in _DTYPES:
            raise ModelError(f"{self} is {self.type}; it must be one of {', '.join(_DTYPES)}")
        return _DTYPES[self.type]


@dataclass(frozen=True)
class TfliteOperator:
    """An operator call of the file; a missing optional input is -1."""

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    table: TfliteTable

    def __str__(self) -> str:
        return f"{self.name} (operator {self.index})"


def read(path: Path) -> TfliteModel:
    """Read the first graph of a file; raise ModelError if the file is inconsistent."""
    return parse(path, read_bytes(path, FILE_LIMIT))


def parse(path: Path, data: bytes) -> TfliteModel:
    """Return the first graph in the bytes of a file; `path` is for error messages only."""
    if not data:
        raise ModelError(f"{path} is empty: write or download the model again")
    if data[4:8] != b"TFL3":
        raise ModelError(f"{path} is not a TensorFlow Lite model: it lacks the identifier 'TFL3'")
    try:
        root = TfliteTable.root("Model", data)
        version = root.number("Version")
        if version != 3:
            raise ModelError(f"it has the format version {version}; only version 3 is supported")
        if not root.count("Subgraphs"):
            raise ModelError("it has no network")
        return TfliteModel(path.name, root, 0)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


class TfliteModel:
    """A graph of a file. number: its index in the file. inputs, outputs: indices of tensors."""

    def __init__(self, name: str, root: TfliteTable, number: int) -> None:
        self.name = name
        self._read: dict[int, TfliteTensor] = {}
        self._ends = 0
        self._root, self.number = root, number
        self._graph = root.member("Subgraphs", "SubGraph", number)
        self.inputs = self._indices(self._graph, "Inputs")
        self.outputs = self._indices(self._graph, "Outputs")
        self.operators = tuple(map(self._operator, range(self._operators())))

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return len(self._root.data)

    @property
    def graphs(self) -> int:
        """The number of graphs in the file."""
        return self._root.count("Subgraphs")

    @property
    def tensors(self) -> int:
        """The number of tensors in this graph."""
        return self._graph.count("Tensors")

    @cached_property
    def signatures(self) -> dict[str, int]:
        """The file's signatures: key -> number of the graph."""
        tables = [
            self._root.member("SignatureDefs", "SignatureDef", at)
            for at in range(min(self._root.count("SignatureDefs"), _ENDS_LIMIT))
        ]
        return {
            _check_name(each.text("SignatureKey")): each.number("SubgraphIndex") for each in tables
        }

    def select(self, signature: Optional[str]) -> TfliteModel:
        """Return the graph of a signature; without one, this graph."""
        if signature is None:
            return self
        try:
            signatures = self.signatures
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from None
        if signature not in signatures:
            have = ", ".join(map(repr, signatures)) or "none"
            raise ModelError(f"{self.name}: it has no signature {signature!r}; have: {have}")
        number = signatures[signature]
        return self.subgraph(number) if number else self

    def subgraph(self, number: int) -> TfliteModel:
        """Return another graph of the file."""
        have = self._root.count("Subgraphs")
        if not 0 < number < have:
            raise ModelError(f"it calls the graph {number} of the file; the file has {have} graphs")
        return TfliteModel(self.name, self._root, number)

    def tensor(self, index: int) -> TfliteTensor:
        """Return a tensor by its index."""
        if index not in self._read:
            self._read[index] = self._tensor(index)
        return self._read[index]

    def set_data(self, index: int, data: np.ndarray) -> None:
        """Set the elements of a tensor that an operator computes from constants alone."""
        self._read[index] = replace(self.tensor(index), data=data)

    def read_memory(self, tensor: TfliteTensor, size: int) -> Optional[np.ndarray]:
        """Return `size` bytes of the file from a constant's first byte, as in a device's memory.

        Returns None if the tensor is no constant, or if the file ends earlier.
        """
        if tensor.data is None:
            return None
        whole = np.frombuffer(self._root.data, np.uint8)
        start, at = (array.__array_interface__["data"][0] for array in (whole, tensor.data))
        inside = 0 <= at - start <= whole.size - size
        return whole[at - start :][:size] if inside else None

    def read_metadata(self, name: str) -> Optional[bytes]:
        """Return the bytes of the file's metadata of a name; None if there are none."""
        for at in range(min(self._root.count("Metadata"), _ENDS_LIMIT)):
            entry = self._root.member("Metadata", "Metadata", at)
            if entry.text("Name") != name:
                continue
            number, have = entry.number("Buffer"), self._root.count("Buffers")
            if number >= have:
                raise ModelError(
                    f"its metadata are in buffer {number}; the file has {have} buffers"
                )
            held: bytes = self._root.member("Buffers", "Buffer", number).numbers("Data").tobytes()
            return held
        return None

    def _operators(self) -> int:
        count = self._graph.count("Operators")
        if count > _OPERATOR_LIMIT:
            raise ModelError(f"it has {count} operators; up to {_OPERATOR_LIMIT} are supported")
        names = vars(library("BuiltinOperator")).items()
        self._names = {code: name for name, code in names if isinstance(code, int)}
        return count

    def _indices(self, table: TfliteTable, field: str, least: int = 0) -> tuple[int, ...]:
        """Return valid indices of tensors; `least` is -1 if inputs may be missing, else 0."""
        found, have = table.numbers(field), self._graph.count("Tensors")
        self._ends += len(found)
        if len(found) > _ENDS_LIMIT or self._ends > _ALL_ENDS_LIMIT:
            raise ModelError(f"it has too many {field.lower()}: {len(found)} more")
        for index in found.tolist():
            if not least <= index < have:
                raise ModelError(
                    f"its {field.lower()} name tensor {index}; the graph has {have} tensors"
                )
        return tuple(found.tolist())

    def _operator(self, index: int) -> TfliteOperator:
        table = self._graph.member("Operators", "Operator", index)
        code, have = table.number("OpcodeIndex"), self._root.count("OperatorCodes")
        if code >= have:
            raise ModelError(
                f"operator {index} has operator code {code}; the file has {have} codes"
            )
        kind = self._root.member("OperatorCodes", "OperatorCode", code)
        number = max(kind.slot(_BUILTIN_CODE, "<i"), kind.number("DeprecatedBuiltinCode"))
        name = self._names.get(number, f"operator code {number}")
        if name == "CUSTOM":
            name = _check_name(kind.text("CustomCode")[:60])
            if not name or name in self._names.values():
                name = f"CUSTOM {name!r}"  # no name, or the name of a builtin operator
        try:
            inputs = self._indices(table, "Inputs", -1)
            return TfliteOperator(index, name, inputs, self._indices(table, "Outputs"), table)
        except ModelError as error:
            raise ModelError(f"{name} (operator {index}): {error}") from None

    def describe(self, index: int) -> str:
        """Return a tensor's type; "=" follows for a constant, "~" for integers without scales."""
        tensor, buffer = self._header(index)
        bare = tensor.type in _SCALED and not len(tensor.scales)
        return f"{tensor.type}{'~' * bare}{'=' * (self._data(tensor, buffer) is not None)}"

    def _tensor(self, index: int) -> TfliteTensor:
        tensor, buffer = self._header(index)
        data = self._data(tensor, buffer)
        return tensor if data is None else _add_data(tensor, data)

    def _header(self, index: int) -> tuple[TfliteTensor, int]:
        """Return a tensor without its elements, and the buffer of these."""
        table = self._graph.member("Tensors", "Tensor", index)
        name = _check_name(table.text("Name"))
        shape = _read_shape(index, table)
        kinds = {code: name for name, code in vars(library("TensorType")).items()}
        code = table.number("Type")
        kind = {**kinds, **_LATER_TYPES}.get(code, f"of the unknown type {code}")
        signature = table.numbers("ShapeSignature").tolist()
        if table.table("Sparsity", "SparsityParameters") is not None:
            raise ModelError(f"tensor {index} ({name[:60]!r}) is sparse; make it dense")
        scales, zeros, axis = self._read_quantization(f"tensor {index} ({name[:60]!r})", table)
        tensor = TfliteTensor(
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
        return tensor, table.number("Buffer")

    def _read_quantization(
        self, tensor: str, table: TfliteTable
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return scales, zero points and their axis.

        As in the framework, scales without zero points do not count, and one zero point is that of
        all scales.
        """
        none = np.empty(0, np.float32), np.empty(0, np.int64), 0
        found = table.table("Quantization", "QuantizationParameters")
        if found is None:
            return none
        kind = found.slot(_DETAILS_TYPE, "<B")
        if kind:
            raise ModelError(self._explain_details(tensor, found, kind))
        scales, zeros = found.numbers("Scale"), found.numbers("ZeroPoint")
        if not (len(scales) and len(zeros)):
            return none
        if len(zeros) == 1 < len(scales):
            zeros = np.repeat(zeros, len(scales))
        return scales, zeros, found.number("QuantizedDimension")

    def _explain_details(self, tensor: str, found: TfliteTable, kind: int) -> str:
        """Return the error for a quantization other than by scales and zero points of an axis."""
        names = {1: "a custom quantization", 2: "blockwise scales", 3: "scales along several axes"}
        said = names.get(kind, f"a quantization of the unknown kind {kind}")
        if kind in (2, 3):
            details = found.slot_table(_DETAILS, "BlockwiseQuantization")
            at, block = (
                details.unpack("<i", details.Pos + place) if place else 0
                for place in (details.Offset(4), details.Offset(8))
            )
            inside = 0 <= at < self._graph.count("Tensors")
            scales = f" of {self.tensor(at).type}, {self.tensor(at)}," if inside else ""
            said += f"{scales} for blocks of {block} elements"
        return f"{tensor} has {said}; it must have scales and zero points along one axis"

    def _data(self, tensor: TfliteTensor, index: int) -> Optional[np.ndarray]:
        """Return the bytes of a buffer; None if it is empty."""
        have = self._root.count("Buffers")
        if index >= have and index:  # in a file without buffers all tensors name buffer 0
            raise ModelError(f"{tensor} is in buffer {index}; the file has {have} buffers")
        if not have:
            return None
        buffer = self._root.member("Buffers", "Buffer", index)
        if buffer.number("Offset") > 1:
            raise ModelError(
                f"{tensor} is stored outside of the file's tables, as in files over 2 GiB; it must "
                "be in a buffer table"
            )
        data = buffer.numbers("Data")
        return data if len(data) else None


def _check_name(text: str) -> str:
    if len(text) > _NAME_LIMIT:
        raise ModelError(
            f"the name {text[:20]!r}... has {len(text)} characters; up to {_NAME_LIMIT} are "
            "supported"
        )
    return "".join(c if c.isprintable() else "_" for c in text)


def _read_shape(index: int, table: TfliteTable) -> tuple[int, ...]:
    shape = tuple(table.numbers("Shape")[: _AXES_LIMIT + 1].tolist())
    if len(shape) > _AXES_LIMIT or any(length < 0 for length in shape):
        raise ModelError(f"tensor {index} cannot have the shape {list(shape)}")
    if math.prod(shape) > MEMORY_LIMIT:
        raise ModelError(f"tensor {index} is too large: {list(shape)}")
    return shape


def _add_data(tensor: TfliteTensor, data: np.ndarray) -> TfliteTensor:
    """Return the tensor with its elements; their number must match the shape."""
    if tensor.variable:
        raise ModelError(f"{tensor} is a variable with data in the file; it must have none")
    dtype = np.dtype(tensor.dtype).newbyteorder("<")
    count, packed = math.prod(tensor.shape), tensor.type == "INT4"
    size = -(-count // 2) if packed else count * dtype.itemsize
    if data.size != size:
        raise ModelError(
            f"{tensor} has {data.size} bytes of data; {tensor.type} {list(tensor.shape)} needs "
            f"{size}"
        )
    numbers = data.view(dtype).reshape(-1 if packed else tensor.shape)
    return replace(tensor, data=numbers.astype(tensor.dtype, copy=False))
