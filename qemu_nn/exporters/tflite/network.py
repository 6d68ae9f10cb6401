"""Conversion of a network to the graphs of a .tflite file, call by call."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...errors import ModelError
from ...ir.graph import Graph, Node
from .building import TfliteGraphBuilder, TfliteSite, add_batch_axis
from .dense import DENSE
from .elementwise import ELEMENTWISE, convert_activated, convert_pair
from .float32 import REAL, convert_arithmetic
from .joining import join_concatenations
from .moving import MOVING
from .recurrent import RECURRENT, build_first_run
from .rewriting import rewrite
from .schema import FileGraph
from .windows import WINDOWS, CallConverter

#: Function -> the converter of its calls.
CONVERTERS: dict[str, CallConverter] = {
    **REAL,
    **WINDOWS,
    **DENSE,
    **ELEMENTWISE,
    **MOVING,
    **RECURRENT,
}

#: Functions with operators that broadcast a smaller operand.
_REPEATING = {
    name
    for name, maker in CONVERTERS.items()
    if isinstance(maker, partial)
    and maker.func in (convert_pair, convert_activated, convert_arithmetic)
}


def convert(graph: Graph) -> tuple[Graph, list[FileGraph]]:
    """Return the network with the calls that a reader finds in the file, and the file's graphs."""
    _check(graph)
    graph = rewrite(graph)
    file = TfliteGraphBuilder(graph, _find_copies(graph))
    joins, inside = join_concatenations(graph)
    inputs = [
        file.add_network_tensor(tensor, add_batch_axis(tensor.shape)) for tensor in graph.inputs
    ]
    for node in graph.nodes:
        if node.name in file.copies or node.name in inside:
            continue
        site = TfliteSite(replace(node, inputs=joins.get(node.name, node.inputs)), file)
        if node.function.name not in CONVERTERS:
            raise site.make_error(
                "no operator of .tflite files computes it; save the network as .qnz"
            )
        try:
            CONVERTERS[node.function.name](site)
        except ModelError as problem:
            raise site.make_error(problem) from None
    outputs = [file.view(name, add_batch_axis(file.known[name].shape)) for name in graph.outputs]
    if not file.handles:
        return graph, [file.finish(inputs, outputs)]
    file.add_operator("CALL_ONCE", (), (), "CallOnceOptions", InitSubgraphIndex=1)
    file.operators.insert(0, file.operators.pop())
    return graph, [file.finish(inputs, outputs), build_first_run(file)]


def _find_copies(graph: Graph) -> dict[str, Node]:
    """Return the broadcasts that only operators with a broadcast of their own read, by name."""
    readers: dict[str, set[str]] = {node.name: set() for node in graph.nodes}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, set()).add(node.function.name)
    return {
        node.name: node
        for node in graph.nodes
        if node.function.op == "broadcast"
        and node.name not in graph.outputs
        and readers[node.name] <= _REPEATING
    }


def _check(graph: Graph) -> None:
    """Raise ModelError for a network that no .tflite file can describe."""
    if graph.memory is not None:
        raise ModelError(
            f"{graph.name} describes the memory of its firmware; .tflite files do not contain "
            "that: save the network as .qnz"
        )
    if any(tensor.frac is not None for tensor in graph.tensors.values()):
        raise ModelError(
            f"{graph.name} has power-of-two formats; .tflite files require scales: quantize the "
            "network with scheme='affine', or save it as .qnz"
        )
    if graph.loops:
        raise ModelError(
            f"{graph.name} has loops; this version does not write loops to .tflite files: save the "
            "network as .qnz"
        )
