"""Tables of an .espdl model: field -> slot, numbered as in ESP-DL's schema."""

from __future__ import annotations

from ..flatbuffer import Schema

_FIELDS = {
    "Model": (
        *("ir_version", "opset_import", "producer_name", "producer_version", "domain"),
        *("model_version", "doc_string", "graph", "metadata_props", "functions"),
    ),
    "StringStringEntry": ("key", "value"),
    "Graph": (
        *("node", "name", "initializer", "doc_string", "input", "output", "value_info"),
        *("quantization_annotation", "test_inputs_value", "test_outputs_value"),
    ),
    "Node": ("input", "output", "name", "op_type", "domain", "attribute", "doc_string"),
    "Attribute": (
        *("name", "ref_attr_name", "doc_string", "attr_type", "f", "i", "s", "t", "g", "tp"),
        *("floats", "ints", "strings", "tensors", "graphs", "type_protos"),
    ),
    "Tensor": (
        *("dims", "data_type", "float_data", "int32_data", "string_data", "int64_data", "name"),
        *("doc_string", "raw_data", "external_data", "data_location", "double_data"),
        *("uint64_data", "exponents"),
    ),
    "ValueInfo": ("name", "value_info_type", "doc_string", "exponents"),
    "TypeInfo": ("value_type", "value", "denotation"),
    "TensorTypeAndShape": ("elem_type", "shape"),
    "TensorShape": ("dim",),
    "Dimension": ("value", "denotation"),
    "DimensionValue": ("dim_type", "dim_value", "dim_param"),
}

_FORMS = {
    **dict.fromkeys(("ir_version", "attr_type", "data_type", "elem_type", "data_location"), "<i"),
    **dict.fromkeys(("model_version", "dim_value", "i"), "<q"),
    **{"f": "<f", "value_type": "<B", "dim_type": "<b"},
}

#: The tables of a model.
SCHEMA = Schema(_FIELDS, _FORMS)

#: Number of an element type -> its name in numpy.
DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    11: "float64",
    12: "uint32",
    13: "uint64",
}

#: Kinds of an attribute's value.
FLOAT, INT, STRING, TENSOR, FLOATS, INTS, STRINGS = 1, 2, 3, 4, 6, 7, 8
