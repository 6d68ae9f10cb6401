"""What the templates of a network's C say, from the network, its memory and its names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..graph import Address, Graph, Tensor
from ..layers.prototypes import C_TYPES, prototype
from .c_array import definition, dimensions, in_comment
from .c_text import comment, wrapped
from .calls import Buffers, call_text, copy_text, pointer
from .golden import About
from .memory import Call, Layout
from .symbols import Layer, Symbols, array_name, described


def context(graph: Graph, layout: Layout, symbols: Symbols, about: About) -> dict[str, Any]:
    """Everything that network.c and .h, parameter.h, weights.h and main.c are made of."""
    taken = set(symbols.arrays.values())
    buffers = {name: array_name(name, "memory", taken) for name in layout.buffers}
    tensors = {tensor.name: tensor for tensor in (graph.input, *graph.states)}
    places = {graph.input.name: layout.input, **layout.states}
    for node, call in zip(graph.nodes, layout.calls):
        tensors[node.name], places[node.name] = node.output, call.output
    described_tensors = {
        name: {
            "stem": symbols.stems[name],
            "words": f"{in_comment(name)}: {described(tensor)}",
            **_memory(tensor, places[name], buffers),
        }
        for name, tensor in tensors.items()
    }
    outputs = _named("output", graph.outputs, symbols.stems)
    states = _named("state", tuple(state.name for state in graph.states), symbols.stems)
    return {
        "title": comment(
            f"{in_comment(graph.name)} for {in_comment(about.core)} ({about.profile}), made by "
            f"qemu_nn {about.version}."
        ),
        "recurrent": bool(graph.states),
        "run": wrapped(
            "int network_run(",
            [
                f"const {C_TYPES[graph.input.dtype]} *input",
                *(f"{described_tensors[name]['type']} *{c}" for name, c in outputs.items()),
            ],
            ")",
            0,
        ),
        "start": wrapped(
            "void network_start(",
            [f"const {described_tensors[name]['type']} *{c}" for name, c in states.items()],
            ")",
            0,
        ),
        "ram": sum(layout.buffers.values()),
        "flash": sum(graph.arrays[name].nbytes for name in symbols.arrays),
        "buffers": [{"name": buffers[each], "size": size} for each, size in layout.buffers.items()],
        "headers": sorted({prototype(node.function).header for node in graph.nodes}),
        "input": {**described_tensors[graph.input.name], "macros": symbols.input},
        "states": [{**described_tensors[name], "argument": c} for name, c in states.items()],
        "outputs": [{**described_tensors[name], "argument": c} for name, c in outputs.items()],
        "layers": [
            {
                **described_tensors[layer.node.name],
                **_call(call, layer, buffers),
                "output": outputs.get(layer.node.name),
            }
            for call, layer in zip(layout.calls, symbols.layers)
        ],
        "arrays": [_array(graph, name, symbol) for name, symbol in symbols.arrays.items()],
    }


def _named(what: str, names: tuple[str, ...], stems: Mapping[str, str]) -> dict[str, str]:
    """Tensor -> its C argument: `output`, or `output_<stem>` of several."""
    return {name: what if len(names) == 1 else f"{what}_{stems[name]}" for name in names}


def _memory(tensor: Tensor, at: Address, buffers: Buffers) -> dict[str, Any]:
    type = C_TYPES[tensor.dtype]
    return {
        "type": type,
        "place": pointer(type, at, buffers),
        "size": tensor.nbytes,
        "count": math.prod(tensor.shape),
    }


def _call(call: Call, layer: Layer, buffers: Buffers) -> dict[str, Any]:
    return {
        "comment": comment(layer.words),
        "inner_comment": comment(layer.words, 4),
        "before": copy_text(call, buffers),
        "call": call_text(call, layer, buffers),
        "answers": prototype(layer.node.function).returns == "arm_status",
        "macros": layer.macros,
    }


def _array(graph: Graph, name: str, symbol: str) -> dict[str, str]:
    values = graph.arrays[name]
    return {
        "comment": comment(f"{in_comment(name)}: {dimensions(values.shape)}"),
        "definition": definition(symbol, values),
    }
