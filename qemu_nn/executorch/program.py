"""A lowered program, and the network of its .pte file."""

from __future__ import annotations

import copy
import math
import operator
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np

from ..api.network import Network
from ..errors import Error
from ..importers.pte import load_with_results
from ..importers.pte.building import Value
from ..io.arguments import format_value
from ..runtime.inputs import arrange_by_name
from ..runtime.samples import convert_to_numbers
from ..targets import Target
from .libraries import import_library


@dataclass(frozen=True)
class Result:
    """Values of a device for a program; run() returns it.

    Attributes
    ----------
    outputs : tuple of ndarray
        What the program returns, in its logical shapes and types.
    nodes : mapping of str to ndarray
        The same of every node of the graph that becomes an instruction, by the node's name, in
        their order; of a node that makes several tensors the `getitem` nodes that take them.
    """

    outputs: tuple[np.ndarray, ...]
    nodes: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class LoadedProgram:
    """Network of a program's .pte file.

    values: node of the program -> the network's tensor of its value. operators: node -> its
    operator's name, without the library's. program: in torch.export's form.
    """

    network: Network
    values: Mapping[str, Value]
    operators: Mapping[str, str]
    program: Any = None

    def arrange_inputs(self, given: Any) -> dict[str, np.ndarray]:
        """Return the network's inputs by name: one sample, in memory order."""
        tensors = self.network.graph.inputs
        arrays = arrange_by_name(self.network.graph, _unwrap_single(given), convert_to_numbers)
        found = {}
        for tensor in tensors:
            array = arrays[tensor.name]
            if array.dtype != tensor.dtype or array.size != math.prod(tensor.shape):
                raise Error(
                    f"the input {tensor.name!r} is {array.dtype} {list(array.shape)}, but "
                    f"must be {tensor.dtype} {list(tensor.logical)}"
                )
            found[tensor.name] = tensor.to_memory(array.reshape(1, *tensor.logical))
        return found

    def run(self, inputs: Any, target: Union[str, Target]) -> Result:
        """Return a core's result for one sample."""
        x = self.arrange_inputs(inputs)
        made = {**x, **self.network.session(target=target).run(x, trace=True)}
        tensors, outputs = self.network.graph.tensors, []
        for name in self.network.graph.outputs:
            outputs.append(tensors[name].from_memory(made[name])[0])
        return Result(tuple(outputs), self.list_values(made))

    def list_values(self, made: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the value of each node, in its logical shape, from those of the network's
        tensors.
        """
        return {
            name: _to_logical(made[value.name][0], value) for name, value in self.values.items()
        }


def _to_logical(array: np.ndarray, value: Value) -> np.ndarray:
    shaped = array.reshape(value.shape)
    return shaped.transpose(np.argsort(value.order)) if value.order else shaped


def load_lowered(program: Any, name: str = "program") -> LoadedProgram:
    """Return a lowered program, written as its file and read again under a name."""
    program = _export_module(program)
    nodes, content = _map_instructions(program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.pte")
        path.write_bytes(content)
        graph, results = load_with_results(path)
    values, operators = {}, {}
    for at, node in nodes.items():
        for name, value in zip(list_names(node), results.get(at, ())):
            if value is not None:
                values[name] = value
                operators[name] = node.target._schema.name.partition("::")[2]
    return LoadedProgram(Network(graph), values, operators, program)


def _export_module(program: Any) -> Any:
    torch = import_library("torch")
    if not isinstance(program, torch.export.ExportedProgram) and hasattr(program, "to_executorch"):
        program = program.exported_program()
    if not isinstance(program, torch.export.ExportedProgram):
        raise Error(
            f"program is {format_value(program)}, but must be an EdgeProgramManager or an "
            "ExportedProgram after the cortex_m passes"
        )
    return program


def _unwrap_single(given: Any) -> Any:
    """Return the only input, if it is in a sequence, as ExecuTorch's inputs are."""
    return given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given


def _map_instructions(program: Any) -> tuple[dict[int, Any], bytes]:
    """Return number of each instruction -> its graph node, and the .pte file.

    Each node gets a handle of its own, which ExecuTorch carries to the instruction. Views stay
    instructions, so they have values as well.
    """
    exir = import_library("executorch.exir")
    edge = import_library("executorch.backends.cortex_m.edge_compile_config")
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    program = copy.deepcopy(program)  # because to_executorch() changes it
    copies = (node for node in program.graph.nodes if node.op == "call_function")
    for handle, node in enumerate(copies, 1):
        node.meta["debug_handle"] = handle
    manager = exir.EdgeProgramManager(program, compile_config=edge.cortex_m_edge_compile_config())
    made = manager.to_executorch(exir.ExecutorchBackendConfig(remove_view_copy=False))
    handles = made.debug_handle_map.get("forward", {})
    found = {at: nodes[one - 1] for at, one in handles.items() if isinstance(one, int)}
    return found, bytes(made.buffer)


def list_names(node: Any) -> list[str]:
    """Return the names of a node's values: its own, or those of the nodes that select
    each value.
    """
    parts = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
    if not parts:
        return [node.name]
    return [parts.get(at, f"{node.name}[{at}]") for at in range(max(parts) + 1)]
