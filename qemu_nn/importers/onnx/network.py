"""Node by node from an .onnx file to a float network: constants are folded, the rest converted."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ...errors import ModelError
from ...ir.float_graph import FloatGraph
from ...operators import Reshape, Shape, Transpose
from ..tensor import Tensor
from .activation import ACTIVATIONS
from .arithmetic import ARITHMETIC
from .building import OnnxBuilder
from .call import Converter, OnnxCall
from .folding import FOLDS, fold
from .normalizing import NORMALIZING
from .reading import Model, OnnxNode
from .recurrent import RECURRENT
from .resizing import RESIZING
from .shaping import SHAPING
from .unread import expect_read
from .windows import WINDOWS

#: Operator -> function that adds its meaning to a network.
CONVERTERS: dict[str, Converter] = {
    **WINDOWS,
    **RESIZING,
    **ARITHMETIC,
    **NORMALIZING,
    **ACTIVATIONS,
    **SHAPING,
    **RECURRENT,
}


def convert(model: Model, input: Optional[str], output: Optional[str]) -> FloatGraph:
    """Return the network between an input and an output, named or the file's own."""
    outputs = model.outputs if output is None else (output,)
    nodes, start = _cut_nodes(model, input, outputs)
    shape = _shape(model, start)
    builder = _build_network(model, nodes, start, shape)
    for name in outputs:
        if not isinstance(builder.values.get(name), Tensor):
            raise ModelError(f"{model.name}: the output {name!r} is not computed from {start!r}")
    layout = _layout(builder, start, shape)
    return FloatGraph(Path(model.name).stem, start, shape, layout, tuple(builder.nodes), outputs)


def _shape(model: Model, start: str) -> Shape:
    """Return the shape of one sample of a network's first tensor.

    An undeclared shape is inferred by building the part before it; inference by the library `onnx`
    could use any amount of memory for a damaged file.
    """
    if model.declares(start) or start in model.inputs:
        return model.shape(start)
    nodes, before = _cut_nodes(model, None, (start,))
    try:
        builder = _build_network(model, nodes, before, model.shape(before))
        tensor = builder.value(start)
    except ModelError as error:
        raise ModelError(
            f"{model.name} declares no shape for {start!r} (onnx.shape_inference can add it), and "
            f"it cannot be computed: {error}"
        ) from None
    if not isinstance(tensor, Tensor) or not tensor.batched:
        raise ModelError(f"{model.name}: {start!r} has no batch axis")
    return tensor.sample


def _build_network(model: Model, nodes: list[OnnxNode], start: str, shape: Shape) -> OnnxBuilder:
    """Return a network of nodes that starts from a tensor."""
    builder = OnnxBuilder(model, {start: shape})
    for node in nodes:
        try:
            _convert(builder, node)
        except ModelError as error:
            raise ModelError(f"{model.name}: {node}: {error}") from None
    return builder


def _convert(builder: OnnxBuilder, node: OnnxNode) -> None:
    if node.op in ("QuantizeLinear", "DequantizeLinear"):
        raise ModelError("a quantized file is read whole: leave out input= and output=")
    if node.op not in CONVERTERS and node.op not in FOLDS:
        raise ModelError(
            "this operator is not supported; cut it off with input= or output=, or export the "
            f"network without it; have: {', '.join(sorted(CONVERTERS))}"
        )
    inputs = tuple(builder.value(name) if name else None for name in node.inputs)
    call = OnnxCall(node, inputs, builder)
    computed = [value.name for value in inputs if isinstance(value, Tensor)]
    if not computed and node.op in FOLDS:
        builder.fold(node, fold(call))
    elif node.op in CONVERTERS:
        CONVERTERS[node.op](call)
    else:
        raise ModelError(f"it is supported for constants alone, but {computed[0]!r} is computed")
    expect_read(call)
    builder.close(node)


def _cut_nodes(
    model: Model, input: Optional[str], outputs: tuple[str, ...]
) -> tuple[list[OnnxNode], str]:
    """Return the nodes that the outputs need, in order, and the name of their only input."""
    known = {*model.inputs, *(name for node in model.nodes for name in node.outputs)} - {""}
    for name in (input, *outputs):
        if name is not None and name not in known:
            raise ModelError(
                f"{model.name} has no tensor {name!r}; its inputs are {_list(model.inputs)}, "
                f"its outputs {_list(model.outputs)}"
            )
    needed, nodes = set(outputs), []
    for node in reversed(model.nodes):
        if needed.intersection(node.outputs) - {input}:
            nodes.append(node)
            needed.update(node.inputs)
    starts = tuple(name for name in model.inputs if name in needed)
    if input is None and len(starts) != 1:
        raise ModelError(
            f"{model.name} computes its outputs from {len(starts)} inputs ({_list(starts)}); only "
            "networks with one input are supported: choose a part with input= and output="
        )
    if input is not None and (input not in needed or set(starts) - {input}):
        raise ModelError(f"{model.name}: {_list(outputs)} cannot be computed from {input!r} alone")
    return nodes[::-1], input or starts[0]


def _list(names: tuple[str, ...]) -> str:
    """Return names as a message shows them."""
    return ", ".join([*map(repr, names[:5]), *(["..."] if len(names) > 5 else [])]) or "none"


def _layout(builder: OnnxBuilder, start: str, shape: Shape) -> Optional[str]:
    """Return NCHW for an image, ONNX's layout; NHWC if its only reader transposes it to NCHW.

    Exports from TensorFlow begin with such a Transpose, or, for one channel, with a Reshape.
    """
    if len(shape) != 3:
        return None
    moves = [Transpose((2, 0, 1)), Reshape((shape[2], *shape[:2])) if shape[2] == 1 else None]
    readers = [node.operator for node in builder.nodes if start in node.inputs]
    return "NHWC" if all(operator in moves for operator in readers) else "NCHW"
