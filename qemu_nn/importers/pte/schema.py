"""Tables of an ExecuTorch program: field -> slot, numbered as in its schema."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from ..flatbuffer import Bytes, make_damage_error

#: Table -> its fields in the order of their slots; a union takes two, its kind and its table.
_FIELDS = {
    "Program": (
        *("version", "execution_plan", "constant_buffer", "backend_delegate_data", "segments"),
        *("constant_segment", "mutable_data_segments", "named_data"),
    ),
    "ExecutionPlan": (
        *("name", "container_meta_type", "values", "inputs", "outputs", "chains", "operators"),
        *("delegates", "non_const_buffer_sizes"),
    ),
    "EValue": ("val_type", "val"),
    "Tensor": (
        *("scalar_type", "storage_offset", "sizes", "dim_order", "requires_grad"),
        *("data_buffer_idx", "allocation_info", "layout", "shape_dynamism", "extra_tensor_info"),
    ),
    "ExtraTensorInfo": ("mutable_data_segments_idx", "fully_qualified_name", "location"),
    "AllocationDetails": ("memory_id", "memory_offset_low", "memory_offset_high"),
    "Chain": ("inputs", "outputs", "instructions", "stacktrace"),
    "Instruction": ("instr_args_type", "instr_args"),
    "KernelCall": ("op_index", "args"),
    "DelegateCall": ("delegate_index", "args"),
    "BackendDelegate": ("id", "processed", "compile_specs"),
    "BackendDelegateDataReference": ("location", "index"),
    "BackendDelegateInlineData": ("data",),
    "NamedData": ("key", "segment_index"),
    "Operator": ("name", "overload"),
    "Buffer": ("storage",),
    "DataSegment": ("offset", "size"),
    "SubsegmentOffsets": ("segment_index", "offsets"),
    "Int": ("int_val",),
    "Bool": ("bool_val",),
    "Double": ("double_val",),
    "String": ("string_val",),
    "IntList": ("items",),
    "DoubleList": ("items",),
    "BoolList": ("items",),
    "TensorList": ("items",),
    "OptionalTensorList": ("items",),
}

#: Field -> the form of its number, if not uint32.
_FORMS = {
    **{"val_type": "<B", "instr_args_type": "<B", "scalar_type": "<b", "storage_offset": "<i"},
    **{"delegate_index": "<i"},
    **{"op_index": "<i", "offset": "<Q", "size": "<Q", "int_val": "<q", "bool_val": "<?"},
    **{"double_val": "<d", "layout": "<b", "shape_dynamism": "<b", "location": "<b"},
}

#: Kinds of a value, numbered as in the union.
KINDS = (
    *("none", "Null", "Int", "Bool", "Double", "Tensor", "String", "IntList", "DoubleList"),
    *("BoolList", "TensorList", "OptionalTensorList"),
)


class SchemaTable:
    """A table of the file, with access to fields by name.

    Raises ModelError for parts outside the file. Missing fields are 0, empty or None.
    """

    def __init__(self, kind: str, data: bytes, position: int) -> None:
        self._reader, self._kind, self._data = Bytes(kind, data, position), kind, data

    def number(self, field: str) -> Any:
        """Return a number or a truth value."""
        at = self._offset(field)
        form = _FORMS.get(field, "<I")
        if not at:
            return {"<?": False, "<d": 0.0}.get(form, 0)
        return self._reader.unpack(form, self._reader.Pos + at)

    def text(self, field: str) -> str:
        """Return text; "" if there is none."""
        at = self._offset(field)
        found = self._reader.String(self._reader.Pos + at) if at else b""
        return found.decode(errors="replace")

    def numbers(self, field: str, dtype: str) -> np.ndarray:
        """Return a vector of numbers, as a view of the file."""
        at = self._offset(field)
        if not at:
            return np.empty(0, dtype)
        length, start = self._reader.VectorLen(at), self._reader.Vector(at)
        if length * np.dtype(dtype).itemsize > len(self._data) - start:
            raise make_damage_error(self._kind)
        return np.frombuffer(self._data, np.dtype(dtype).newbyteorder("<"), length, start)

    def table(self, field: str, kind: str) -> Optional[SchemaTable]:
        """Return a table in a field, or in a union; None if there is none."""
        at = self._offset(field)
        return (
            SchemaTable(kind, self._data, self._reader.Indirect(self._reader.Pos + at))
            if at
            else None
        )

    def tables(self, field: str, kind: str, most: int) -> list[SchemaTable]:
        """Return a vector of tables."""
        at = self._offset(field)
        length = self._reader.VectorLen(at) if at else 0
        if length > most:
            raise ModelError(f"it has {length} {field}; at most {most} are supported")
        start = self._reader.Vector(at) if at else 0
        places = [self._reader.Indirect(start + 4 * i) for i in range(length)]
        return [SchemaTable(kind, self._data, place) for place in places]

    def _offset(self, field: str) -> int:
        return self._reader.Offset(4 + 2 * _FIELDS[self._kind].index(field))
