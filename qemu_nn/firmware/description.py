"""The network of an export as network.json and weights.npz, which load() reads again."""

from __future__ import annotations

import json
from typing import Any, Optional

from ..io.archive import format_npy
from ..ir.formats import BITS
from ..ir.graph import Address, Graph
from ..ir.tensors import Tensor, make_free_name
from .golden import About
from .memory import Layout, MemoryCall

DESCRIPTION, WEIGHTS = "network.json", "weights.npz"


def describe(graph: Graph, layout: Layout, about: About) -> Optional[tuple[str, dict[str, bytes]]]:
    """Return the text of network.json and the entries of weights.npz.

    None for what network.json cannot say: loops, several inputs, copies before calls, and inputs
    other than integers of 8 to 32 bits.
    """
    copies = any(call.copy is not None for call in layout.calls)
    types = [graph.input, *graph.states]
    if graph.loops or copies or len(graph.inputs) > 1 or any(t.dtype not in BITS for t in types):
        return None
    if len({tensor.dtype for tensor in types}) > 1:
        return None
    buffers: dict[str, dict[str, Any]] = {n: {"bytes": size} for n, size in layout.buffers.items()}
    values: dict[str, Any] = {
        "format": 1,
        "name": graph.name,
        "exported_for": f"{about.core} ({about.profile})",
        "buffers": buffers,
    }
    if graph.states:
        values["recurrent"] = _describe_states(graph, layout, buffers)
    else:
        values["input"] = _describe_input(graph.input, layout.inputs[0])
    values["layers"] = [_describe_call(call) for call in layout.calls]
    values["outputs"] = list(graph.outputs)
    values["classes"] = list(graph.classes)
    names = {name for call in layout.calls for name in _list_arrays(call)}
    entries = {f"{name}.npy": format_npy(graph.arrays[name]) for name in sorted(names)}
    return json.dumps(values, indent=1) + "\n", entries


def _list_arrays(call: MemoryCall) -> list[str]:
    node = call.step.node
    return [name for name in (node.weights, node.bias) if name is not None]


def _describe_input(tensor: Tensor, address: Address) -> dict[str, Any]:
    described: dict[str, Any] = {"buffer": _describe_address(address), "shape": list(tensor.shape)}
    described["dtype"] = tensor.dtype
    if tensor.frac is not None:
        described["frac_bits"] = tensor.frac
    return described


def _describe_states(
    graph: Graph, layout: Layout, buffers: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the input and the states of a recurrent network; each is a part of its buffer."""
    places = [(graph.input, layout.inputs[0])]
    places += [(state, layout.states[state.name]) for state in graph.states]
    names = [make_free_name(tensor.name, layout.buffers) for tensor, _ in places]
    for name, (tensor, address) in zip(names, places):
        parts = buffers[address.buffer].setdefault("parts", {})
        parts[name] = [address.offset, tensor.nbytes]
    return {"dtype": graph.input.dtype, "input": names[0], "state": names[1:]}


def _describe_call(call: MemoryCall) -> dict[str, Any]:
    node = call.step.node
    described: dict[str, Any] = {"name": node.name, "function": node.function.name}
    described["params"] = dict(node.params)
    for key, name in (("weights", node.weights), ("bias", node.bias)):
        if name is not None:
            described[key] = name
    described["inputs"] = [_describe_address(address) for address in call.inputs]
    described["output"] = _describe_address(call.output)
    if call.scratch:
        described["scratch"] = _describe_address(next(iter(call.scratch.values())).address)
    described["output_shape"] = list(node.output.shape)
    return described


def _describe_address(address: Address) -> dict[str, Any]:
    return {"symbol": address.buffer, "offset": address.offset}
