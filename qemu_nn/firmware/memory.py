"""Where a network's tensors and scratch buffers lie in the memory of the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Optional

from ..errors import Error
from ..ir.graph import Address, Graph, Memory
from ..kernels.table import choose, rows_of
from ..runtime.addresses import planned
from ..runtime.arena import TFLM_ALIGNMENT, aligned, tensor_arena
from ..runtime.plan import Plan, Step, plan
from ..targets import Profile, is_affine

#: Names of the buffers of a network that brings no memory of its own: of what it shares over time,
#: and of what outlives a run.
ARENA, STATES = "arena", "states"

#: Layer -> what C calls its scratch memory -> bytes.
Needed = Mapping[str, Mapping[str, int]]

#: Every address is a multiple of this many bytes: the widest element's.
_ALIGNMENT = 4


@dataclass(frozen=True)
class Copy:
    """Bytes to move before a call, because it would overwrite them where they are."""

    source: Address
    target: Address
    nbytes: int


@dataclass(frozen=True)
class Room:
    """A piece of memory."""

    address: Address
    nbytes: int


@dataclass(frozen=True)
class Call:
    """One call with its pointers. step: has the row that stands in for the function; scratch: what
    C calls the memory -> where it is, ctx if there is one piece."""

    step: Step
    inputs: tuple[Address, ...]
    output: Address
    scratch: Mapping[str, Room]
    copy: Optional[Copy] = None

    @property
    def scratch_bytes(self) -> int:
        """Bytes of all scratch memory."""
        return sum(room.nbytes for room in self.scratch.values())


@dataclass(frozen=True)
class Layout:
    """A network's static memory: buffers (name -> bytes), and where everything is in them."""

    buffers: Mapping[str, int]
    input: Address
    states: Mapping[str, Address]
    calls: tuple[Call, ...]


def layout(plan: Plan) -> Layout:
    """The graph's own memory where it has one; otherwise one arena, planned by liveness.

    Calls of the s8 and s16 API share it as in TensorFlow Lite Micro; others work in place where
    they may.

    plan: traced, so that it has a step for each node. Raises Error where a device would need more
    than the memory says: scratch buffers, or zeros that nothing has written.
    """
    graph = plan.graph
    if plan.cleared:
        raise Error(f"{graph.name} reads memory that nothing has written: it cannot be exported")
    for node in graph.nodes:
        fault = node.function.fault(node.params, plan.profile)
        if fault is not None:
            raise Error(f"{graph.name}: layer {node.name!r} ({node.function.name}): {fault}")
    steps = [_plain(plan, step) for step in plan.steps]
    path = plan.profile.path
    needed = {s.node.name: s.node.function.rooms(s.node.params, path) for s in steps}
    if graph.memory is not None:
        return _given(graph, graph.memory, steps, needed)
    if is_affine(plan.profile.cmsis):
        return _as_tflm(graph, steps, needed)
    total = {name: sum(each.values()) for name, each in needed.items()}
    placement = planned(graph, steps, lambda step: total[step.node.name], _ALIGNMENT)
    calls = []
    for step, spot in zip(steps, placement.spots):
        inputs, output = [Address(ARENA, at) for at in spot.inputs], Address(ARENA, spot.output)
        spare = None if spot.spare is None else Address(ARENA, spot.spare)
        scratch = _rooms(Address(ARENA, spot.scratch), needed[step.node.name])
        copy = _copy(step, inputs, output, spare)
        if copy:
            inputs[inputs.index(copy.source)] = copy.target
        calls.append(Call(step, tuple(inputs), output, scratch, copy))
    buffers = {ARENA: placement.arena_bytes}
    return Layout(buffers, Address(ARENA, placement.input), {}, tuple(calls))


def buffers(graph: Graph, profile: Profile) -> Mapping[str, int]:
    """All static memory of a network's firmware: name -> bytes.

    Of one that cannot be exported, as its memory lacks something: that memory, as it is described.
    """
    try:
        return layout(plan(graph, profile, trace=True)).buffers
    except Error:
        if graph.memory is None:
            raise
        return graph.memory.buffers


def _rooms(start: Address, sizes: Mapping[str, int]) -> dict[str, Room]:
    """Pieces of memory, one behind the other."""
    found, offset = {}, start.offset
    for name, size in sizes.items():
        found[name] = Room(Address(start.buffer, offset), size)
        offset += size
    return found


def _as_tflm(graph: Graph, steps: list[Step], needed: Needed) -> Layout:
    """Every tensor in a place of its own while it lives, as TensorFlow Lite Micro has them."""
    planned = tensor_arena(graph, needed)
    states, kept = {}, 0
    for state in graph.states:
        states[state.name] = Address(STATES, kept)
        kept += aligned(state.nbytes, TFLM_ALIGNMENT)
    at = {name: Address(ARENA, offset) for name, offset in planned.tensors.items()}
    calls = []
    for step in steps:
        node = step.node
        inputs = [states.get(name) or at[name] for name in node.inputs]
        copy = _copy(step, inputs, at[node.name], None)
        scratch = {
            name: Room(Address(ARENA, offset), needed[node.name][name])
            for name, offset in planned.scratch[node.name].items()
        }
        calls.append(Call(step, tuple(inputs), at[node.name], scratch, copy))
    buffers = {ARENA: planned.arena.nbytes, **({STATES: kept} if kept else {})}
    return Layout(buffers, at[graph.input.name], states, tuple(calls))


def _plain(plan: Plan, step: Step) -> Step:
    """The step on its plain row; a model of the device's own way stays where the plan needs it."""
    if step.row.kind == "model":
        return step
    rows = rows_of(step.row.op.name, step.row.op.type)
    return replace(step, row=choose(rows, plan.profile, step.params, keep_input=False))


def _copy(
    step: Step, inputs: list[Address], output: Address, spare: Optional[Address]
) -> Optional[Copy]:
    """What must move first: an input that the call destroys, or works on in place, too early."""
    function = step.node.function
    if spare is not None:
        return Copy(inputs[0], spare, step.sizes.inputs[0])
    if not function.in_place:
        return None
    own = [array.name for array in function.inputs].index(function.output.name)
    if inputs[own] == output:
        return None
    return Copy(inputs[own], output, step.sizes.output)


def _given(graph: Graph, memory: Memory, steps: list[Step], needed: Needed) -> Layout:
    """The firmware's own addresses, and those of its buffers that they name."""
    calls = []
    for step in steps:
        place, sizes = memory.places[step.node.name], needed[step.node.name]
        size = sum(sizes.values())
        if size and not _holds(memory, place.scratch, size):
            raise Error(
                f"{graph.name}: layer {step.node.name!r} ({step.node.function.name}) needs "
                f"{size} bytes of scratch memory; its memory has {place.scratch or 'none'}"
            )
        scratch = _rooms(place.scratch, sizes) if place.scratch else {}
        calls.append(Call(step, place.inputs, place.output, scratch))
    used = {memory.input.buffer, *(address.buffer for address in memory.states.values())}
    for call in calls:
        pointers = (*call.inputs, call.output, *(room.address for room in call.scratch.values()))
        used |= {address.buffer for address in pointers}
    buffers = {name: size for name, size in memory.buffers.items() if name in used}
    return Layout(buffers, memory.input, memory.states, tuple(calls))


def _holds(memory: Memory, address: Optional[Address], size: int) -> bool:
    """Is there room for so many bytes at this address?"""
    return address is not None and address.offset + size <= memory.buffers[address.buffer]
