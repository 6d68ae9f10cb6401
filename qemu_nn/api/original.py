"""The original network next to a command stream: which operation computes which operator."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional

import numpy as np

from ..errors import DeviceWarning, Error, ModelError
from ..ethosu.operations import list_operations
from ..ethosu.record import RECORD, Record, find_record, read_record, read_summary
from ..ethosu.tensors import list_stores
from ..importers import read_model
from ..importers.tflite.parser import TfliteModel, TfliteOperator
from ..importers.tflite.parser import read as read_tflite
from ..importers.tflite.vela_faults import CompiledFile, find_fault
from ..importers.tosa_names import name_by_tosa
from ..ir.graph import Graph, NpuTensor, Tensor
from ..ir.original import CORE, MERGED, NPU, UNKNOWN, CompiledOperator, Original
from ..kernels.devices import profile_for
from ..runtime.compiled_run import trace_as_original
from ..runtime.npu import TAKE, list_programs, list_tensors, name_npu
from ..runtime.npu_naming import Naming, assign_keys
from ..runtime.session import Session, draw_inputs

#: Core whose kernels compute the original network where tensors are found by their bytes.
_CORE = "cortex-m55"

#: Samples that tell tensors apart by their bytes.
_SAMPLES = 2

#: Time steps of a sample, if the network has states.
_STEPS = 2


def keep_original(
    graph: Graph,
    path: Path,
    compiled: Optional[Path] = None,
    reasons: Mapping[str, tuple[str, str]] = {},
) -> tuple[Graph, Optional[Original]]:
    """Return a compiled network, whose streams name their tensors, and the original network.

    path: the original .tflite file, or the .tosa file, whose network is not read. compiled: vela's
    file, whose record is next to it. reasons: of operators on the core, from vela's text. Raises
    ModelError if the record is of another stream, Error if the original is another network.
    """
    if not list_programs(graph):
        raise Error(f"{graph.name} has no command stream of an Ethos-U: leave out the original")
    if path.suffix.lower() == ".tosa":
        return _name_by_tosa(graph, path, compiled), None
    found = read_model(path)
    if found.graph is None or list_programs(found.graph):
        raise Error(f"{path} must be the quantized .tflite file that the compiler read")
    _check_ends(graph, found.graph)
    model, npu = read_tflite(path), name_npu(graph, list_programs(graph)[0])
    record_path = None if compiled is None else find_record(compiled)
    if compiled is None or record_path is None:
        graph, used = _match_bytes(graph, found.graph)
        operators = _find_faults(model, npu, _describe_matched(graph, model, used))
        return _warn_of_faults(graph, operators), Original(found.graph, operators, "bytes")
    record = read_record(record_path)
    graph, counts = _name_by_record(graph, found.graph, model, record, record_path)
    operators = _find_faults(model, npu, _describe_recorded(model, record, counts, reasons))
    estimate = read_summary(record_path.parent, record_path.name[: -len(RECORD)]) or {}
    graph = _warn_of_faults(graph, operators)
    return graph, Original(found.graph, operators, "record", estimate)


def _name_by_tosa(graph: Graph, path: Path, compiled: Optional[Path]) -> Graph:
    record = None if compiled is None else find_record(compiled)
    if record is None:
        raise Error(
            f"{path.name} needs vela's record next to the compiled file, NAME{RECORD}: compile "
            "with --enable-debug-db --verbose-performance"
        )
    return name_by_tosa(graph, list_programs(graph), path, record)


def _find_faults(
    model: TfliteModel, npu: str, operators: Iterable[CompiledOperator]
) -> tuple[CompiledOperator, ...]:
    """Return the operators with the effects of wrong programs."""
    given = [*zip(model.operators, operators)]
    core = frozenset(operator.index for operator, made in given if made.place == CORE)
    file = CompiledFile(model, npu, core)
    return tuple(
        made if made.place == CORE else replace(made, effect=find_fault(file, operator) or "")
        for operator, made in given
    )


def _warn_of_faults(graph: Graph, operators: Sequence[CompiledOperator]) -> Graph:
    """Return the network that warns of wrong programs at its first stream."""
    first = list_programs(graph)[0]
    found = [
        f"{each.operator} (operator {number}): {each.effect}"
        for number, each in enumerate(operators)
        if each.effect
    ]
    effect = "; ".join([*([first.effect] if first.effect else []), *found])
    nodes = (replace(node, effect=effect) if node is first else node for node in graph.nodes)
    return replace(graph, nodes=tuple(nodes)) if found else graph


def _check_ends(graph: Graph, original: Graph) -> None:
    """Raise Error unless two networks have inputs and outputs of the same types and sizes."""
    ends = [
        [
            (each.dtype, math.prod(each.shape))
            for each in (*g.inputs, *(g.tensors[n] for n in g.outputs))
        ]
        for g in (graph, original)
    ]
    if ends[0] != ends[1]:
        raise Error(
            f"{graph.name} has inputs and outputs of other types or sizes than "
            f"{original.name}: give the file that it was compiled from"
        )


# ---- with the record of the compiler ----


def _name_by_record(
    graph: Graph, original: Graph, model: TfliteModel, record: Record, path: Path
) -> tuple[Graph, Counter[int]]:
    """Return the network whose streams name their tensors, and operator -> NPU operations."""
    streams = [stream for stream in record.streams if stream]
    counts: Counter[int] = Counter()
    layers, alone = _list_layers(original, model), _find_alone(model, record)
    parts = _find_parts(model)
    naming = Naming(layers, record.operations, set(graph.tensors), alone, parts)
    named = {}
    for node in list_programs(graph):
        assert node.weights is not None
        assert node.bias is not None
        stores = list_stores(list_operations(graph.arrays[node.weights], graph.arrays[node.bias]))
        commands = {op.command for op in stores}
        stream = next((each for each in streams if {*each} <= commands), None)
        if stream is None:
            raise ModelError(
                f"{path.name} records the compilation of another network than {graph.name}: "
                "give the one of this network"
            )
        streams.remove(stream)
        keys = assign_keys(stores, stream)
        counts.update(record.operations[key].operator for key in keys if key in record.operations)
        named[node.name] = replace(node, tensors=tuple(naming.name(stores, keys)))
    nodes = tuple(named.get(node.name, node) for node in graph.nodes)
    return replace(graph, nodes=nodes), counts


def _name_layer(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return the name that the reader of .tflite files gives the first output of an operator."""
    if not operator.outputs:
        return ""
    tensor = model.tensor(operator.outputs[0])
    return tensor.name or f"tensor{tensor.index}"


def _list_layers(original: Graph, model: TfliteModel) -> dict[int, Tensor]:
    """Return operator of the file -> its first output, if a call of the network has its name."""
    own = {node.name: node.output for node in original.nodes}
    found = {}
    for operator in model.operators:
        name = _name_layer(model, operator)
        if name in own:
            found[operator.index] = own[name]
    return found


def _find_parts(model: TfliteModel) -> dict[int, list[int]]:
    """Return CONCATENATION -> the operators that write its inputs."""
    writers = {index: each.index for each in model.operators for index in each.outputs}
    return {
        operator.index: [writers[index] for index in operator.inputs if index in writers]
        for operator in model.operators
        if operator.name == "CONCATENATION"
    }


def _find_alone(model: TfliteModel, record: Record) -> set[int]:
    """Return operators of one output, all of whose readers have operations of their own."""
    own = {each.operator for each in record.operations.values()}
    readers: dict[int, set[int]] = {}
    for operator in model.operators:
        for index in operator.inputs:
            readers.setdefault(index, set()).add(operator.index)
    return {
        operator.index
        for operator in model.operators
        if len(operator.outputs) == 1 and readers.get(operator.outputs[0], set()) <= own
    }


def _describe_recorded(
    model: TfliteModel,
    record: Record,
    counts: Mapping[int, int],
    reasons: Mapping[str, tuple[str, str]],
) -> Iterator[CompiledOperator]:
    """Yield what vela made of each operator."""
    cycles, seen = record.sum_cycles(), {each.operator for each in record.operations.values()}
    for operator in model.operators:
        layer = _name_layer(model, operator)
        number, reason = counts.get(operator.index, 0), reasons.get(layer, ("", ""))[1]
        stays = operator.index in seen or reason or not operator.outputs
        place = NPU if number else CORE if stays else MERGED
        estimate = cycles.get(operator.index) if number else None
        yield CompiledOperator(layer, operator.name, place, number, estimate, reason)


# ---- by the bytes that operations compute ----


def _match_bytes(graph: Graph, original: Graph) -> tuple[Graph, Counter[str]]:
    """Return the network whose streams name tensors with the bytes of layers of the original."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        profile = profile_for(graph.ops | original.ops, _CORE)
        x = draw_inputs(original, _SAMPLES, _STEPS)
        wanted = trace_as_original(Session(original, profile, trace=True), original, x)
        got = trace_as_original(Session(graph, profile, trace=True), original, x)
    counts: Counter[str] = Counter()
    named = {}
    left = [(node.output, wanted[node.name]) for node in original.nodes if node.name in wanted]
    for name, tensors in list_tensors(graph).items():
        own = []
        for each in tensors:
            at = _find_equal(got.get(each.tensor.name), left)
            if at is None:
                own.append(each)
                continue
            counts[left[at][0].name] += len(each.pieces)
            own.append(NpuTensor(left[at][0], each.pieces))
            left = left[at + 1 :]
        named[name] = tuple(own)
    nodes = tuple(
        replace(node, tensors=named[node.name]) if node.name in named else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes), counts


def _find_equal(
    values: Optional[np.ndarray], left: Sequence[tuple[Tensor, np.ndarray]]
) -> Optional[int]:
    """Return the first layer with these bytes; constant bytes tell nothing."""
    if values is None or values.size < 2 * _SAMPLES or (values == values.flat[0]).all():
        return None
    for at, (_, wanted) in enumerate(left):
        if wanted.nbytes == values.nbytes and wanted.tobytes() == values.tobytes():
            return at
    return None


def _describe_matched(
    graph: Graph, model: TfliteModel, counts: Mapping[str, int]
) -> Iterator[CompiledOperator]:
    """Yield the operators of the original; one without equal bytes may be anywhere."""
    calls = {node.name: node.function.name for node in graph.nodes}
    for operator in model.operators:
        layer = _name_layer(model, operator)
        taken = calls.get(layer, "").startswith(TAKE)
        place = NPU if layer in counts or taken else CORE if layer in calls else UNKNOWN
        yield CompiledOperator(layer, operator.name, place, counts.get(layer, 0))
