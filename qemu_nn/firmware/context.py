"""What the templates of a network's C say, from the network, its memory and its names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..functions.prototypes import c_types, prototype
from ..ir.graph import Graph
from .c_array import definition, dimensions, in_comment
from .c_text import comment, wrapped
from .calls import Buffers, call_text, copy_text, pointer
from .constants import Constant
from .golden import About
from .memory import Call, Layout
from .symbols import Layer, Symbols, array_name, described


def context(graph: Graph, layout: Layout, symbols: Symbols, about: About) -> dict[str, Any]:
    """Everything that network.c and .h, parameter.h, weights.h and main.c are made of."""
    taken, cmsis = set(symbols.arrays), about.profile.cmsis
    buffers = {name: array_name(name, "memory", taken) for name in layout.buffers}
    tensors = _tensors(graph, layout, symbols, buffers, cmsis)
    entry = tensors[graph.input.name]
    outputs = _arguments("output", graph.outputs, tensors)
    states = _arguments("state", tuple(state.name for state in graph.states), tensors)
    layers = [
        {
            **tensors[layer.node.name],
            **_call(call, layer, buffers, cmsis),
            "output": outputs.get(layer.node.name, {}).get("argument"),
        }
        for call, layer in zip(layout.calls, symbols.layers)
    ]
    written = [f"{each['type']} *{each['argument']}" for each in outputs.values()]
    started = [f"const {each['type']} *{each['argument']}" for each in states.values()]
    return {
        "title": comment(
            f"{in_comment(graph.name)} for {in_comment(about.core)} ({about.profile}), made by "
            f"qemu_nn {about.version}."
        ),
        "recurrent": bool(graph.states),
        "run": wrapped("int network_run(", [f"const {entry['type']} *input", *written], ")", 0),
        "start": wrapped("void network_start(", started, ")", 0),
        "ram": sum(layout.buffers.values()),
        "flash": sum(constant.values.nbytes for constant in symbols.arrays.values()),
        "buffers": [{"name": buffers[each], "size": size} for each, size in layout.buffers.items()],
        "headers": sorted({prototype(node.function, cmsis).header for node in graph.nodes}),
        "input": {**entry, "macros": symbols.input},
        "states": list(states.values()),
        "outputs": list(outputs.values()),
        "layers": layers,
        "arrays": [_array(symbol, each, cmsis) for symbol, each in symbols.arrays.items()],
    }


def _tensors(
    graph: Graph, layout: Layout, symbols: Symbols, buffers: Buffers, cmsis: str
) -> dict[str, dict[str, Any]]:
    """Input, states and results: names, words, C type, size, and where each is."""
    types = c_types(cmsis)
    placed = [(graph.input, layout.input)]
    placed += [(state, layout.states[state.name]) for state in graph.states]
    placed += [(call.step.node.output, call.output) for call in layout.calls]
    return {
        tensor.name: {
            "stem": symbols.stems[tensor.name],
            "words": f"{in_comment(tensor.name)}: {described(tensor)}",
            "type": types[tensor.dtype],
            "place": pointer(types[tensor.dtype], at, buffers),
            "size": tensor.nbytes,
            "count": math.prod(tensor.shape),
        }
        for tensor, at in placed
    }


def _arguments(
    what: str, names: tuple[str, ...], tensors: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Tensors that are C arguments: `output`, or `output_<stem>` where there are several."""
    return {
        name: {
            **tensors[name],
            "argument": what if len(names) == 1 else f"{what}_{tensors[name]['stem']}",
        }
        for name in names
    }


def _call(call: Call, layer: Layer, buffers: Buffers, cmsis: str) -> dict[str, Any]:
    text = call_text(call, layer, buffers, cmsis)
    return {
        "comment": comment(layer.words),
        "inner_comment": comment(layer.words, 4),
        "before": [each for each in (copy_text(call, buffers), text.before) if each],
        "structs": text.structs,
        "call": text.call,
        "answers": text.answers,
        "macros": layer.macros,
    }


def _array(symbol: str, constant: Constant, cmsis: str) -> dict[str, str]:
    name = ": ".join(filter(None, constant.key))
    words = f"{in_comment(name)}: {dimensions(constant.values.shape)}"
    return {
        "comment": comment(words),
        "definition": definition(symbol, constant.values, cmsis),
    }
