"""An .onnx file taken apart: its nodes in order, its constants, and the shapes that it declares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import extras
from ...errors import ModelError
from ...files import read_bytes
from ...operators import Shape
from .tensors import FILE_LIMIT, FLOAT_TYPES, Tensors, type_name

#: Operator sets whose meaning the converters know.
OPSETS = range(7, 29)

#: Most operators of a file, with all that compute shapes.
NODE_LIMIT = 200_000

#: Number of an attribute type -> the field that holds it. Others (graphs) are never asked for.
_FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}


@dataclass(frozen=True)
class Node:
    """One operator of the file; inputs that are left out have the name ""."""

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.op} {self.name!r}"


@dataclass(frozen=True)
class Model:
    """A file's graph. name: of the file; inputs: those that are not constants.

    declared: ValueInfoProto of each tensor that has one; constants: TensorProto of each
    initializer, which `tensors` decodes.
    """

    name: str
    opset: int
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    declared: dict[str, Any]
    constants: dict[str, Any]
    tensors: Tensors
    proto: Any

    def shape(self, name: str) -> Shape:
        """The shape of one sample of a tensor, as the file declares it or as onnx infers it."""
        where, declared = f"{self.name}: {name!r}", self.declared.get(name)
        if declared is None or not declared.type.tensor_type.HasField("shape"):
            declared = _inferred(self.proto).get(name)
        if declared is None or not declared.type.tensor_type.shape.dim:
            raise ModelError(
                f"{where} has no shape with a batch axis, and none can be inferred; choose another "
                "tensor with input="
            )
        kind = declared.type.tensor_type
        if kind.elem_type not in FLOAT_TYPES:
            raise ModelError(
                f"{where} holds {type_name(kind.elem_type)}, not real numbers; choose a tensor "
                "behind it with input="
            )
        return _sample(where, kind.shape.dim)


def read(path: Path) -> Model:
    """The graph of a file; ModelError for anything that is none, with one sentence."""
    onnx = extras.require("onnx", "onnx", "reading .onnx files")
    message = extras.require("google.protobuf.message", "onnx", "reading .onnx files")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(read_bytes(path, FILE_LIMIT))
    except message.DecodeError:
        raise ModelError(f"{path} is not an ONNX model, or a damaged one") from None
    return _model(path, proto)


def _model(path: Path, proto: Any) -> Model:
    graph = proto.graph
    if not 0 < len(graph.node) <= NODE_LIMIT:
        raise ModelError(
            f"{path} is no ONNX model of a network: it has {len(graph.node)} operators, 1 to "
            f"{NODE_LIMIT} are read"
        )
    constants = {tensor.name: tensor for tensor in graph.initializer}
    inputs = tuple(value.name for value in graph.input if value.name not in constants)
    nodes = tuple(_node(node) for node in graph.node)
    made = Counter(name for node in nodes for name in node.outputs if name)
    made.update([*(tensor.name for tensor in graph.initializer), *inputs])
    for name, times in made.items():
        if times > 1:
            raise ModelError(f"{path}: the tensor {name!r} is made twice")
    return Model(
        name=path.name,
        opset=_opset(path, proto),
        nodes=nodes,
        inputs=inputs,
        outputs=tuple(dict.fromkeys(value.name for value in graph.output)),
        declared={v.name: v for v in (*graph.output, *graph.value_info, *graph.input)},
        constants=constants,
        tensors=Tensors(path.parent),
        proto=proto,
    )


def _opset(path: Path, proto: Any) -> int:
    """The version of the operator set."""
    versions = [entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")]
    version = versions[0] if len(versions) == 1 else 1
    if version not in OPSETS:
        raise ModelError(
            f"{path} uses the ONNX operator set {version}, known are {OPSETS[0]} to {OPSETS[-1]}; "
            "export it with one of these or convert it with onnx.version_converter"
        )
    return version


def _node(node: Any) -> Node:
    outputs = tuple(node.output)
    return Node(
        op=node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}",
        name=node.name or next(filter(None, outputs), ""),
        inputs=tuple(node.input),
        outputs=outputs,
        attributes={each.name: _value(each) for each in node.attribute},
    )


def _value(attribute: Any) -> Any:
    """An attribute as int, float, str, TensorProto, list of these, or None for other kinds."""
    field = _FIELDS.get(attribute.type)
    if field is None:
        return None
    value = getattr(attribute, field)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return list(value) if field.endswith("s") and field != "s" else value


def _inferred(proto: Any) -> dict[str, Any]:
    """The shapes that onnx finds without computing anything, as far as it gets."""
    inference = extras.require("onnx.shape_inference", "onnx", "reading .onnx files")
    try:
        found = inference.infer_shapes(proto, data_prop=True)
    except (inference.InferenceError, RuntimeError, TypeError, ValueError):
        return {}
    return {value.name: value for value in found.graph.value_info}


def _sample(where: str, dims: Any) -> Shape:
    """A declared shape without its batch axis, which must be free or 1."""
    batch, *shape = dims
    if batch.dim_value > 1:
        raise ModelError(
            f"{where} has a batch fixed at {batch.dim_value}; export the network with a batch of 1 "
            "or a free one"
        )
    free = [f"{i} ({dim.dim_param or '?'})" for i, dim in enumerate(shape, 1) if dim.dim_value < 1]
    if free:
        raise ModelError(
            f"{where} has no fixed size on axis {', '.join(free)}; export the network with numbers "
            "for all axes but the batch"
        )
    return tuple(dim.dim_value for dim in shape)
