"""Parsing of an ExecuTorch program: one method's calls, and the values that they name by index."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from ...io.files import MEGABYTE, read_bytes
from ...ir.tensors import MEMORY_LIMIT
from ..flatbuffer import SchemaTable
from .schema import KINDS, SCHEMA

#: Kind of a value that is one number -> its field.
_NUMBERS = {"Int": "int_val", "Bool": "bool_val", "Double": "double_val"}

#: Most bytes of a file, and most values, calls, methods and other tables of one.
_FILE_LIMIT, _VALUES, _CALLS, _METHODS = 512 * MEGABYTE, 100_000, 5000, 1000

#: Most elements of a list, and of all lists together, which may share their bytes.
_LIST_LIMIT, _ALL_LISTS = 100_000, 1_000_000

#: Number of an element type -> its name in numpy.
_DTYPES = {
    **{0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 6: "float32", 7: "float64"},
    **{11: "bool", 28: "uint32", 29: "uint64"},
}

#: Signature of a file with segments at byte 8; the smallest length.
_EXTENDED, _LEAST = b"eh00", 24


@dataclass(frozen=True)
class FileTensor:
    """A tensor of the program.

    sizes: its logical shape. order: its axes from the outermost in memory to the innermost. place:
    memory and offset in the program's plan, None if the caller gives the memory. data: the numbers
    of a constant, in its logical shape.
    """

    index: int
    dtype: str
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    place: Optional[tuple[int, int]]
    data: Optional[np.ndarray]

    def __str__(self) -> str:
        return f"value {self.index} ({self.dtype} {list(self.sizes)})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape in memory."""
        return tuple(self.sizes[axis] for axis in self.order)

    @property
    def moved(self) -> tuple[int, ...]:
        """Axis order, () if the axes are in order."""
        return () if self.order == tuple(range(len(self.order))) else self.order

    @property
    def channels_last(self) -> bool:
        """True if the device treats the tensor as an image with channels last.

        It is one, or both orders have the same bytes.
        """
        if len(self.sizes) != 4:
            return False
        return self.order == (0, 2, 3, 1) or self.sizes[1] == 1 or self.sizes[2:] == (1, 1)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return math.prod(self.sizes) * np.dtype(self.dtype).itemsize


#: Backend of delegates that are read.
ETHOS_U = "EthosUBackend"


@dataclass(frozen=True)
class Instruction:
    """A call of the program: the operator's name, "cortex_m::quantized_add.out", and the indices of
    its arguments.

    payload: the bytes that the backend of a delegate has packed; the name is then the backend's.
    """

    index: int
    name: str
    args: tuple[int, ...]
    payload: bytes = b""

    def __str__(self) -> str:
        return f"{self.name} (instruction {self.index})"


class Program:
    """One method of a program. inputs, outputs: indices of its values. arenas: bytes of each memory
    that it plans."""

    def __init__(self, path: Path, method: str) -> None:
        data = read_bytes(path, _FILE_LIMIT)
        self.name = path.stem
        if data[4:8] != b"ET12":
            raise ModelError("it is not an ExecuTorch program: it lacks the mark 'ET12'")
        program, self._base, self._segment_bytes = _extents(data)
        self._data, self._flat = data, data[:program]
        self._root = SchemaTable(
            SCHEMA, "Program", self._flat, struct.unpack_from("<I", self._flat)[0]
        )
        plan = self._method(method)
        self._values = plan.tables("values", "EValue", _VALUES)
        self._read: dict[int, Any] = {}
        self._spent = 0
        self.inputs = self._indices(plan, "inputs")
        self.outputs = self._indices(plan, "outputs")
        self.arenas = tuple(plan.numbers("non_const_buffer_sizes", "int64")[:1000].tolist())
        self.instructions = self._instructions(plan)

    def value(self, index: int) -> Any:
        """Return a value: a FileTensor, a number, text, None, or a list of such."""
        if not 0 <= index < len(self._values):
            raise ModelError(f"it names value {index}, but there are {len(self._values)}")
        if index not in self._read:
            self._read[index] = self._value(index)
        return self._read[index]

    def run_constant_method(self, name: str) -> Optional[float]:
        """Return the constant of a method without calls; None if there is no such method."""
        for plan in self._root.tables("execution_plan", "ExecutionPlan", _METHODS):
            if plan.text("name") == name:
                values = plan.tables("values", "EValue", _VALUES)
                found = plan.numbers("outputs", "int32")[:1].tolist()
                if found and 0 <= found[0] < len(values):
                    return _number(values[found[0]])
        return None

    def _method(self, name: str) -> SchemaTable:
        plans = self._root.tables("execution_plan", "ExecutionPlan", _METHODS)
        names = [plan.text("name") for plan in plans]
        if name not in names:
            raise ModelError(f"it has no method {name!r}; have: {', '.join(names) or 'none'}")
        plan = plans[names.index(name)]
        backends = [
            each.text("id") for each in plan.tables("delegates", "BackendDelegate", _METHODS)
        ]
        if any(backend != ETHOS_U for backend in backends):
            raise ModelError(
                f"parts of its method {name!r} are delegated to another backend, whose kernels are "
                f"not CMSIS-NN's; lower it for the cortex_m backend, or for {ETHOS_U}"
            )
        return plan

    @cached_property
    def named_data(self) -> dict[str, bytes]:
        """Data that delegates name: key -> bytes."""
        entries = self._root.tables("named_data", "NamedData", _METHODS)
        return {each.text("key"): self._segment(each.number("segment_index")) for each in entries}

    def _segment(self, number: int) -> bytes:
        segments = self._root.tables("segments", "DataSegment", _METHODS)
        if number >= len(segments):
            raise ModelError(f"it names segment {number}, but there are {len(segments)}")
        first, size = segments[number].number("offset"), segments[number].number("size")
        if first + size > self._segment_bytes:
            raise ModelError(f"it is damaged: segment {number} is outside of the file")
        return self._data[self._base + first : self._base + first + size]

    def _payload(self, plan: SchemaTable, number: int) -> bytes:
        """Return what the backend of a delegate has packed, from the tables or from a segment."""
        delegates = plan.tables("delegates", "BackendDelegate", _METHODS)
        if not 0 <= number < len(delegates):
            raise ModelError(f"it calls delegate {number}, but there are {len(delegates)}")
        place = delegates[number].table("processed", "BackendDelegateDataReference")
        index = 0 if place is None else place.number("index")
        if place is not None and place.number("location") == 1:
            return self._segment(index)
        held = self._root.tables("backend_delegate_data", "BackendDelegateInlineData", _METHODS)
        if place is None or index >= len(held):
            raise ModelError(f"delegate {number} has no data in the file")
        return held[index].numbers("data", "uint8").tobytes()

    def _indices(self, plan: SchemaTable, field: str) -> tuple[int, ...]:
        found = plan.numbers(field, "int32")[:1001].tolist()
        if not 1 <= len(found) <= 1000:
            raise ModelError(f"its method has {len(found)} {field}; 1 to 1000 are supported")
        return tuple(found)

    def _instructions(self, plan: SchemaTable) -> tuple[Instruction, ...]:
        chains = plan.tables("chains", "Chain", _METHODS)
        if len(chains) != 1:
            raise ModelError(f"its method has {len(chains)} chains of calls; only 1 is supported")
        operators = [
            ".".join(filter(None, (operator.text("name")[:200], operator.text("overload")[:200])))
            for operator in plan.tables("operators", "Operator", _CALLS)
        ]
        found: list[Instruction] = []
        for table in chains[0].tables("instructions", "Instruction", _CALLS):
            kind = table.number("instr_args_type")
            call = table.table("instr_args", "KernelCall") if kind == 1 else None
            if kind == 5:  # freed memory: a plan has no use for it
                continue
            delegate = table.table("instr_args", "DelegateCall") if kind == 2 else None
            if delegate is not None:
                data = self._payload(plan, delegate.number("delegate_index"))
                given = tuple(self._list(delegate, "args", "int32"))
                found.append(Instruction(len(found), ETHOS_U, given, data))
                continue
            if call is None:
                raise ModelError(
                    f"its instruction {len(found)} is no call of a kernel (kind {kind})"
                )
            number, args = call.number("op_index"), self._list(call, "args", "int32")
            if not 0 <= number < len(operators):
                raise ModelError(f"it calls operator {number}, but there are {len(operators)}")
            found.append(Instruction(len(found), operators[number], tuple(args)))
        if not found:
            raise ModelError("its method has no instructions: there is nothing to run")
        return tuple(found)

    def _list(self, table: SchemaTable, field: str, dtype: str) -> list[Any]:
        found = table.numbers(field, dtype)
        self._spent += len(found)
        if len(found) > _LIST_LIMIT or self._spent > _ALL_LISTS:
            raise ModelError(f"its lists are too long: {len(found)} more elements")
        values: list[Any] = found.tolist()
        return values

    def _value(self, index: int) -> Any:
        table = self._values[index]
        kind = table.number("val_type")
        name = KINDS[kind] if kind < len(KINDS) else f"of kind {kind}"
        if name == "Null":
            return None
        held = table.table("val", name) if kind in range(2, len(KINDS)) else None
        if held is None:
            raise ModelError(f"value {index} is {name}, which is not supported")
        if name == "Tensor":
            return self._tensor(index, held)
        if name == "String":
            return held.text("string_val")[:1000]
        if name == "DoubleList":
            return self._list(held, "items", "float64")
        if name == "BoolList":
            return self._list(held, "items", "bool")
        if name == "IntList":
            return [self._integer(item) for item in self._list(held, "items", "int64")]
        if name in ("TensorList", "OptionalTensorList"):
            items = self._list(held, "items", "int32")
            return [None if item == -1 else self._tensor_at(item) for item in items]
        return held.number(_NUMBERS[name])

    def _integer(self, index: int) -> int:
        """Return an element of a list of integers, each a value of its own."""
        if not 0 <= index < len(self._values) or self._values[index].number("val_type") != 2:
            raise ModelError(f"a list of integers names value {index}, which is no integer")
        number: int = self.value(index)
        return number

    def _tensor_at(self, index: int) -> FileTensor:
        if not 0 <= index < len(self._values) or self._values[index].number("val_type") != 5:
            raise ModelError(f"a list of tensors names value {index}, which is no tensor")
        tensor: FileTensor = self.value(index)
        return tensor

    def _tensor(self, index: int, table: SchemaTable) -> FileTensor:
        number = table.number("scalar_type")
        if number not in _DTYPES:
            raise ModelError(f"value {index} is a tensor of type {number}, which is not supported")
        sizes = tuple(table.numbers("sizes", "int32")[:9].tolist())
        order = tuple(table.numbers("dim_order", "uint8")[:9].tolist())
        axes = tuple(range(len(sizes)))
        if len(sizes) > 8 or min(sizes, default=0) < 0 or math.prod(sizes) > MEMORY_LIMIT:
            raise ModelError(f"value {index} cannot have the sizes {list(sizes)}")
        if order and tuple(sorted(order)) != axes:
            raise ModelError(f"value {index} has the axes {list(order)} in memory")
        if table.number("storage_offset") or table.number("layout"):
            raise ModelError(f"value {index} is a part of another tensor, or sparse")
        if table.number("shape_dynamism") == 2:
            raise ModelError(f"value {index} has sizes that are not known before it runs")
        extra = table.table("extra_tensor_info", "ExtraTensorInfo")
        if extra is not None and extra.number("location") == 1:
            raise ModelError(
                f"value {index} is in another file, as "
                f"{extra.text('fully_qualified_name')!r}: export the program with its "
                "constants inside"
            )
        place, buffer = None, table.number("data_buffer_idx")
        details = table.table("allocation_info", "AllocationDetails")
        if details is not None:
            high, low = (details.number(f"memory_offset_{half}") for half in ("high", "low"))
            place = (details.number("memory_id"), (high << 32) + low)
            if buffer:
                raise ModelError(f"value {index} is a state with a first value: not supported")
        tensor = FileTensor(index, _DTYPES[number], sizes, order or axes, place, None)
        if buffer and place is None:
            return _load_data(tensor, self._constant(tensor, buffer))
        return tensor

    def _constant(self, tensor: FileTensor, number: int) -> np.ndarray:
        """Return the bytes of a constant from its offset in the file."""
        segment = self._root.table("constant_segment", "SubsegmentOffsets")
        offsets = np.empty(0) if segment is None else segment.numbers("offsets", "uint64")
        if segment is None or not len(offsets):
            return self._inline(tensor, number)
        segments = self._root.tables("segments", "DataSegment", _METHODS)
        which = segment.number("segment_index")
        if number >= len(offsets) or which >= len(segments):
            raise ModelError(f"{tensor} is constant {number}, but there are {len(offsets)}")
        first, size = segments[which].number("offset"), segments[which].number("size")
        start = int(offsets[number])
        inside = start + tensor.nbytes <= size and first + size <= self._segment_bytes
        if not inside:
            raise ModelError(f"it is damaged: {tensor} is outside of the file's constants")
        return np.frombuffer(self._data, np.uint8, tensor.nbytes, self._base + first + start)

    def _inline(self, tensor: FileTensor, number: int) -> np.ndarray:
        buffers = self._root.tables("constant_buffer", "Buffer", _VALUES)
        if number >= len(buffers):
            raise ModelError(f"{tensor} is constant {number}, but there are {len(buffers)}")
        held = buffers[number].numbers("storage", "uint8")
        if len(held) < tensor.nbytes:
            raise ModelError(f"it is damaged: {tensor} has {len(held)} bytes in the file")
        return held[: tensor.nbytes]


def _number(table: SchemaTable) -> Optional[float]:
    """Return the number of a value; None for any other kind."""
    kind = table.number("val_type")
    name = KINDS[kind] if 0 <= kind < len(KINDS) else ""
    held = table.table("val", name) if name in _NUMBERS else None
    return None if held is None else float(held.number(_NUMBERS[name]))


def _extents(data: bytes) -> tuple[int, int, int]:
    """Return the bytes of the tables, the start of the segments, and their bytes."""
    if data[8:12] != _EXTENDED:
        return len(data), len(data), 0
    if len(data) < 8 + _LEAST:
        raise ModelError("it is damaged: it ends inside of its header")
    length, program, base = struct.unpack_from("<IQQ", data, 12)
    size = len(data) - base
    if length >= 32 and len(data) >= 40:
        size = struct.unpack_from("<Q", data, 32)[0] or size
    if length < _LEAST or not 8 <= program <= len(data) or not 0 <= base <= len(data) - size:
        raise ModelError("it is damaged: its header names parts that are outside of the file")
    return program, base or len(data), size if base else 0


def _load_data(tensor: FileTensor, held: np.ndarray) -> FileTensor:
    """Return a constant with its numbers, from its own memory order."""
    dtype = np.dtype(tensor.dtype).newbyteorder("<")
    numbers = held.view(dtype).reshape(tensor.shape).astype(tensor.dtype, copy=False)
    back = np.argsort(tensor.order)
    return FileTensor(
        *(tensor.index, tensor.dtype, tensor.sizes, tensor.order, None),
        data=numbers.transpose(back) if len(tensor.sizes) else numbers.reshape(()),
    )
