"""The addresses of a network's tensors and scratch memory on the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Optional

from ..errors import Error
from ..functions.older_buffers import list_older_bytes
from ..functions.prototypes import find_absent
from ..ir.graph import Address, Graph, Memory, Node
from ..kernels.table import choose, list_rows
from ..releases import place_of
from ..runtime.addresses import plan_addresses
from ..runtime.arena import TFLM_ALIGNMENT, align, plan_tensor_arena
from ..runtime.plan import Plan
from ..runtime.step import Step
from ..targets import Profile

#: Buffer names of a network without memory of its own: for shared memory, and for memory that
#: outlives a run.
ARENA, STATES = "arena", "states"

#: Layer -> C name of its scratch memory -> bytes.
Needed = Mapping[str, Mapping[str, int]]

#: The first state with code for Helium: before, a core with Helium runs that of the DSP extension.
_HELIUM_FROM = "f7e96efd"

#: Every address is a multiple of this many bytes: the widest element's.
_ALIGNMENT = 4


@dataclass(frozen=True)
class Copy:
    """Bytes to copy before a call that would overwrite them."""

    source: Address
    target: Address
    nbytes: int


@dataclass(frozen=True)
class Block:
    """Bytes of a buffer."""

    address: Address
    nbytes: int


@dataclass(frozen=True)
class MemoryCall:
    """One call with its pointers.

    step: contains the row that replaces the function. scratch: C name of the memory -> its address;
    ctx for a single piece.
    """

    step: Step
    inputs: tuple[Address, ...]
    output: Address
    scratch: Mapping[str, Block]
    copy: Optional[Copy] = None

    @property
    def scratch_bytes(self) -> int:
        """Bytes of all scratch memory."""
        return sum(block.nbytes for block in self.scratch.values())


@dataclass(frozen=True)
class Layout:
    """Memory of a network: buffers (name -> bytes), and the addresses in them."""

    buffers: Mapping[str, int]
    inputs: tuple[Address, ...]
    states: Mapping[str, Address]
    calls: tuple[MemoryCall, ...]

    @property
    def kept(self) -> frozenset[str]:
        """Buffers that outlive a run, because they contain states."""
        return frozenset(address.buffer for address in self.states.values())

    def stays(self, index: int) -> bool:
        """True if no later call overwrites the result of this call."""
        made = Block(self.calls[index].output, self.calls[index].step.sizes.output)
        return not any(
            _overlap(made, block)
            for call in self.calls[index + 1 :]
            for block in _iterate_written(call)
        )


def plan_layout(plan: Plan) -> Layout:
    """Return the graph's own memory, or else one arena, planned by liveness.

    Calls of the s8 and s16 API share it as in TensorFlow Lite Micro; further calls work in place if
    legal. Raises Error if a device would need more than the described memory: scratch buffers, or
    zeros that no call has written.
    """
    graph = plan.graph
    if plan.cleared:
        raise Error(
            f"{graph.name} reads memory that nothing has written, which no export can repeat: "
            "run it with --trace to find the layer"
        )
    for node in graph.nodes:
        fault = node.function.fault(node.params, plan.profile)
        if fault is not None:
            raise Error(f"{graph.name}: layer {node.name!r} ({node.function.name}): {fault}")
    for step in plan.calls:
        _check_written(graph.name, step)
        _check_implied(graph.name, step.node, plan.profile.cmsis)
    steps = [_choose_plain(plan, step) for step in plan.calls]
    needed = {step.node.name: _count_scratch(step, plan.profile) for step in steps}
    if graph.memory is not None:
        return _get_given(graph, graph.memory, steps, needed)
    if plan.profile.is_affine:
        return _plan_as_tflm(graph, steps, needed)
    total = {name: sum(sizes.values()) for name, sizes in needed.items()}
    planned = plan_addresses(graph, steps, lambda step: total[step.node.name], _ALIGNMENT)
    calls = []
    for step, offsets in zip(steps, planned.calls):
        sources = [Address(ARENA, offset) for offset in offsets.inputs]
        output = Address(ARENA, offsets.output)
        spare = None if offsets.spare is None else Address(ARENA, offsets.spare)
        scratch = _place_blocks(Address(ARENA, offsets.scratch), needed[step.node.name])
        copy = _copy(step, sources, output, spare)
        if copy:
            sources[sources.index(copy.source)] = copy.target
        calls.append(MemoryCall(step, tuple(sources), output, scratch, copy))
    buffers = {ARENA: planned.arena_bytes}
    inputs = tuple(Address(ARENA, offset) for offset in planned.inputs)
    return Layout(buffers, inputs, {}, tuple(calls))


def _count_scratch(step: Step, profile: Profile) -> dict[str, int]:
    """Return scratch memory of a call, with what an older state asks for besides."""
    function, params = step.node.function, step.node.params
    path = profile.path
    if path == "mve" and place_of(profile.cmsis) < place_of(_HELIUM_FROM):
        path = "dsp"
    found = function.scratch_buffers(params, path)
    older = list_older_bytes(function.name, params, path, profile.cmsis)
    return {**found, **{name: max(found.get(name, 0), size) for name, size in older.items()}}


def _check_written(network: str, step: Step) -> None:
    """Raise Error if the release leaves a part of the output as it was: no golden is right then."""
    node, params = step.node, step.params
    where = f"{network}: layer {node.name!r} ({node.function.name})"
    if node.params.get("batches", 1) != getattr(params, "batches", node.params.get("batches", 1)):
        raise Error(
            f"{where}: the release computes only the first image of a batch; export it for "
            "a release that computes all, or call it for each image"
        )
    if node.params.get("bias_is_int32") and not params.bias_is_int32:
        raise Error(
            f"{where}: the release takes biases of 64 bits; export it for 15dbe7cd (6.0.0) or later"
        )


def _check_implied(network: str, node: Node, cmsis: str) -> None:
    """Raise Error if an argument has a value that the state cannot be passed."""
    absent = find_absent(node.function, node.params, cmsis)
    if absent is not None:
        name, text = absent
        raise Error(
            f"{network}: layer {node.name!r} ({node.function.name}): {name} is "
            f"{node.params[name]}, but in CMSIS {cmsis} it is always {text}; export it for a "
            "later release"
        )


def list_buffers(plan: Plan) -> Mapping[str, int]:
    """Return all static memory of a network's firmware: name -> bytes.

    If the memory lacks a part and the export is impossible, return the memory as described.
    """
    try:
        return plan_layout(plan).buffers
    except Error:
        if plan.graph.memory is None:
            raise
        return plan.graph.memory.buffers


def _iterate_written(call: MemoryCall) -> Iterator[Block]:
    """Yield the output address of a call, and the copy before it."""
    yield Block(call.output, call.step.sizes.output)
    yield from call.scratch.values()
    if call.copy:
        yield Block(call.copy.target, call.copy.nbytes)


def _overlap(one: Block, other: Block) -> bool:
    """True if both share bytes."""
    first, second = one.address, other.address
    ends = first.offset + one.nbytes, second.offset + other.nbytes
    apart = first.offset >= ends[1] or second.offset >= ends[0]
    return first.buffer == second.buffer and not apart


def _place_blocks(start: Address, sizes: Mapping[str, int]) -> dict[str, Block]:
    """Place blocks of these sizes one after the other."""
    blocks, offset = {}, start.offset
    for name, size in sizes.items():
        blocks[name] = Block(Address(start.buffer, offset), size)
        offset += size
    return blocks


def _plan_as_tflm(graph: Graph, steps: list[Step], needed: Needed) -> Layout:
    """Place every tensor in a block of its own during its lifetime, as TensorFlow Lite
    Micro does.
    """
    arena = plan_tensor_arena(graph, needed)
    states, kept = {}, 0
    for state in graph.states:
        states[state.name] = Address(STATES, kept)
        kept += align(state.nbytes, TFLM_ALIGNMENT)
    at = {name: Address(ARENA, offset) for name, offset in arena.tensors.items()}
    calls = []
    for step in steps:
        node = step.node
        inputs = [states.get(name) or at[name] for name in node.inputs]
        copy = _copy(step, inputs, at[node.name], None)
        scratch = {
            name: Block(Address(ARENA, offset), needed[node.name][name])
            for name, offset in arena.scratch[node.name].items()
        }
        calls.append(MemoryCall(step, tuple(inputs), at[node.name], scratch, copy))
    buffers = {ARENA: arena.arena.nbytes, **({STATES: kept} if kept else {})}
    starts = tuple(at[tensor.name] for tensor in graph.inputs)
    return Layout(buffers, starts, states, tuple(calls))


def _choose_plain(plan: Plan, step: Step) -> Step:
    """Return the step on its plain row; a model of the device's path is kept if the
    plan needs it.
    """
    if step.row.kind == "model":
        return step
    rows = list_rows(step.row.op.name, step.row.op.type)
    return replace(step, row=choose(rows, plan.profile, step.params, "plain"))


def _copy(
    step: Step, inputs: list[Address], output: Address, spare: Optional[Address]
) -> Optional[Copy]:
    """Return the copy before the call: of an input that it overwrites and a later call reads."""
    function = step.node.function
    if spare is not None:
        return Copy(inputs[0], spare, step.sizes.inputs[0])
    if not function.in_place:
        return None
    own = [array.name for array in function.inputs].index(function.output.name)
    if inputs[own] == output:
        return None
    return Copy(inputs[own], output, step.sizes.output)


def _get_given(graph: Graph, memory: Memory, steps: list[Step], needed: Needed) -> Layout:
    """Return the firmware's own addresses, and the buffers that they name."""
    calls = []
    for step in steps:
        given, sizes = memory.calls[step.node.name], needed[step.node.name]
        size = sum(sizes.values())
        if size and not _holds(memory, given.scratch, size):
            raise Error(
                f"{graph.name}: layer {step.node.name!r} ({step.node.function.name}) needs "
                f"{size} bytes of scratch memory, but "
                + (f"there is less at {given.scratch}" if given.scratch else "has none")
            )
        scratch = _place_blocks(given.scratch, sizes) if given.scratch else {}
        calls.append(MemoryCall(step, given.inputs, given.output, scratch))
    used = {memory.input.buffer, *(address.buffer for address in memory.states.values())}
    for call in calls:
        pointers = (*call.inputs, call.output, *(block.address for block in call.scratch.values()))
        used |= {address.buffer for address in pointers}
    buffers = {name: size for name, size in memory.buffers.items() if name in used}
    return Layout(buffers, (memory.input,), memory.states, tuple(calls))


def _holds(memory: Memory, address: Optional[Address], size: int) -> bool:
    """True if the buffer has this many bytes from this address on."""
    return address is not None and address.offset + size <= memory.buffers[address.buffer]
