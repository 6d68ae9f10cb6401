"""Several samples in one call, where that reads the weights once for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..ir.graph import Graph, Node
from ..ir.tensors import Tensor

#: C argument that counts vectors -> ops that compute them side by side.
_COUNTS = {
    "batches": ("fully_connected", "fully_connected_per_channel"),
    "num_rows": ("softmax",),
}


def together(graph: Graph, count: int) -> Optional[Graph]:
    """The graph whose one sample is `count` samples of this one, side by side.

    None where a call cannot take them so, or would read its weights once for each of them all the
    same: what gains are fully connected layers.
    """
    counted = [_counted(node) for node in graph.nodes]
    if graph.memory is not None or None in counted:
        return None
    nodes = [
        replace(
            node,
            params={**node.params, name: count * node.params[name]},
            output=_many(node.output, count),
        )
        for node, name in zip(graph.nodes, counted)
        if name is not None
    ]
    return replace(graph, input=_many(graph.input, count), nodes=tuple(nodes))


def _counted(node: Node) -> Optional[str]:
    found = (name for name, ops in _COUNTS.items() if node.function.op in ops)
    return next((name for name in found if name in node.params), None)


def _many(tensor: Tensor, count: int) -> Tensor:
    return replace(tensor, shape=(count, *tensor.shape))
