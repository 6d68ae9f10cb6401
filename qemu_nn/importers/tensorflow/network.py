"""From the nodes of a frozen graph to a float network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from .start import find_inputs, refusal, start_tensor


def network(
    name: str,
    nodes: Mapping[str, TensorflowNode],
    input: Optional[str],
    output: Optional[str],
    outputs: Sequence[str] = (),
) -> FloatGraph:
    """Return the float network between inputs and outputs, named or the graph's own.

    outputs: those of the graph, if it names them.
    """
    if output is not None:
        outputs = (tensor(nodes, output),)
    ends = tuple(outputs) or (find_only_output(nodes),)
    nodes = remove_dropout(nodes)
    part = cut_section(nodes, ends, () if input is None else (tensor(nodes, input),))
    if not part.starts:
        part = replace(part, starts=find_inputs(nodes, part))
    elif not any(part.starts[0] in node.inputs for node in part.order):
        raise ModelError(f"the output {ends[0]!r} is not computed from {part.starts[0]!r}")
    if not part.starts or part.unsupported:
        raise ModelError(refusal(part))
    starts = [start_tensor(nodes, part, start) for start in part.starts]
    builder = build(part.order, starts, part.constants, nodes)
    for end in ends:
        if not isinstance(builder.values.get(end), Tensor):
            raise ModelError(f"the output {end!r} is a constant or not a tensor")
    first, *others = starts
    layout = _layout(builder.nodes) if any(len(each.sample) == 3 for each in starts) else None
    shapes = tuple((each.name, each.sample) for each in others)
    operators = tuple(builder.nodes)
    return FloatGraph(name, first.name, first.sample, layout, operators, ends, others=shapes)


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
