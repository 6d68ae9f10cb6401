"""The calls of a network as C text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ..graph import Address
from ..layers.prototypes import C_TYPES, SCRATCH, STRUCTS, prototype
from .c_text import wrapped
from .memory import Call
from .symbols import Layer

#: Name of a buffer -> its C identifier.
Buffers = Mapping[str, str]


def pointer(type: str, address: Address, buffers: Buffers) -> str:
    """An address as a C pointer to this type."""
    return f"AT({type}, {buffers[address.buffer]}, {address.offset})"


def call_text(call: Call, layer: Layer, buffers: Buffers) -> str:
    """The call of one layer: arm_relu_q7(AT(q7_t, arena, 0), RELU1_SIZE)."""
    node, function = layer.node, layer.node.function
    values = {name: macro.name for name, macro in layer.params.items()}
    for array, address in zip(function.inputs, call.inputs):
        values[array.name] = pointer(C_TYPES[array.dtype], address, buffers)
    values[function.output.name] = pointer(C_TYPES[node.output.dtype], call.output, buffers)
    for declared, symbol in ((function.weights, layer.weights), (function.bias, layer.bias)):
        if declared is not None and symbol is not None:
            values[declared.name] = symbol
    arguments = []
    for argument in prototype(function).arguments:
        type = argument.type.replace("const ", "").rstrip(" *")
        if argument.name in STRUCTS:
            members = {m: values[scalar] for m, scalar in STRUCTS[argument.name].items()}
            arguments.append(_literal(type, members))
        elif argument.name in SCRATCH:
            arguments.append(_scratch(call, argument.name, type, buffers))
        else:
            arguments.append(values[argument.name])
    return wrapped(f"{function.name}(", arguments, ")")


def _scratch(call: Call, name: str, type: str, buffers: Buffers) -> str:
    """A scratch argument; no function uses its bufferB."""
    if call.scratch is None or name == "bufferB":
        return "NULL" if name != "ctx" else _literal(type, {"buf": "NULL", "size": "0"})
    if name != "ctx":
        return pointer(type, call.scratch, buffers)
    place = pointer("void", call.scratch, buffers)
    return _literal(type, {"buf": place, "size": str(call.scratch_bytes)})


def _literal(type: str, members: Mapping[str, str]) -> str:
    """The address of a struct with these members."""
    inside = ", ".join(f".{member} = {value}" for member, value in members.items())
    return f"&(const {type}){{{inside}}}"


def copy_text(call: Call, buffers: Buffers) -> Optional[str]:
    """The copy in front of a call that would overwrite what a later one reads."""
    if call.copy is None:
        return None
    target, source = (pointer("void", at, buffers) for at in (call.copy.target, call.copy.source))
    return f"memcpy({target}, {source}, {call.copy.nbytes});"
