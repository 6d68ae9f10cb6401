"""Values of ExecuTorch's Python reference for each node, on the device's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .libraries import import_library
from .program import LoadedProgram, list_names


def reference(
    loaded: LoadedProgram, inputs: Any, own: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the value of each node by the reference implementation of its operator, if that runs.

    own: the device's result for the same inputs; the next nodes read it.
    """
    torch = import_library("torch")
    found: dict[str, np.ndarray] = {}

    class Replay(torch.fx.Interpreter):  # type: ignore[name-defined,misc]
        """Interpreter of the graph that continues from each node with the device's value."""

        def run_node(self, node: Any) -> Any:
            try:
                made = super().run_node(node)
            except Exception:  # some operators of PyTorch do not run on
                if not any(name in own for name in list_names(node)):
                    raise
                return _insert_device_values(torch, node, own)
            if node.name not in own or not isinstance(made, torch.Tensor):
                return made
            found[node.name] = made.detach().numpy().copy()
            return _copy_strides(torch, made, own[node.name])

    program = loaded.program
    with torch.no_grad():
        replay = Replay(program.graph_module)
        replay.run(*_collect_arguments(torch, program, _make_tensors(torch, loaded, inputs)))
    return found


def _copy_strides(torch: Any, made: Any, array: np.ndarray) -> Any:
    """Return the device's value in the memory layout of the reference's value."""
    device = torch.from_numpy(np.ascontiguousarray(array))
    if device.shape != made.shape or device.dtype != made.dtype:
        return made
    return torch.empty_strided(made.shape, made.stride(), dtype=made.dtype).copy_(device)


def _insert_device_values(torch: Any, node: Any, own: Mapping[str, np.ndarray]) -> Any:
    """Return the device's values of a node that has no reference."""
    made, names = node.meta["val"], list_names(node)
    if not isinstance(made, (list, tuple)):
        return _copy_strides(torch, made, own[node.name])
    return tuple(
        _copy_strides(torch, one, own[name]) if name in own else None
        for one, name in zip(made, names)
    )


def _collect_arguments(torch: Any, program: Any, inputs: list[Any]) -> list[Any]:
    """Return the arguments of a graph: parameters and constants, and the inputs, in its order."""
    user, kinds = iter(inputs), torch.export.graph_signature.InputKind
    arguments = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is kinds.USER_INPUT:
            arguments.append(next(user))
        elif spec.target in program.state_dict:
            arguments.append(program.state_dict[spec.target])
        else:
            arguments.append(program.constants[spec.target])
    return arguments


def _make_tensors(torch: Any, loaded: LoadedProgram, inputs: Any) -> list[Any]:
    """Return the inputs as tensors in the device's memory layout."""
    arrays, tensors = loaded.arrange_inputs(inputs), loaded.network.graph.inputs
    found = []
    for tensor in tensors:
        memory = torch.from_numpy(np.ascontiguousarray(arrays[tensor.name][0]))
        back = np.argsort(tensor.order).tolist()
        found.append(memory.permute(back) if back else memory)
    return found
