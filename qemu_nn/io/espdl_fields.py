"""Tables of .espdl files, for their reader and their writer: fields, types, kinds of values."""

from __future__ import annotations

#: Table -> its fields, numbered as in ESP-DL's schema.
FIELDS = {
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
