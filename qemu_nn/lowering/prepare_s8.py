"""Rewrites a float network into the operators that s8 and s16 functions exist for."""

from __future__ import annotations

from dataclasses import replace

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import PRelu, Relu
from ..quantizer.affine_rules import Rescale, find_fixed_formats, infer_types, joins_tensors
from .expand_s8 import expand
from .prepare import ends_in_softmax


def prepare_s8(
    graph: FloatGraph, softmax: bool = True, dtype: str = "int8"
) -> tuple[FloatGraph, list[str]]:
    """Return the same network in operators that have functions, where such exist, and notes on the
    cost.

    Values stay as they are, except for a softmax at the end; see prepare(). dtype: of the input.
    """
    nodes: list[FloatNode] = []
    notes: list[str] = []
    outputs = list(graph.outputs)
    fixed, own = find_fixed_formats(graph), infer_types(graph, dtype)
    for node in graph.nodes:
        operator, wide = node.operator, own[node.name] == "int16"
        if ends_in_softmax(node, graph, softmax):
            outputs[outputs.index(node.name)] = node.inputs[0]
            notes.append(f"{node.name}: it is left out; the output is {node.inputs[0]}")
        elif isinstance(operator, PRelu) and operator.slope.size == 1:
            nodes.append(replace(node, operator=Relu(slope=float(operator.slope.item()))))
        elif joins_tensors(operator) and fixed[node.name] is None:
            aside = [name for name in node.inputs if fixed[name]]
            sources = {name: graph.make_unused_name(f"{node.name}/{name}") for name in aside}
            nodes += [FloatNode(new, Rescale(), (name,)) for name, new in sources.items()]
            nodes.append(replace(node, inputs=tuple(sources.get(n, n) for n in node.inputs)))
        else:
            nodes += expand(graph, node, wide, notes)
    return replace(graph, nodes=tuple(nodes), outputs=tuple(dict.fromkeys(outputs))), notes
