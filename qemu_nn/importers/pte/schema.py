"""Tables of an ExecuTorch program: field -> slot, numbered as in its schema."""

from __future__ import annotations

from ..flatbuffer import Schema

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

_FORMS = {
    **{"val_type": "<B", "instr_args_type": "<B", "scalar_type": "<b", "storage_offset": "<i"},
    **{"delegate_index": "<i"},
    **{"op_index": "<i", "offset": "<Q", "size": "<Q", "int_val": "<q", "bool_val": "<?"},
    **{"double_val": "<d", "layout": "<b", "shape_dynamism": "<b", "location": "<b"},
}

#: The tables of a program.
SCHEMA = Schema(_FIELDS, _FORMS)

#: Kinds of a value, numbered as in the union.
KINDS = (
    *("none", "Null", "Int", "Bool", "Double", "Tensor", "String", "IntList", "DoubleList"),
    *("BoolList", "TensorList", "OptionalTensorList"),
)
