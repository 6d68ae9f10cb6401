"""Parsing of an .onnx file: its nodes in order, its constants, and its declared shapes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ...io import optional_deps
from ...io.files import read_bytes
from ...operators import Shape
from .tensors import FILE_LIMIT, FLOAT_TYPES, Tensors, type_name

#: Operator sets that the converters support.
OPSETS = range(7, 29)

#: Most operators of a file, with all that compute shapes.
_NODE_LIMIT = 200_000

#: Longest name of an operator or a tensor.
_NAME_LIMIT = 1000

#: Number of an attribute type -> its field. Further types (graphs) are never needed.
_FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}


@dataclass(frozen=True)
class OnnxNode:
    """One operator of the file; omitted inputs have the name ""."""

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.op if self.op.isidentifier() else repr(self.op)} {self.name!r}"


@dataclass(frozen=True)
class Model:
    """A file's graph. name: of the file; inputs: those that are not constants.

    declared: ValueInfoProto of each tensor that has one; constants: TensorProto of each
    initializer, which `tensors` decodes.
    """

    name: str
    opset: int
    nodes: tuple[OnnxNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    declared: dict[str, Any]
    constants: dict[str, Any]
    tensors: Tensors

    def declares(self, name: str) -> bool:
        """True if the file declares a shape of a tensor."""
        return name in self.declared and self.declared[name].type.tensor_type.HasField("shape")

    def shape(self, name: str) -> Shape:
        """Return the shape of one sample of a tensor, as the file declares it."""
        where = f"{self.name}: {name!r}"
        if not self.declares(name):
            raise ModelError(f"{where} has no shape")
        kind = self.declared[name].type.tensor_type
        if kind.elem_type not in FLOAT_TYPES:
            raise ModelError(
                f"{where} contains {type_name(kind.elem_type)}; it must be floats: choose a "
                "tensor after it with input="
            )
        if not kind.shape.dim:
            raise ModelError(f"{where} has no batch axis")
        return _sample(where, kind.shape.dim)


def parse(path: Path) -> Model:
    """Parse a file; raise ModelError, with one sentence, for a file that is not ONNX."""
    onnx = optional_deps.require("onnx", "onnx", "reading .onnx files")
    message = optional_deps.require("google.protobuf.message", "onnx", "reading .onnx files")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(read_bytes(path, FILE_LIMIT))
    except (message.DecodeError, UnicodeError):
        raise ModelError(f"{path} is damaged or not an ONNX model") from None
    return _model(path, proto)


def _model(path: Path, proto: Any) -> Model:
    graph = proto.graph
    if not 0 < len(graph.node) <= _NODE_LIMIT:
        raise ModelError(
            f"{path} is not an ONNX model of a network: it has {len(graph.node)} operators, "
            f"and 1 to {_NODE_LIMIT} are supported"
        )
    constants = {tensor.name: tensor for tensor in graph.initializer}
    model = Model(
        name=path.name,
        opset=_opset(path, proto),
        nodes=tuple(map(_node, graph.node)),
        inputs=tuple(value.name for value in graph.input if value.name not in constants),
        outputs=tuple(dict.fromkeys(value.name for value in graph.output)),
        declared={v.name: v for v in (*graph.output, *graph.value_info, *graph.input)},
        constants=constants,
        tensors=Tensors(path.parent),
    )
    _check_names(path, model, [tensor.name for tensor in graph.initializer])
    return model


def _check_names(path: Path, model: Model, constants: list[str]) -> None:
    """Check that names are text of limited length, and that each tensor has one producer."""
    made = [name for node in model.nodes for name in node.outputs if name]
    made += [*constants, *model.inputs]
    read = [name for node in model.nodes for name in (node.op, node.name, *node.inputs)]
    for name in (*made, *read, *model.outputs):
        if not isinstance(name, str) or len(name) > _NAME_LIMIT:
            raise ModelError(f"{path} is damaged: {name[:20]!r} is not a name")
    for name, times in Counter(made).items():
        if times > 1:
            raise ModelError(
                f"{path}: two operators compute the tensor {name!r}; names must be unique"
            )


def _opset(path: Path, proto: Any) -> int:
    """Return the version of the operator set."""
    versions = [entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")]
    version = versions[0] if len(versions) == 1 else 1
    if version not in OPSETS:
        raise ModelError(
            f"{path} uses the ONNX operator set {version}, but only {OPSETS[0]} to {OPSETS[-1]} "
            "are supported; export it with one of these or convert it with onnx.version_converter"
        )
    return version


def _node(node: Any) -> OnnxNode:
    outputs = tuple(node.output)
    return OnnxNode(
        op=node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}",
        name=node.name or next(filter(None, outputs), ""),
        inputs=tuple(node.input),
        outputs=outputs,
        attributes={each.name: attribute_value(each) for each in node.attribute},
    )


def attribute_value(attribute: Any) -> Any:
    """Return an attribute as int, float, str, TensorProto, list of these, or None for other
    kinds.
    """
    field = _FIELDS.get(attribute.type)
    if field is None:
        return None
    value = getattr(attribute, field)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return list(value) if field in ("floats", "ints", "strings") else value


def _sample(where: str, dims: Any) -> Shape:
    """Return a declared shape without its batch axis, which must be free or 1."""
    batch, *shape = dims
    if batch.dim_value > 1:
        raise ModelError(
            f"{where} has a fixed batch of {batch.dim_value}; export the network with a batch of 1 "
            "or an open one"
        )
    free = [
        f"{i} ({dim.dim_param or '?'!r})" for i, dim in enumerate(shape, 1) if dim.dim_value < 1
    ]
    if free:
        raise ModelError(
            f"{where} has no fixed size on axis {', '.join(free)}; export the network with fixed "
            "sizes for all axes but the batch"
        )
    return tuple(dim.dim_value for dim in shape)
