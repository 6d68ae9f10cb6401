"""Exports networks with command streams of an Ethos-U, for firmware with the driver of the NPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error
from ..firmware import ethosu, project
from ..firmware.golden import GoldenSet, name_stems
from ..firmware.project import Firmware
from ..firmware.tflm import Watched
from ..importers.ethosu import read_program
from ..importers.tflite.ethosu import CONTROL, read_offsets
from ..importers.tflite.parser import TfliteModel, TfliteTensor
from ..importers.tflite.parser import read as read_tflite
from ..importers.tflite.tflm_memory import tail_bytes
from ..ir.graph import Graph
from ..runtime.inputs import arrange_by_name
from ..runtime.npu import list_programs, name_npu
from ..runtime.session import Session, draw_inputs
from ..targets import Target
from .data import Dataset, coded
from .golden import about, write_goldens
from .network import Network

#: Random inputs of the self-test where the caller has no data, and their time steps.
_SAMPLES, _STEPS = 2, 3

#: Bytes of the arrays of addresses that the kernel of `ethos-u` asks the arena for.
_ADDRESSES = 256


def export_program(
    path: Path, network: Network, folder: Path, target: Target, data: Any, name: str, force: bool
) -> Firmware:
    """Write the project of a .tflite file, of a raw .npz file or of ExecuTorch's payload."""
    suffix = path.suffix.lower()
    if suffix in (".qnz", ".pte"):
        raise Error(
            f"{path.name} has programs of an Ethos-U inside of another format; give the .tflite "
            "file or the raw .npz file that vela wrote, or the payload of a delegate"
        )
    if suffix == ".tflite":
        return _export_file(read_tflite(path), path, network, folder, target, data, name, force)
    return _export_stream(path, network, folder, target, data, name, force)


def _start(
    network: Network, target: Target, data: Any
) -> tuple[Session, dict[str, np.ndarray], int]:
    """Return a traced session, the inputs of the self-test, and their time steps."""
    session = Session(network.graph, network.profile(target), trace=True, host=network.host)
    data, graph = Dataset.of(data), session.graph
    count = data.draw_count(_SAMPLES)
    drawn = draw_inputs(graph, count, _STEPS if graph.states else 1) if count else None
    x = arrange_by_name(graph, coded(session.host, data) if drawn is None else drawn)
    return session, x, x[graph.input.name].shape[1] if graph.states else 1


def _common(
    session: Session, target: Target, goldens: GoldenSet, steps: int, name: str, fast: int
) -> ethosu.NpuCommon:
    graph = session.graph
    npu = name_npu(graph, list_programs(graph)[0])
    return ethosu.NpuCommon(session.plan, about(session, target), goldens, steps, name, npu, fast)


def _list_ends(graph: Graph) -> set[str]:
    return {*(tensor.name for tensor in graph.inputs), *graph.outputs}


def _export_file(
    model: TfliteModel,
    path: Path,
    network: Network,
    folder: Path,
    target: Target,
    data: Any,
    name: str,
    force: bool,
) -> Firmware:
    _check_ends(model, network.graph)
    session, x, steps = _start(network, target, data)
    watched = list(list_results(model, session.graph))
    wanted = _list_ends(session.graph) | {each.layer for each in watched}
    graphs = [model, *(model.subgraph(number) for number in range(1, model.graphs))]
    operators = [each.name for own in graphs for each in own.operators]
    with project.replace_earlier(folder, force) as fresh:
        said = about(session, target)
        goldens = write_goldens(session, said, x, fresh / project.GOLDENS, layers=wanted)
        content = ethosu.File(
            path.read_bytes(),
            operators,
            operators.count("VAR_HANDLE"),
            _count_head(model, session),
            tail_bytes(model, helium=True),
            [each for each in watched if goldens.stems[each.layer] == each.stem],
            list(_list_filled(model)),
        )
        fast = _count_fast(model)
        return ethosu.write_file(
            fresh, _common(session, target, goldens, steps, name, fast), content
        )


def _check_ends(model: TfliteModel, graph: Graph) -> None:
    """Raise Error if the network omits a QUANTIZE or DEQUANTIZE at the file's ends."""
    tensors = [model.tensor(index) for index in (*model.inputs, *model.outputs)]
    made = [*graph.inputs, *(graph.tensors[name] for name in graph.outputs)]
    for tensor, own in zip(tensors, made):
        if tensor.dtype != own.dtype:
            raise Error(
                f"{model.name}: {tensor} is {tensor.dtype}, and the goldens have {own.dtype}; give "
                f"vela a file whose inputs and outputs are integers"
            )


def _nbytes(tensor: TfliteTensor) -> int:
    """Return bytes of a tensor; the handle of a variable is a number of 32 bits."""
    dtype = "int32" if tensor.type == "RESOURCE" else tensor.dtype
    return int(np.prod(tensor.shape, dtype=np.int64)) * np.dtype(dtype).itemsize


def list_results(model: TfliteModel, graph: Graph) -> Iterator[Watched]:
    """Yield the outputs of operators that the network has as well, in the order of the file."""
    made = {node.output.name: node.output for node in graph.nodes}
    numbered = enumerate(graph.nodes)
    inner = {node.name for at, node in numbered for loop in graph.loops if loop.holds(at)}
    names = name_stems(graph, made)
    shared = Counter(model.tensor(index).name for index in range(model.tensors))
    for number, operator in enumerate(model.operators):
        for place, index in enumerate(operator.outputs):
            tensor = model.tensor(index)
            own = made.get(tensor.name)
            if own is None or shared[tensor.name] > 1 or own.name in inner:
                continue
            if own.nbytes == _nbytes(tensor):
                yield Watched(number, place, own.name, names[own.name], own.nbytes)


def _list_filled(model: TfliteModel) -> Iterator[ethosu.Filled]:
    """Yield the inputs of command streams that nothing sets: states in the arena."""
    made = {index for operator in model.operators for index in operator.outputs}
    offsets, found = read_offsets(model), set()
    for operator in model.operators:
        for index in operator.inputs[CONTROL:] if operator.name == "ethos-u" else ():
            tensor = model.tensor(index)
            known = index in made or index in model.inputs or tensor.data is not None
            if not (known or tensor.variable or index in found) and offsets is not None:
                found.add(index)
                zero = int(tensor.zeros[0]) if tensor.zeros.size else 0
                yield ethosu.Filled(int(offsets[index]), _nbytes(tensor), zero & 0xFF)


def _count_fast(model: TfliteModel) -> int:
    """Return bytes of the fast memory that the driver needs; 0 if it is the arena."""
    streams = [each for each in model.operators if each.name == "ethos-u"]
    own = {each.inputs[3] for each in streams} - {each.inputs[2] for each in streams}
    return max((_nbytes(model.tensor(index)) for index in own), default=0)


def _count_head(model: TfliteModel, session: Session) -> int:
    """Return bytes of the arena before the interpreter's structures."""
    offsets = read_offsets(model)
    tensors = [model.tensor(index) for index in range(model.tensors)]
    sizes = [0 if each.data is not None else -(-_nbytes(each) // 16) * 16 for each in tensors]
    places = [-1] * len(sizes) if offsets is None else offsets.tolist()
    fixed = [size + at for size, at in zip(sizes, places) if at >= 0]
    others = [size for size, at in zip(sizes, places) if at < 0]
    path = session.profile.path
    scratch = [
        sum(node.function.scratch_buffers(node.params, path).values())
        for node in session.graph.nodes
        if node.function.name != "ethosu_program"
    ]
    streams = sum(each.name == "ethos-u" for each in model.operators)
    return max(fixed, default=0) + sum(others) + sum(scratch) + _ADDRESSES * streams


def _export_stream(
    path: Path, network: Network, folder: Path, target: Target, data: Any, name: str, force: bool
) -> Firmware:
    payload = read_program(path)
    ends = (*payload.inputs, *payload.outputs)
    if any(end.place.region != 1 for end in ends):
        raise Error(
            f"{path.name} has inputs or outputs outside of its arena, region 1; compile the "
            "network again with vela's defaults"
        )
    session, x, steps = _start(network, target, data)
    with project.replace_earlier(folder, force) as fresh:
        said = about(session, target)
        layers = _list_ends(session.graph)
        goldens = write_goldens(session, said, x, fresh / project.GOLDENS, layers=layers)
        arena, fast = payload.program.regions[:2]
        common = _common(session, target, goldens, steps, name, fast)
        offsets = [[end.place.offset for end in e] for e in (payload.inputs, payload.outputs)]
        constants = payload.program.constants.tobytes()
        content = ethosu.Stream(payload.commands, constants, arena, *offsets)
        return ethosu.write_stream(fresh, common, content)
