"""Programs of an Ethos-U in a network: the NPUs that they are compiled for, and their traces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from ..errors import Error
from ..ethosu.container import name_configuration
from ..ethosu.operations import list_operations
from ..ethosu.program import add_traces
from ..ethosu.tensors import Piece, find_tensors
from ..functions import NETWORK_FUNCTIONS
from ..functions.shapes import DTYPES
from ..ir.graph import Graph, Node, NpuTensor, Tensor
from ..ir.tensors import make_free_name
from ..targets import Target

#: Function of a call that runs a command stream.
PROGRAM = "ethosu_program"


def list_programs(graph: Graph) -> list[Node]:
    """Return the calls that run command streams."""
    return [node for node in graph.nodes if node.function.name == PROGRAM]


def name_npu(graph: Graph, node: Node) -> str:
    """Return the NPU that the stream of a call is compiled for."""
    assert node.weights is not None
    words = np.ascontiguousarray(graph.arrays[node.weights]).view(np.uint8)[:4].view("<u4")
    return name_configuration(int(words[0]))


def check_npu(graph: Graph, target: Target) -> None:
    """Raise Error if the target's NPU cannot run the network's command streams."""
    compiled = sorted({name_npu(graph, node) for node in list_programs(graph)})
    npus = target.npus
    if npus is None:
        return
    for name in compiled:
        if name not in npus:
            if not npus:
                raise Error(
                    f"{graph.name} is compiled for {name}, and {target.device} has no Ethos-U; "
                    f"give the target {name}, or a chip or a core next to it"
                )
            has = "" if target.device in npus else f", which has {' and '.join(npus)}"
            raise Error(
                f"{graph.name} is compiled for {name}, but the target is {target.device}{has}; "
                f"compile it for {npus[0]} with vela, or give the target {name}"
            )
    if not compiled and len(npus) == 1:
        raise Error(
            f"{graph.name} has no command stream of an Ethos-U, which {target.device} needs; "
            "compile it with vela, or give the core, such as cortex-m55"
        )


# ---- traces ----

#: Calls on bytes around a command stream, whose outputs are no tensors of the network.
_APPEND = "ethosu_append_"

#: Start of the name of a call that takes a tensor from bytes.
TAKE = "ethosu_take_"

#: Type of elements -> the end of the name of a call that takes them from bytes.
_SUFFIXES = {dtype: suffix for suffix, dtype in DTYPES.items()}


def moves_bytes(node: Node) -> bool:
    """True if a call computes the bytes that a command stream reads or writes."""
    return node.function.name == PROGRAM or node.function.name.startswith(_APPEND)


def list_tensors(graph: Graph) -> dict[str, tuple[NpuTensor, ...]]:
    """Return the tensors that the operations of each command stream write.

    Without the compiled network they are named by number and operation: "npu_003_CONV".
    """
    numbers, found = count(), {}
    taken = {*graph.tensors, *list_traced(graph)}
    for node in list_programs(graph):
        found[node.name] = node.tensors or tuple(_name_tensors(graph, node, numbers, taken))
    return found


def list_traced(graph: Graph) -> list[str]:
    """Return the names of tensors that streams have from a compiler's record."""
    return [each.tensor.name for node in list_programs(graph) for each in node.tensors]


def _name_tensors(
    graph: Graph, node: Node, numbers: Iterator[int], taken: set[str]
) -> Iterator[NpuTensor]:
    """Yield the tensors of a stream under names of operations."""
    assert node.weights is not None
    assert node.bias is not None
    for found in find_tensors(list_operations(graph.arrays[node.weights], graph.arrays[node.bias])):
        first = found.operations[0]
        name = make_free_name(f"npu_{next(numbers):03}_{first.name}", taken)
        taken.add(name)
        yield NpuTensor(Tensor(name, found.sides, first.dtype), found.pieces)


def trace_programs(graph: Graph) -> Graph:
    """Return the network with a call for each tensor that operations of an NPU write.

    A tensor under the name of a layer is left out: the layer has it already.
    """
    found = list_tensors(graph)
    if not found:
        return graph
    known, nodes, arrays = set(graph.tensors), [], dict(graph.arrays)
    sizes: dict[str, int] = {}
    for node in graph.nodes:
        if node.name in found:
            tensors = [each for each in found[node.name] if each.tensor.name not in known]
            traced = _trace_program(arrays, node, tensors)
            sizes[node.name] = traced.params["out_bytes"]
            nodes += [traced, *_take_tensors(traced, node.params["out_bytes"], tensors)]
        elif node.inputs and node.inputs[0] in sizes:
            params = {**node.params, "others": sizes[node.inputs[0]]}
            nodes.append(replace(node, params=params))
        else:
            nodes.append(node)
    return replace(graph, nodes=tuple(nodes), arrays=arrays)


def _trace_program(arrays: dict[str, np.ndarray], node: Node, tensors: list[NpuTensor]) -> Node:
    """Return a call that also traces tensors, after its outputs; replace its commands."""
    pieces: list[Piece] = []
    start = 0
    for each in tensors:
        pieces += [replace(piece, offset=start + piece.offset) for piece in each.pieces]
        start += each.tensor.nbytes
    assert node.weights is not None
    commands = arrays[node.weights] = add_traces(arrays[node.weights], pieces)
    out_bytes = node.params["out_bytes"] + start
    params = {**node.params, "out_bytes": out_bytes, "command_bytes": commands.nbytes}
    return replace(node, params=params, output=replace(node.output, shape=(out_bytes,)))


def _take_tensors(node: Node, offset: int, tensors: list[NpuTensor]) -> Iterator[Node]:
    """Yield the calls that take tensors from the trace, which begins at an offset."""
    for each in tensors:
        tensor = each.tensor
        function = NETWORK_FUNCTIONS[f"{TAKE}{_SUFFIXES[tensor.dtype]}"]
        params = {"length": math.prod(tensor.shape), "others": node.params["out_bytes"]}
        params = function.parse_params({**params, "offset": offset})
        yield Node(function, params, (node.name,), tensor)
        offset += tensor.nbytes
