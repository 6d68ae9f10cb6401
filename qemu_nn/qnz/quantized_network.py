"""A quantized network as JSON: everything but its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple
from typing import Any

import numpy as np

from ..errors import Error, ModelError
from ..ethosu.tensors import Piece
from ..functions import NETWORK_FUNCTIONS
from ..io.typed_json import Fields
from ..ir.graph import (
    Address,
    Build,
    CallAddresses,
    Graph,
    Loop,
    Memory,
    Node,
    NpuTensor,
    Tensor,
)

#: Numbers of a piece of an NPU's tensor.
_PIECE = 4


def graph_to_dict(graph: Graph) -> dict[str, Any]:
    """Return everything of a graph except its arrays, in JSON's types."""
    inputs = [_from_tensor(tensor) for tensor in graph.inputs]
    return {
        "name": graph.name,
        **({"input": inputs[0]} if len(inputs) == 1 else {"inputs": inputs}),
        "states": [_from_tensor(tensor) for tensor in graph.states],
        "nodes": [_from_node(node) for node in graph.nodes],
        "outputs": list(graph.outputs),
        "classes": list(graph.classes),
        "arrays": sorted(graph.arrays),
        "memory": _from_memory(graph.memory) if graph.memory else None,
        **({"loops": [asdict(loop) for loop in graph.loops]} if graph.loops else {}),
    }


def _from_tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "frac": tensor.frac,
        **({} if tensor.scale is None else {"scale": tensor.scale, "zero": tensor.zero_point}),
        **({"order": list(tensor.order)} if tensor.order else {}),
    }


def _from_node(node: Node) -> dict[str, Any]:
    return {
        "function": node.function.name,
        "params": dict(node.params),
        "inputs": list(node.inputs),
        "output": _from_tensor(node.output),
        "weights": node.weights,
        "bias": node.bias,
        **({"effect": node.effect} if node.effect else {}),
        **({"builds": [_from_build(build) for build in node.builds]} if node.builds else {}),
        **({"tensors": [_from_npu_tensor(each) for each in node.tensors]} if node.tensors else {}),
    }


def _from_npu_tensor(each: NpuTensor) -> dict[str, Any]:
    pieces = [number for piece in each.pieces for number in astuple(piece)]
    return {"tensor": _from_tensor(each.tensor), "pieces": pieces}


def _from_build(build: Build) -> dict[str, Any]:
    if build.function is None:
        return {"difference": build.difference, "refused": build.refused}
    return {
        "difference": build.difference,
        "function": build.function.name,
        "params": dict(build.params),
        "weights": build.weights,
        "bias": build.bias,
        **({"effect": build.effect} if build.effect else {}),
        **({"states": [_from_tensor(state) for state in build.states]} if build.states else {}),
        **({"inputs": list(build.inputs)} if build.inputs else {}),
    }


def _from_memory(memory: Memory) -> dict[str, Any]:
    return {
        "buffers": dict(memory.buffers),
        "places": {name: _from_call(call) for name, call in memory.calls.items()},
        "input": _from_address(memory.input),
        "states": {name: _from_address(address) for name, address in memory.states.items()},
    }


def _from_call(call: CallAddresses) -> dict[str, Any]:
    return {
        "inputs": [_from_address(address) for address in call.inputs],
        "output": _from_address(call.output),
        "scratch": _from_address(call.scratch) if call.scratch else None,
    }


def _from_address(address: Address) -> dict[str, Any]:
    return {"buffer": address.buffer, "offset": address.offset}


# ---- and back ----


def graph_from_fields(fields: Fields, arrays: Mapping[str, np.ndarray]) -> Graph:
    """Return the graph of such a description and these arrays; raise ModelError for an
    invalid one.
    """
    parts: dict[str, Any] = {
        "name": fields.text("name"),
        "inputs": tuple(_to_tensor(tensor) for tensor in inputs_of(fields)),
        "nodes": tuple(_to_node(node) for node in fields.objects("nodes")),
        "outputs": tuple(fields.texts("outputs")),
        "memory": _to_memory(fields.object("memory")) if "memory" in fields else None,
        "states": tuple(_to_tensor(tensor) for tensor in fields.objects("states")),
        "classes": tuple(fields.texts("classes")),
        "loops": tuple(map(_to_loop, fields.objects("loops"))) if "loops" in fields else (),
    }
    try:
        return Graph(arrays=arrays, **parts)
    except ModelError as error:
        raise fields.error(str(error)) from None


def inputs_of(fields: Fields) -> list[Fields]:
    """Return the network's inputs; a file names a single one `input`."""
    return [fields.object("input")] if "input" in fields else fields.objects("inputs")


def _to_loop(fields: Fields) -> Loop:
    first, test, last = (fields.integer(name) for name in ("first", "test", "last"))
    return Loop(first, test, last, fields.text("condition"))


def _to_tensor(fields: Fields) -> Tensor:
    shape = tuple(fields.integers("shape"))
    return Tensor(
        fields.text("name"),
        shape,
        fields.text("dtype"),
        fields.integer("frac", None),
        fields.number("scale", None),
        fields.integer("zero", 0),
        tuple(fields.integers("order")) if "order" in fields else (),
    )


def _to_node(fields: Fields) -> Node:
    return Node(
        **_parse_called(fields),
        inputs=tuple(fields.texts("inputs")),
        output=_to_tensor(fields.object("output")),
        effect=_effect(fields),
        builds=tuple(map(_to_build, fields.objects("builds"))) if "builds" in fields else (),
        tensors=tuple(map(_to_npu_tensor, fields.objects("tensors")))
        if "tensors" in fields
        else (),
    )


def _to_npu_tensors(fields: Fields) -> tuple[NpuTensor, ...]:
    return tuple(map(_to_npu_tensor, fields.objects("tensors"))) if "tensors" in fields else ()


def _to_npu_tensor(fields: Fields) -> NpuTensor:
    numbers = fields.integers("pieces")
    if len(numbers) % _PIECE or min(numbers, default=-1) < 0 or max(numbers) >= 2**31:
        raise fields.error(f"'pieces' must have {_PIECE} numbers for each operation, from 0")
    pieces = (Piece(*numbers[at : at + _PIECE]) for at in range(0, len(numbers), _PIECE))
    return NpuTensor(_to_tensor(fields.object("tensor")), tuple(pieces))


def _to_build(fields: Fields) -> Build:
    difference = fields.text("difference")
    if "refused" in fields:
        return Build(difference, refused=fields.text("refused"))
    states = map(_to_tensor, fields.objects("states")) if "states" in fields else ()
    inputs = fields.texts("inputs") if "inputs" in fields else ()
    called, kept = _parse_called(fields), tuple(states)
    return Build(difference, **called, effect=_effect(fields), states=kept, inputs=tuple(inputs))


def _effect(fields: Fields) -> str:
    return fields.text("effect") if "effect" in fields else ""


def _parse_called(fields: Fields) -> dict[str, Any]:
    """Return function, parameters and arrays of a call."""
    function = NETWORK_FUNCTIONS.get(fields.text("function"))
    if function is None:
        raise fields.error(f"the function {fields.text('function')!r} is unknown; update qemu_nn")
    params = fields.object("params")
    given = {name: params.integer(name) for name in params.values}
    try:
        values = function.parse_params(given)
    except Error as error:
        raise params.error(str(error)) from None
    arrays = {name: fields.text(name, None) for name in ("weights", "bias")}
    return {"function": function, "params": values, **arrays}


def _to_memory(fields: Fields) -> Memory:
    buffers = fields.object("buffers")
    return Memory(
        buffers={name: buffers.integer(name) for name in buffers.values},
        calls={name: _to_call(call) for name, call in fields.object("places").children()},
        input=_to_address(fields.object("input")),
        states={name: _to_address(address) for name, address in fields.object("states").children()},
    )


def _to_call(fields: Fields) -> CallAddresses:
    return CallAddresses(
        inputs=tuple(_to_address(address) for address in fields.objects("inputs")),
        output=_to_address(fields.object("output")),
        scratch=_to_address(fields.object("scratch")) if "scratch" in fields else None,
    )


def _to_address(fields: Fields) -> Address:
    return Address(fields.text("buffer"), fields.integer("offset"))
