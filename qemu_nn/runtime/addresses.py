"""Addresses of the buffers of calls: the firmware's own addresses, or planned ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np

from ..errors import Refused
from ..ir.graph import Address, Graph, Memory
from ..ir.loops import find_needed_until, iterate_conditions
from ..kernels.table import Row, choose, list_rows
from ..targets import Profile
from .arena import Buffer, align, arrange
from .hazard_analysis import Access, Span, observe
from .step import Step

#: Every buffer starts at a multiple of this many bytes.
ALIGNMENT = 64


@dataclass(frozen=True)
class Offsets:
    """Addresses of a call's buffers in the arena.

    row: the row to run, if it differs from the planner's choice. spare: address of a copy of the
    first input, if the call destroys an input that is read later.
    """

    inputs: tuple[int, ...]
    output: int
    scratch: int = 0
    spare: Optional[int] = None
    row: Optional[Row] = None


@dataclass(frozen=True)
class Addresses:
    """Byte offsets into one arena, for every call and every input, state and constant.

    cleared: bytes at the start of the arena that are zero when a sample starts.
    """

    calls: tuple[Offsets, ...]
    inputs: tuple[int, ...]
    states: tuple[int, ...]
    arena_bytes: int
    cleared: int = 0
    warnings: tuple[str, ...] = ()
    conditions: tuple[int, ...] = ()


def assign_addresses(
    graph: Graph,
    profile: Profile,
    steps: Sequence[Step],
    trace: bool,
    constants: Collection[str] = (),
) -> Addresses:
    """Return addresses for every step.

    trace: true if a run also returns the remains of inputs that calls destroy. constants: inputs
    that never change between runs.
    """
    if graph.memory is None:
        return plan_addresses(graph, steps, lambda step: step.scratch_bytes, constants=constants)
    return _check_firmware_addresses(graph, graph.memory, profile, steps, trace)


# ---- planned memory: tensors are live from the step that writes them to the last that reads them
# ----


@dataclass
class _Block:
    """Memory that is live from one step to another; several tensors may share it in place."""

    size: int
    first: int
    last: int
    offset: int = 0


def plan_addresses(
    graph: Graph,
    steps: Sequence[Step],
    scratch_bytes: Callable[[Step], int],
    alignment: int = ALIGNMENT,
    constants: Collection[str] = (),
) -> Addresses:
    """Plan addresses for a network without addresses of its own; scratch_bytes: of each step,
    besides tensors.
    """
    starts = (*graph.inputs, *graph.states)
    last_use = {**_find_last_uses(graph), **dict.fromkeys(constants, len(graph.nodes))}
    blocks = {t.name: _Block(t.nbytes, -1, last_use[t.name]) for t in starts}
    all_blocks = list(blocks.values())
    scratch: dict[int, _Block] = {}
    spare: dict[int, _Block] = {}
    for index, step in enumerate(steps):
        node = step.node
        shared = _find_shared_input(step, last_use, index)
        if shared is None:
            blocks[node.name] = _Block(node.output.nbytes, index, last_use[node.name])
            all_blocks.append(blocks[node.name])
        else:
            blocks[node.name] = blocks[shared]
            blocks[shared].last = last_use[node.name]
        if scratch_bytes(step):
            scratch[index] = _Block(scratch_bytes(step), index, index)
        destroys = step.sizes.destroys and step.row.kind != "fast"
        if destroys and last_use[node.inputs[0]] > index:
            spare[index] = _Block(step.sizes.inputs[0], index, index)
    all_blocks += [*scratch.values(), *spare.values()]
    arena_bytes = _assign(all_blocks, alignment)
    calls = tuple(
        Offsets(
            tuple(blocks[name].offset for name in step.node.inputs),
            blocks[step.node.name].offset,
            scratch[index].offset if index in scratch else 0,
            spare[index].offset if index in spare else None,
        )
        for index, step in enumerate(steps)
    )
    states = tuple(blocks[state.name].offset for state in graph.states)
    inputs = tuple(blocks[tensor.name].offset for tensor in graph.inputs)
    tests = tuple(blocks[loop.condition].offset for loop in graph.loops)
    return Addresses(calls, inputs, states, arena_bytes, conditions=tests)


def _find_last_uses(graph: Graph) -> dict[str, int]:
    """Return tensor -> the last call before whose end it must be intact."""
    last_use, made = graph.made, graph.made
    reads = [(name, at) for at, node in enumerate(graph.nodes) for name in node.inputs]
    until = [(name, find_needed_until(graph.loops, made[name], at)) for name, at in reads]
    for name, last in (*until, *iterate_conditions(graph.loops, made)):
        last_use[name] = max(last_use[name], last)
    last_use.update((state.name, len(graph.nodes)) for state in graph.states)  # they live on
    return last_use


def _find_shared_input(step: Step, last_use: dict[str, int], index: int) -> Optional[str]:
    """Return an input that the call may overwrite in place, because no later call reads it."""
    if not step.sizes.in_place:
        return None
    for name, size in zip(step.node.inputs, step.sizes.inputs):
        if last_use[name] == index and size == step.node.output.nbytes:
            return name
    return None


def _assign(blocks: Sequence[_Block], alignment: int) -> int:
    """Place blocks greedily by size, the earliest first among equals; return the bytes of all."""
    ordered = sorted(blocks, key=lambda block: block.first, reverse=True)
    arena = arrange([Buffer("", b.size, b.first, b.last) for b in ordered], alignment)
    for block, offset in zip(ordered, arena.offsets):
        block.offset = offset
    return arena.nbytes


# ---- the firmware's memory: its own buffers at their own offsets ----

#: (name, address, bytes, item size) -> address in the arena; raises an error with the name.
_Resolve = Callable[[str, Address, int, int], Span]


def _check_firmware_addresses(
    graph: Graph, memory: Memory, profile: Profile, steps: Sequence[Step], trace: bool
) -> Addresses:
    bases, cleared = {}, 0
    for name, size in memory.buffers.items():
        bases[name] = cleared
        cleared += align(size, ALIGNMENT)

    def span(what: str, address: Address, size: int, itemsize: int) -> Span:
        start = address.offset
        if (
            address.buffer not in bases
            or start < 0
            or start + size > memory.buffers[address.buffer]
        ):
            raise Refused(
                f"{graph.name}: {what} needs {size} bytes at {address}, but that buffer has only "
                f"{memory.buffers.get(address.buffer, 0)} bytes"
            )
        if start % itemsize:
            raise Refused(f"{graph.name}: {what} at {address} is not aligned to {itemsize} bytes")
        return Span(bases[address.buffer] + start, size)

    accesses = [_access(graph, memory, profile, step, span) for step in steps]
    entry = span("the input", memory.input, graph.input.nbytes, 1)
    states = [span(f"state {t.name!r}", memory.states[t.name], t.nbytes, 1) for t in graph.states]
    seen = observe(accesses, [entry, *states], cleared, recurrent=bool(states))
    calls, arena_bytes = [], cleared
    for index, (step, access) in enumerate(zip(steps, accesses)):
        row = step.row
        if index in seen.scratch and access.device_row:
            row = access.device_row
        elif row.kind == "fast" and (index in seen.destroyed or (trace and access.destroys)):
            rows = list_rows(row.op.name, row.op.type)
            row = choose(rows, profile, step.params, "plain")
        needed = step.scratch_bytes if row is step.row else row.scratch(step.params)
        given = access.scratch if row == access.device_row else None
        scratch = given.start if given else cleared
        arena_bytes = max(arena_bytes, align(scratch + needed, ALIGNMENT))
        inputs = tuple(part.start for part in access.inputs)
        calls.append(Offsets(inputs, access.output.start, scratch if needed else 0, row=row))
    return Addresses(
        tuple(calls),
        (entry.start,),
        tuple(state.start for state in states),
        arena_bytes,
        cleared if seen.unwritten else 0,
        tuple(f"{graph.name}: {line}" for line in seen.warnings),
    )


def _access(graph: Graph, memory: Memory, profile: Profile, step: Step, span: _Resolve) -> Access:
    """Return the memory that one call accesses, after checks of bounds and overlaps."""
    node = step.node
    where = f"layer {node.name!r} ({node.function.name})"
    given = memory.calls[node.name]
    declared = node.function.list_read_inputs(node.params)
    if len(given.inputs) != len(declared):
        raise Refused(
            f"{graph.name}: {where} has {len(given.inputs)} inputs, but its function takes "
            f"{len(declared)}"
        )
    inputs = tuple(
        span(f"the input of {where}", address, size, np.dtype(array.dtype).itemsize)
        for address, size, array in zip(given.inputs, step.sizes.inputs, declared)
    )
    itemsize = np.dtype(node.output.dtype).itemsize
    output = span(f"the output of {where}", given.output, step.sizes.output, itemsize)
    row = _find_device_row(step, profile)
    used = row.scratch(step.params) if row else 0
    scratch = None
    if used and given.scratch is not None:
        scratch = span(f"the scratch of {where}", given.scratch, used, 2)
    for part in inputs:
        in_place = step.sizes.in_place and part == output
        if part.overlaps(output) and not in_place:
            raise Refused(
                f"{graph.name}: {where} overwrites its own input while it reads it: the result "
                "depends on the order of the device's instructions; use another buffer"
            )
    for array, part in zip(declared, inputs):
        others = (output, *(other for other in inputs if other is not part))
        if array.state and any(part.overlaps(other) for other in others):
            raise Refused(
                f"{graph.name}: {where} keeps its state in the memory of another input or output"
            )
    if scratch and any(scratch.overlaps(part) for part in (*inputs, output)):
        raise Refused(
            f"{graph.name}: {where} has its scratch memory in that of its own input or output"
        )
    return Access(where, inputs, output, step.sizes.destroys, used, scratch, row)


def _find_device_row(step: Step, profile: Profile) -> Optional[Row]:
    """Return the row that uses scratch memory as the device does, if any.

    It is the model of the device's path, or the plain row if that defines the bits.
    """
    if profile.path != "dsp" or not step.node.function.scratch:
        return None
    rows = list_rows(step.row.op.name, step.row.op.type)
    own = [row for row in rows if row.kind != "fast" and row.claims(profile)]
    return next((row for row in own if row.kind == "model"), own[0])
