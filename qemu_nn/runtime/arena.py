"""Memory of a network that is shared over time, planned as TensorFlow Lite Micro plans it.

Its greedy planner takes the buffers from the largest to the smallest and puts each at the lowest
offset that is free while the buffer lives. Sizes are rounded up to the alignment first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ir.graph import Graph
from ..ir.loops import conditions, needed_until

#: Every buffer starts at a multiple of this many bytes in TensorFlow Lite Micro's arena.
TFLM_ALIGNMENT = 16


@dataclass(frozen=True)
class Buffer:
    """Bytes that something needs from one moment to another, both included."""

    name: str
    nbytes: int
    first: int
    last: int

    def meets(self, other: Buffer) -> bool:
        """True if both are live at the same time."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Arena:
    """Buffers, where each of them starts, and how many bytes hold them all."""

    buffers: tuple[Buffer, ...]
    offsets: tuple[int, ...]
    nbytes: int
    alignment: int

    def count_live_bytes(self, moment: int) -> int:
        """Return bytes of the buffers that live at this moment, each rounded up to the
        alignment.
        """
        return sum(
            align(buffer.nbytes, self.alignment)
            for buffer in self.buffers
            if buffer.first <= moment <= buffer.last
        )


def align(nbytes: int, alignment: int) -> int:
    """Rounded up to a multiple of the alignment."""
    return -(-nbytes // alignment) * alignment


def arrange(buffers: Sequence[Buffer], alignment: int = TFLM_ALIGNMENT) -> Arena:
    """Return offsets for all buffers; of buffers of one size, those that are listed last go
    first.
    """
    sizes = [align(buffer.nbytes, alignment) for buffer in buffers]
    offsets = [0] * len(buffers)
    done: list[int] = []
    for index in sorted(range(len(buffers)), key=lambda i: (-sizes[i], -i)):
        live = [other for other in done if buffers[other].meets(buffers[index])]
        for other in sorted(live, key=lambda other: offsets[other]):
            if offsets[index] + sizes[index] > offsets[other]:
                offsets[index] = max(offsets[index], offsets[other] + sizes[other])
        done.append(index)
    nbytes = max((start + size for start, size in zip(offsets, sizes)), default=0)
    return Arena(tuple(buffers), tuple(offsets), nbytes, alignment)


@dataclass(frozen=True)
class TensorArena:
    """A network's arena. tensors: of each input and layer -> offset; scratch: layer -> what
    C calls the memory -> offset; live: layer -> bytes that are in use while it runs; until: inputs
    and layers -> the layer that is the last to need it."""

    arena: Arena
    tensors: Mapping[str, int]
    scratch: Mapping[str, Mapping[str, int]]
    live: Mapping[str, int]
    until: Mapping[str, str]


def plan_tensor_arena(graph: Graph, scratch: Mapping[str, Mapping[str, int]]) -> TensorArena:
    """Return the arena of a network as TensorFlow Lite Micro plans it.

    scratch: layer -> what C calls the memory -> bytes. A tensor lives from the layer that makes it
    to the last that reads it, an output to the end, the input from the beginning; a layer's scratch
    lives while it runs. States are not in the arena: they outlive a run.
    """
    moments = {node.name: moment for moment, node in enumerate(graph.nodes, 1)}
    first = {**{tensor.name: 0 for tensor in graph.inputs}, **moments}
    last, made = dict(first), graph.made
    for at, node in enumerate(graph.nodes):
        for name in node.inputs:
            if name in first:
                last[name] = max(last[name], 1 + needed_until(graph.loops, made[name], at))
    for name, until in conditions(graph.loops, made):
        last[name] = max(last[name], 1 + until)
    last = {name: min(moment, len(graph.nodes)) for name, moment in last.items()}
    last.update(dict.fromkeys(graph.outputs, len(graph.nodes)))
    sizes = {tensor.name: tensor.nbytes for tensor in graph.inputs}
    sizes.update((node.name, node.output.nbytes) for node in graph.nodes)
    tensors = [Buffer(name, sizes[name], first[name], last[name]) for name in sizes]
    blocks = [(layer, name) for layer in moments for name in scratch[layer]]
    extra = [
        Buffer(name, scratch[layer][name], moments[layer], moments[layer]) for layer, name in blocks
    ]
    arena = arrange([*tensors, *extra])
    scratch_offsets: dict[str, dict[str, int]] = {layer: {} for layer in moments}
    for (layer, name), offset in zip(blocks, arena.offsets[len(tensors) :]):
        scratch_offsets[layer][name] = offset
    return TensorArena(
        arena,
        dict(zip(sizes, arena.offsets)),
        scratch_offsets,
        {name: arena.count_live_bytes(moment) for name, moment in moments.items()},
        {name: graph.nodes[max(moment, 1) - 1].name for name, moment in last.items()},
    )
