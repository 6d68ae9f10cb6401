"""Context of the C templates, from the network, its memory and its names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ..functions.c_signature import Elements, Member
from ..functions.prototypes import (
    C_TYPES,
    CONTEXTS,
    SCRATCH,
    VECTOR_SUM,
    Argument,
    get_c_types,
    list_sums,
    make_prototype,
)
from ..functions.shapes import Extent
from ..ir.graph import Address, Graph
from ..ir.loops import list_program
from ..targets import is_affine
from .c_text import (
    format_comment,
    format_definition,
    format_dimensions,
    format_extent,
    list_includes,
    sanitize_comment,
    wrap_lines,
)
from .golden import About
from .memory import Layout, MemoryCall
from .symbols import Constant, LayerSymbols, Symbols, describe_tensor, reserve_array

#: Name of a buffer -> its C identifier.
Buffers = Mapping[str, str]

#: Columns before a call with structs, and before one without.
_INNER, _OUTER = 8, 4


def make_context(
    graph: Graph, layout: Layout, symbols: Symbols, about: About, name: str
) -> dict[str, Any]:
    """Return everything that network.c and .h, parameter.h, weights.h and main.c are made of.

    name: the network's in C, with which all public names begin.
    """
    taken, cmsis = set(symbols.arrays), about.profile.cmsis
    buffers = {name: reserve_array(name, "memory", taken) for name in layout.buffers}
    tensors = _list_tensors(graph, layout, symbols, buffers)
    inputs = _list_arguments("input", tuple(tensor.name for tensor in graph.inputs), tensors)
    outputs = _list_arguments("output", graph.outputs, tensors)
    states = _list_arguments("state", tuple(state.name for state in graph.states), tensors)
    layers = [
        {
            **tensors[layer.node.name],
            **_call(call, layer, buffers, cmsis),
            "output": outputs.get(layer.node.name, {}).get("argument"),
            "depth": sum(loop.holds(at) for loop in graph.loops),
        }
        for at, (call, layer) in enumerate(zip(layout.calls, symbols.layers))
    ]
    stays = {
        call.step.node.name: not graph.loops and layout.stays(at)
        for at, call in enumerate(layout.calls)
    }
    read = [f"const {tensor['type']} *{tensor['argument']}" for tensor in inputs.values()]
    written = [f"{tensor['type']} *{tensor['argument']}" for tensor in outputs.values()]
    started = [f"const {tensor['type']} *{tensor['argument']}" for tensor in states.values()]
    instance = f"{name}_context *context"
    return {
        "name": name,
        "NAME": name.upper(),
        "alignment": "int64_t" if is_affine(cmsis) or _has_structs(graph) else "int32_t",
        "title": format_comment(
            f"{sanitize_comment(graph.name)} for {sanitize_comment(about.core)} ({about.profile}), "
            f"made by qemu_nn {about.version}."
        ),
        "recurrent": bool(graph.states),
        "model": f"0x{about.model[:8]}",
        "run": wrap_lines(f"int {name}_run(", [*read, *written], ")", 0),
        "run_in": wrap_lines(f"int {name}_run_in(", [instance, *read, *written], ")", 0),
        "start": wrap_lines(f"void {name}_start(", started, ")", 0),
        "start_in": wrap_lines(f"void {name}_start_in(", [instance, *started], ")", 0),
        "ram": sum(layout.buffers.values()),
        "flash": sum(constant.values.nbytes for constant in symbols.arrays.values()),
        "buffers": [
            {"name": buffers[buffer], "size": size, "kept": buffer in layout.kept}
            for buffer, size in layout.buffers.items()
        ],
        "headers": sorted({make_prototype(node.function, cmsis).header for node in graph.nodes}),
        "inputs": [{**each, "macros": symbols.inputs[name]} for name, each in inputs.items()],
        "states": [{**each, "reset": symbols.resets.get(name)} for name, each in states.items()],
        "includes": list_includes(*(constant.values for constant in symbols.arrays.values())),
        "outputs": [{**each, "stays": stays[name]} for name, each in outputs.items()],
        "events": _list_events(graph, tensors),
        "layers": layers,
        "tensors": _list_lives(graph, tensors),
        "arrays": [_array(symbol, array) for symbol, array in symbols.arrays.items()],
    }


def _has_structs(graph: Graph) -> bool:
    """True if the network has functions of the s8 and s16 API with structs."""
    orders = (node.function.order for node in graph.nodes)
    return any(order is not None and order.structs for order in orders)


def _list_tensors(
    graph: Graph, layout: Layout, symbols: Symbols, buffers: Buffers
) -> dict[str, dict[str, Any]]:
    """Return inputs, states and results: names, descriptions, C type, size, and address."""
    addresses = list(zip(graph.inputs, layout.inputs))
    addresses += [(state, layout.states[state.name]) for state in graph.states]
    addresses += [(call.step.node.output, call.output) for call in layout.calls]
    return {
        tensor.name: {
            "stem": symbols.stems[tensor.name],
            "words": f"{sanitize_comment(tensor.name)}: {describe_tensor(tensor)}",
            "type": C_TYPES[tensor.dtype],
            "pointer": format_pointer(C_TYPES[tensor.dtype], at, buffers),
            "buffer": buffers[at.buffer],
            "size": tensor.nbytes,
            "count": math.prod(tensor.shape),
        }
        for tensor, at in addresses
    }


def _list_lives(graph: Graph, tensors: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return inputs and results in the order of the program, with their last readers.

    last: the index in this list; 0 if none is known, as in a loop and in the firmware's own memory.
    """
    names = [tensor.name for tensor in graph.inputs]
    names += [node.name for node in graph.nodes]
    last = dict.fromkeys(names, 0)
    for at, node in enumerate(graph.nodes if not graph.loops else (), len(graph.inputs)):
        last.update((name, at) for name in node.inputs if name in last)
    return [{**tensors[name], "last": last[name]} for name in names]


def _list_events(graph: Graph, tensors: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the indices of calls, the lines of loops around them, and their depth."""
    events: list[dict[str, Any]] = []
    depth = 0
    for kind, index in list_program(len(graph.nodes), graph.loops):
        if kind == "call":
            events.append({"call": index})
            continue
        condition = tensors[graph.loops[index].condition]
        begin = ("", f"for (;;) {{ /* while {condition['stem']} is true */")
        test = ("", f"if (*{condition['pointer']} == 0) {{", "    break;", "}")
        lines = {"begin": begin, "test": test, "end": ("}",)}[kind]
        depth -= kind == "end"
        events.append({"call": None, "lines": lines, "depth": depth})
        depth += kind == "begin"
    return events


def _list_arguments(
    what: str, names: tuple[str, ...], tensors: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return tensors that are C arguments: `output`, or `output_<stem>` if there are several."""
    return {
        name: {
            **tensors[name],
            "argument": what if len(names) == 1 else f"{what}_{tensors[name]['stem']}",
        }
        for name in names
    }


def _call(call: MemoryCall, layer: LayerSymbols, buffers: Buffers, cmsis: str) -> dict[str, Any]:
    text = call_text(call, layer, buffers, cmsis)
    return {
        "comment": format_comment(layer.words),
        "inner_comment": format_comment(layer.words, 4),
        "before": [line for line in (copy_text(call, buffers), text.before) if line],
        "structs": text.structs,
        "call": text.call,
        "answers": text.answers,
        "macros": layer.macros,
    }


def _array(symbol: str, constant: Constant) -> dict[str, str]:
    name = ": ".join(filter(None, constant.key))
    words = f"{sanitize_comment(name)}: {format_dimensions(constant.values.shape)}"
    text = format_definition(symbol, constant.values, C_TYPES)
    declaration = text.partition(" = ")[0]
    comment = format_comment(words)
    part = constant.part
    return {"comment": comment, "definition": text, "declaration": declaration, "part": part}


# ---- the calls ----


@dataclass(frozen=True)
class CallText:
    """A call in C.

    before: a call that must precede it. structs: definitions before it. answers: true if it returns
    a status.
    """

    before: Optional[str]
    structs: tuple[str, ...]
    call: str
    answers: bool


def format_pointer(type: str, address: Address, buffers: Buffers) -> str:
    """Return an address as a C pointer to this type."""
    return f"AT({type}, {buffers[address.buffer]}, {address.offset})"


def call_text(call: MemoryCall, layer: LayerSymbols, buffers: Buffers, cmsis: str) -> CallText:
    """Return the call of one layer: arm_relu_q7(AT(q7_t, arena, 0), RELU1_SIZE), in this release's
    types.

    A struct argument is defined before it, under the argument's own name.
    """
    function, types = layer.node.function, get_c_types(cmsis)
    values = {"NULL": "NULL", **{name: macro.name for name, macro in layer.params.items()}}
    values.update(layer.arrays)
    values.update(dict.fromkeys((array.name for array in function.inputs), "NULL"))
    for name, block in call.scratch.items():
        values[name] = format_pointer("void", block.address, buffers)
    for array, address in zip(function.list_read_inputs(layer.node.params), call.inputs):
        values[array.name] = format_pointer(types[array.dtype], address, buffers)
    values[function.output.name] = format_pointer(
        types[function.output.dtype], call.output, buffers
    )
    declared = make_prototype(function, cmsis)
    structs, arguments = [], []
    for argument in declared.arguments:
        members = _list_members(argument, call, values, buffers)
        if members == {}:
            arguments.append("NULL")
        elif members is not None:
            structs.append(_definition(argument, members))
            arguments.append(f"&{argument.name}")
        elif argument.name in SCRATCH:
            arguments.append(_format_scratch(call, argument, buffers))
        elif argument.name in declared.derived:
            arguments.append(format_extent(declared.derived[argument.name], values))
        else:
            arguments.append(values[argument.name])
    indent = _INNER + 4 if structs and declared.answers else _INNER if structs else _OUTER
    text = wrap_lines(f"{declared.name}(", arguments, ")", indent)
    return CallText(
        _make_sums_call(call, list_sums(declared, cmsis), values, buffers),
        tuple(structs),
        text,
        declared.answers,
    )


def _make_sums_call(
    call: MemoryCall, sums: tuple[Extent, ...], values: Mapping[str, str], buffers: Buffers
) -> Optional[str]:
    """Return the call that puts sums of weights into scratch memory."""
    if not sums or "ctx" not in call.scratch:
        return None
    target = format_pointer("int32_t", call.scratch["ctx"].address, buffers)
    signs = {f"-{name}": f"-{text}" for name, text in values.items()}
    parts = [target, *(format_extent(extent, {**values, **signs}) for extent in sums)]
    return wrap_lines(f"{VECTOR_SUM}(", parts, ");")


def _list_members(
    argument: Argument, call: MemoryCall, values: Mapping[str, str], buffers: Buffers
) -> Optional[dict[str, str]]:
    """Return member -> C text of a struct argument; None if the argument is not a struct."""
    if argument.struct is not None:
        scalars = call.step.node.function.params
        return {
            member: _member("" if value in scalars else argument.struct.cast, value, values)
            for member, value in argument.struct.members.items()
        }
    if argument.name not in CONTEXTS:
        return None
    block = call.scratch.get(argument.name)
    if block is None:
        return {"buf": "NULL", "size": "0"}
    return {"buf": format_pointer("void", block.address, buffers), "size": str(block.nbytes)}


def _member(cast: str, value: Member, values: Mapping[str, str]) -> str:
    if isinstance(value, Elements):
        parts = ", ".join(values[name] for name in value.names)
        return f"(const {value.type}[]){{{parts}}}"
    text = format_extent(value, values)
    return cast + text if isinstance(value, str) else text


def _definition(argument: Argument, members: Mapping[str, str]) -> str:
    type = argument.type.rstrip(" *")
    parts = [f".{member} = {value}" for member, value in members.items()]
    return wrap_lines(f"{type} {argument.name} = {{", parts, "};", _INNER)


def _format_scratch(call: MemoryCall, argument: Argument, buffers: Buffers) -> str:
    """Return a scratch argument; no function uses its bufferB."""
    if "ctx" not in call.scratch or argument.name == "bufferB":
        return "NULL"
    return format_pointer(argument.type.rstrip(" *"), call.scratch["ctx"].address, buffers)


def copy_text(call: MemoryCall, buffers: Buffers) -> Optional[str]:
    """Return the copy before a call that would overwrite the input of a later one."""
    if call.copy is None:
        return None
    target, source = (
        format_pointer("void", at, buffers) for at in (call.copy.target, call.copy.source)
    )
    return f"memcpy({target}, {source}, {call.copy.nbytes});"
