"""Networks of layers with 8-bit and layers with 16-bit activations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import (
    ArgMax,
    Concat,
    Conv,
    ConvTranspose,
    Curve,
    Dense,
    Elementwise,
    MatMul,
    Operator,
    Pool,
    Reduce,
    Resize,
)
from ..quantizer.affine_rules import Rescale, infer_types
from .prepare import remove_groups

_NARROW, _WIDE = "int8", "int16"

#: The ends of the names of tensors that change the type.
_ENDS = {_NARROW: "8bits", _WIDE: "16bits"}


def chooses_width(operator: Operator) -> bool:
    """True if the operator has a width of its own; all further operators have their
    input's width.
    """
    average = isinstance(operator, Pool) and operator.kind == "average"
    weighted = (Conv, ConvTranspose, Dense, MatMul, Elementwise, Concat)
    return average or isinstance(operator, weighted)


def _is_narrow(operator: Operator) -> bool:
    """True if only functions of 8-bit activations compute the operator."""
    least = isinstance(operator, Reduce) and operator.kind == "min"
    blended = isinstance(operator, Resize) and operator.kind == "bilinear"
    return least or blended or isinstance(operator, (Curve, ArgMax))


def mix_widths(graph: FloatGraph, wide: Collection[str]) -> tuple[FloatGraph, str]:
    """Return the network with rescaling between widths, and the type of its inputs.

    graph: prepared for 8-bit activations. wide: nodes with a choice that read and write 16 bits.
    """
    all_wide = all(_are_all_wide(graph, name, wide) for name in graph.starts)
    kind = dict.fromkeys(graph.starts, _WIDE if all_wide else _NARROW)
    made: dict[tuple[str, str], str] = {}
    nodes: list[FloatNode] = []
    given = infer_types(graph, _NARROW)
    for node in graph.nodes:
        own = kind[node.inputs[0]]
        if given[node.name] == _WIDE and not isinstance(node.operator, Rescale):
            own = _WIDE  # a part of a normalization, which has its own width
        elif chooses_width(node.operator):
            own = _WIDE if node.name in wide else _NARROW
        elif _is_narrow(node.operator):
            own = _NARROW
        to = node.operator.to if isinstance(node.operator, Rescale) else None
        kind[node.name] = to or own
        for name in node.inputs:
            if kind[name] != own and (name, own) not in made:
                made[name, own] = graph.make_unused_name(f"{name}/{_ENDS[own]}")
                nodes.append(FloatNode(made[name, own], Rescale(own), (name,)))
        inputs = tuple(made.get((name, own), name) for name in node.inputs)
        operator = node.operator
        if own == _WIDE and isinstance(operator, Conv) and not operator.depthwise:
            operator = remove_groups(node.name, operator, [])
        nodes.append(replace(node, operator=operator, inputs=inputs))
    return graph.with_nodes(nodes), kind[graph.input]


def _are_all_wide(graph: FloatGraph, name: str, wide: Collection[str]) -> bool:
    """True if all choosing nodes that read a tensor, directly or through further nodes,
    are wide.
    """
    first = _list_choosing(graph, name)
    return bool(first) and first <= {*wide}


def _list_choosing(graph: FloatGraph, name: str) -> set[str]:
    """Return the next nodes after a tensor that choose."""
    found: set[str] = set()
    for reader in graph.readers(name):
        found |= (
            {reader.name} if chooses_width(reader.operator) else _list_choosing(graph, reader.name)
        )
    return found


def find_neighbours(graph: FloatGraph) -> Mapping[str, set[str]]:
    """Return choosing node -> choosing nodes that share a tensor with it, directly or through
    further nodes.
    """
    sources = [*graph.starts, *(node.name for node in graph.nodes if chooses_width(node.operator))]
    near: dict[str, set[str]] = {name: set() for name in sources}
    for source in sources:
        together = {source, *_list_choosing(graph, source)}
        for name in together:
            near[name] |= together - {name, *graph.starts}
    return {name: near[name] for name in near if name not in graph.starts}
