"""Arena of a network, planned as TensorFlow Lite Micro plans it.

The greedy planner takes the buffers from the largest to the smallest. It places each at the lowest
offset that is free during the buffer's lifetime. It first rounds sizes up to the alignment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from ..functions.esp_nn_memory import count_scratch
from ..ir.graph import Graph, Node
from ..ir.loops import find_needed_until, iterate_conditions
from ..ir.tflm_memory import TflmFigures, TflmMemory
from ..targets import Profile

#: Functions whose weight sums the framework stores in the tail.
_SUMS_IN_TAIL = (
    "arm_fully_connected_s8",
    "arm_fully_connected_per_channel_s8",
    "arm_fully_connected_wrapper_s8",
    "arm_svdf_s8",
)

#: Ops whose scratch memory depends on ESP-NN on a chip of the ESP32 family.
_ESP_OPS = frozenset(
    f"{prefix}{op}"
    for prefix, ops in (
        ("", ("convolve_wrapper", "depthwise_conv_wrapper", "softmax", "avgpool")),
        ("esp_", ("convolve", "depthwise_conv", "softmax", "avgpool")),
    )
    for op in ops
)

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
    """Buffers, the start of each, and the bytes of all."""

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
    """Return a number rounded up to a multiple of the alignment."""
    return -(-nbytes // alignment) * alignment


def arrange(buffers: Sequence[Buffer], alignment: int = TFLM_ALIGNMENT) -> Arena:
    """Return offsets for all buffers; among buffers of one size, later ones are placed first."""
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
    """Arena of a network.

    tensors: input or layer -> offset. scratch: layer -> C name of the memory -> offset. live: layer
    -> bytes in use during its call. until: input or layer -> the last layer that needs it.
    """

    arena: Arena
    tensors: Mapping[str, int]
    scratch: Mapping[str, Mapping[str, int]]
    live: Mapping[str, int]
    until: Mapping[str, str]


def plan_tflm_memory(graph: Graph, profile: Profile, figures: TflmFigures) -> TflmMemory:
    """Return the memory of a file in TensorFlow Lite Micro.

    graph: as the profile's build calls it. figures: figures of the file. Weight sums, which
    exported C computes in scratch memory, are in the tail.
    """
    scratch = {node.name: _tflm_scratch(node, profile) for node in graph.nodes}
    head = plan_tensor_arena(graph, scratch, figures).arena.nbytes
    return TflmMemory(figures.file, head, figures.tail_on(profile.path))


def _tflm_scratch(node: Node, profile: Profile) -> Mapping[str, int]:
    """Return the scratch memory that a kernel of the framework asks for."""
    name, path = node.function.name, profile.path
    if profile.esp_nn and node.function.op in _ESP_OPS:
        own = count_scratch(name, node.params, profile)
        return {"scratch": own} if own else {}
    if name == "arm_convolve_1x1_s8_fast":  # of a dense layer: multipliers and shifts
        return {"ctx": 8 * node.params["output_c"]}
    sizes = node.function.scratch_buffers(node.params, path)
    if name in _SUMS_IN_TAIL:
        return {key: size for key, size in sizes.items() if key != "ctx"}
    return sizes


def plan_tensor_arena(
    graph: Graph,
    scratch: Mapping[str, Mapping[str, int]],
    figures: Optional[TflmFigures] = None,
) -> TensorArena:
    """Return the arena of a network as TensorFlow Lite Micro plans it.

    scratch: layer -> C name of the memory -> bytes. figures: has the bytes of float tensors
    before and after the network, if the plan includes them. A tensor is live from the layer that
    writes it to the last that reads it, an output to the end, an input from the start. A layer's
    scratch memory is live during its call. States are outside the arena, because they outlive a
    run.
    """
    moments = {node.name: moment for moment, node in enumerate(graph.nodes, 1)}
    first = {**{tensor.name: 0 for tensor in graph.inputs}, **moments}
    last, made = dict(first), graph.made
    for at, node in enumerate(graph.nodes):
        for name in node.inputs:
            if name in first:
                last[name] = max(last[name], 1 + find_needed_until(graph.loops, made[name], at))
    for name, until in iterate_conditions(graph.loops, made):
        last[name] = max(last[name], 1 + until)
    end = len(graph.nodes)
    last = {name: min(moment, end) for name, moment in last.items()}
    floats = []
    if figures is not None and figures.before:
        floats.append(Buffer("", figures.before, 0, 0))
    if figures is not None and figures.after:
        end += 1
        floats.append(Buffer("", figures.after, end, end))
    last.update(dict.fromkeys(graph.outputs, end))
    sizes = {tensor.name: tensor.nbytes for tensor in graph.inputs}
    sizes.update((node.name, node.output.nbytes) for node in graph.nodes)
    tensors = [Buffer(name, sizes[name], first[name], last[name]) for name in sizes]
    blocks = [(layer, name) for layer in moments for name in scratch[layer]]
    extra = [
        Buffer(name, scratch[layer][name], moments[layer], moments[layer]) for layer, name in blocks
    ]
    arena = arrange([*tensors, *extra, *floats])
    scratch_offsets: dict[str, dict[str, int]] = {layer: {} for layer in moments}
    for (layer, name), offset in zip(blocks, arena.offsets[len(tensors) :]):
        scratch_offsets[layer][name] = offset
    return TensorArena(
        arena,
        dict(zip(sizes, arena.offsets)),
        scratch_offsets,
        {name: arena.count_live_bytes(moment) for name, moment in moments.items()},
        {
            name: graph.nodes[min(max(moment, 1), len(graph.nodes)) - 1].name
            for name, moment in last.items()
        },
    )
