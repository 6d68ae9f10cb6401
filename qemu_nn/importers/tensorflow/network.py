"""From the nodes of a frozen graph to a float network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Optional

from ...errors import ModelError
from ...ir.float_graph import FloatGraph, FloatNode
from ...operators import Conv, Pool, Transpose
from ..tensor import Tensor
from .converters import build
from .dropout import remove_dropout
from .graph import cut_section, find_only_output, tensor
from .reading import TensorflowNode
from .start import find_only_input, refusal, start_tensor


def network(
    name: str, nodes: Mapping[str, TensorflowNode], input: Optional[str], output: Optional[str]
) -> FloatGraph:
    """Return the float network between an input and an output, named or the graph's own."""
    end = find_only_output(nodes) if output is None else tensor(nodes, output)
    nodes = remove_dropout(nodes)
    part = cut_section(nodes, end, None if input is None else tensor(nodes, input))
    if part.start is None:
        part = replace(part, start=find_only_input(part))
    elif not any(part.start in node.inputs for node in part.order):
        raise ModelError(f"the output {end!r} is not computed from {part.start!r}")
    if part.start is None or part.unsupported:
        raise ModelError(refusal(part))
    start = start_tensor(nodes, part, part.start)
    builder = build(part.order, start, part.constants, nodes)
    if not isinstance(builder.values.get(end), Tensor):
        raise ModelError(f"the output {end!r} is a constant or not a tensor")
    layout = _layout(builder.nodes) if len(start.sample) == 3 else None
    return FloatGraph(name, start.name, start.sample, layout, tuple(builder.nodes), (end,))


def _layout(nodes: Iterable[FloatNode]) -> str:
    """Return the layout of the input, if it is an image: that of the first windowed operator,
    before any transpose.
    """
    for node in nodes:
        if isinstance(node.operator, (Conv, Pool)):
            return node.operator.layout
        if isinstance(node.operator, Transpose):
            break
    return "NHWC"
