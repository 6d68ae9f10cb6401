"""What ExecuTorch's own Python says of each node, given what the device has in its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .libraries import library
from .program import Loaded


def reference(loaded: Loaded, inputs: Any, own: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The value of each node by the reference implementation of its operator.

    own: what the device computes of the same inputs, which the nodes behind it take.
    """
    torch = library("torch")
    found: dict[str, np.ndarray] = {}

    class Replay(torch.fx.Interpreter):  # type: ignore[name-defined]
        """Runs the graph, and goes on from each node with the device's value."""

        def run_node(self, node: Any) -> Any:
            made = super().run_node(node)
            if node.name not in own or not isinstance(made, torch.Tensor):
                return made
            found[node.name] = made.detach().numpy().copy()
            device = torch.from_numpy(np.ascontiguousarray(own[node.name]))
            if device.shape != made.shape or device.dtype != made.dtype:
                return made
            return torch.empty_like(made).copy_(device)

    program = loaded.program
    with torch.no_grad():
        Replay(program.graph_module).run(
            *_arguments(torch, program, _tensors(torch, loaded, inputs))
        )
    return found


def _arguments(torch: Any, program: Any, inputs: list[Any]) -> list[Any]:
    """What a graph takes: parameters and constants, and the inputs, in its order."""
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


def _tensors(torch: Any, loaded: Loaded, inputs: Any) -> list[Any]:
    """The inputs as tensors, which lie in memory as the device's do."""
    arrays, tensors = loaded.inputs(inputs), loaded.network.graph.inputs
    found = []
    for tensor in tensors:
        memory = torch.from_numpy(np.ascontiguousarray(arrays[tensor.name][0]))
        back = np.argsort(tensor.order).tolist()
        found.append(memory.permute(back) if back else memory)
    return found
