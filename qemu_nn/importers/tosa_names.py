"""Names of a command stream's tensors by the TOSA file that vela compiled: nodes of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import ModelError
from ..ethosu.operations import list_operations
from ..ethosu.record import read_record
from ..ethosu.tensors import list_stores
from ..ir.graph import Graph, Node, NpuTensor, Tensor
from ..ir.tensors import make_free_name
from ..runtime.npu import list_traced
from ..runtime.npu_naming import Naming, assign_keys
from .tosa import TosaFile, read_tosa


def name_by_tosa(graph: Graph, nodes: Sequence[Node], tosa: Path, record_path: Path) -> Graph:
    """Return the network, one of whose streams names its tensors.

    nodes: the calls of streams that may be the recorded one. The last tensor of a node of the
    exported PyTorch program has the node's name; a tensor before it has the node's and its own.
    Raises ModelError if the record is of another stream.
    """
    file, record = read_tosa(tosa), read_record(record_path)
    streams = [stream for stream in record.streams if stream]
    for node in nodes:
        assert node.weights is not None
        assert node.bias is not None
        stores = list_stores(list_operations(graph.arrays[node.weights], graph.arrays[node.bias]))
        if len(streams) == 1 and {*streams[0]} <= {op.command for op in stores}:
            own = {each.operator for each in record.operations.values()}
            taken = {*graph.tensors, *list_traced(graph)}
            naming = Naming(_list_layers(file), record.operations, taken, _find_alone(file, own))
            found = naming.name(stores, assign_keys(stores, streams[0]))
            named = replace(node, tensors=_rename(graph, file, found))
            return replace(graph, nodes=tuple(named if e is node else e for e in graph.nodes))
    raise ModelError(
        f"{record_path.name} records the compilation of another network than {graph.name}: "
        "give the one of this network"
    )


def _list_layers(file: TosaFile) -> dict[int, Tensor]:
    """Return operator -> its output, if it has one and reads something."""
    return {
        at: file.tensors[each.outputs[0]]
        for at, each in enumerate(file.operators)
        if each.inputs and len(each.outputs) == 1 and each.outputs[0] in file.tensors
    }


def _find_alone(file: TosaFile, own: set[int]) -> set[int]:
    """Return operators, all of whose readers have operations of their own."""
    readers: dict[str, set[int]] = {}
    for at, operator in enumerate(file.operators):
        for name in operator.inputs:
            readers.setdefault(name, set()).add(at)
    return {
        at
        for at, operator in enumerate(file.operators)
        if len(operator.outputs) == 1 and readers.get(operator.outputs[0], set()) <= own
    }


def list_names(file: TosaFile) -> dict[str, str]:
    """Return tensor of the file -> its name in traces: the last one of a node has the node's."""
    last = {each.node: name for each in file.operators for name in each.outputs}
    names = {}
    for operator in file.operators:
        for name in operator.outputs:
            node = operator.node
            names[name] = name if not node else node if last[node] == name else f"{node}/{name}"
    return names


def _rename(graph: Graph, file: TosaFile, found: Sequence[NpuTensor]) -> tuple[NpuTensor, ...]:
    """Return tensors of a stream under their names in traces."""
    names, taken = list_names(file), {*graph.tensors, *list_traced(graph)}
    renamed = []
    for each in found:
        name = make_free_name(names.get(each.tensor.name, each.tensor.name), taken)
        taken.add(name)
        renamed.append(replace(each, tensor=replace(each.tensor, name=name)))
    return tuple(renamed)
