"""Node by node from an .onnx file to a float network: constants are folded, the rest converted."""

from __future__ import annotations

from collections.abc import Mapping
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
    nodes, starts = _cut_nodes(model, input, outputs)
    shapes = {start: _shape(model, start) for start in starts}
    builder = _build_network(model, nodes, shapes)
    for name in outputs:
        if not isinstance(builder.values.get(name), Tensor):
            where = f"{model.name}: the output {name!r}"
            raise ModelError(f"{where} is not computed from {_list(starts)}")
    start, *others = starts
    layout = _layout(builder, shapes)
    return FloatGraph(
        *(Path(model.name).stem, start, shapes[start], layout, tuple(builder.nodes), outputs),
        others=tuple((name, shapes[name]) for name in others),
    )


def _shape(model: Model, start: str) -> Shape:
    """Return the shape of one sample of a network's first tensor.

    An undeclared shape is inferred by building the part before it; inference by the library `onnx`
    could use any amount of memory for a damaged file.
    """
    if model.declares(start) or start in model.inputs:
        return model.shape(start)
    nodes, before = _cut_nodes(model, None, (start,))
    try:
        builder = _build_network(model, nodes, {name: model.shape(name) for name in before})
        tensor = builder.value(start)
    except ModelError as error:
        raise ModelError(
            f"{model.name} declares no shape for {start!r} (onnx.shape_inference can add it), and "
            f"it cannot be computed: {error}"
        ) from None
    if not isinstance(tensor, Tensor) or not tensor.batched:
        raise ModelError(f"{model.name}: {start!r} has no batch axis")
    return tensor.sample


def _build_network(model: Model, nodes: list[OnnxNode], shapes: Mapping[str, Shape]) -> OnnxBuilder:
    """Return a network of nodes that starts from tensors of these shapes."""
    builder = OnnxBuilder(model, shapes)
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
) -> tuple[list[OnnxNode], tuple[str, ...]]:
    """Return the nodes that the outputs need, in order, and the names of their inputs."""
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
    if input is None and not starts:
        raise ModelError(
            f"{model.name} computes its outputs {_list(outputs)} from no input: choose a part with "
            "input= and output="
        )
    if input is not None and (input not in needed or set(starts) - {input}):
        raise ModelError(f"{model.name}: {_list(outputs)} cannot be computed from {input!r} alone")
    return nodes[::-1], starts if input is None else (input,)


def _list(names: tuple[str, ...]) -> str:
    """Return names as a message shows them."""
    return ", ".join([*map(repr, names[:5]), *(["..."] if len(names) > 5 else [])]) or "none"


def _layout(builder: OnnxBuilder, shapes: Mapping[str, Shape]) -> Optional[str]:
    """Return NCHW for images, ONNX's layout; NHWC if their only readers transpose them to NCHW.

    Exports from TensorFlow begin with such a Transpose, or, for one channel, with a Reshape.
    """
    images = {name: shape for name, shape in shapes.items() if len(shape) == 3}
    if not images:
        return None
    last = all(_is_moved(builder, name, shape) for name, shape in images.items())
    return "NHWC" if last else "NCHW"


def _is_moved(builder: OnnxBuilder, name: str, shape: Shape) -> bool:
    """True if all readers of an image move its channels from the last axis to the first."""
    moves = [Transpose((2, 0, 1)), Reshape((shape[2], *shape[:2])) if shape[2] == 1 else None]
    return all(node.operator in moves for node in builder.nodes if name in node.inputs)
