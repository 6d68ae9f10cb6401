"""Attributes and inputs of a node that no converter has read: they would change the numbers."""

from __future__ import annotations

from ...errors import ModelError
from ...io import optional_deps
from .call import OnnxCall
from .reading import attribute_value


def expect_read(call: OnnxCall) -> None:
    """Refuse a node with an attribute or input that its converter has not read.

    An attribute with the default of its operator set changes nothing.
    """
    node = call.node
    for key in sorted(node.attributes.keys() - call.asked):
        if node.attributes[key] != _default(node.op, call.builder.opset, key):
            raise ModelError(
                f"its attribute {key!r} is {_format_value(node.attributes[key])}: {_LEAVE}"
            )
    for index, value in enumerate(call.inputs):
        if value is not None and index not in call.asked:
            raise ModelError(f"it has an input {index}, {node.inputs[index]!r}: {_LEAVE}")


_LEAVE = "that is not supported; export the file without it"


def _default(op: str, opset: int, key: str) -> object:
    """Return the default of an omitted attribute; None if there is none."""
    onnx = optional_deps.require("onnx", "onnx", "reading .onnx files")
    if not onnx.defs.has(op):
        return None
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:  # a newer operator than the file's set
        return None
    declared = schema.attributes.get(key)
    return None if declared is None else attribute_value(declared.default_value)


def _format_value(value: object) -> str:
    return repr(value)[:80]
