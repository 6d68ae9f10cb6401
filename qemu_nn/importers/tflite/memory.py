"""The memory of a network that keeps states: an arena as TensorFlow Lite Micro plans it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...graph import Address, Memory, Node, Place, Tensor
from ...runtime.arena import Buffer, aligned, arrange

_ARENA, _STATES = "arena", "states"
_ALIGNMENT = 16


def remember(
    start: Tensor, nodes: Sequence[Node], outputs: Sequence[str], states: Mapping[str, Tensor]
) -> tuple[tuple[Node, ...], Memory]:
    """The calls by their addresses, and the memory that they lie in.

    A tensor lives from the call that makes it to the last that reads it, an output to the end;
    states have a buffer of their own, as they live between runs.
    """
    made = {start.name: start, **{node.name: node.output for node in nodes}}
    first = {start.name: 0, **{node.name: at for at, node in enumerate(nodes, 1)}}
    last = dict(first)
    for at, node in enumerate(nodes, 1):
        last.update((name, at) for name in node.inputs if name in made)
    last.update(dict.fromkeys(outputs, len(nodes)))
    arena = arrange([Buffer(name, made[name].nbytes, first[name], last[name]) for name in made])
    places = {name: Address(_ARENA, offset) for name, offset in zip(made, arena.offsets)}
    size, homes = 0, {}
    for name, tensor in states.items():
        homes[name] = Address(_STATES, size)
        size += aligned(tensor.nbytes, _ALIGNMENT)
    found = {**places, **homes}
    memory = Memory(
        buffers={_ARENA: arena.nbytes, _STATES: size},
        places={
            node.name: Place(tuple(found[name] for name in node.inputs), found[node.name])
            for node in nodes
        },
        input=places[start.name],
        states=homes,
    )
    return tuple(replace(node, inputs=()) for node in nodes), memory
