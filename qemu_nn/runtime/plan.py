"""A graph made into steps: which row computes each call, and at which address of the arena."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from ..errors import Error
from ..functions.extents import extent
from ..ir.graph import Graph, Node, Tensor
from ..kernels import table as kernels
from ..kernels.table import Row, Sizes
from ..targets import Profile
from . import addresses as place
from . import split as cut
from .addresses import Placement
from .reasons import lacking, reason

#: In front of a layer's name: what is left of an input that the layer destroys.
CLOBBER = "clobber."


@dataclass(frozen=True)
class Step:
    """One call: the row that runs, its C parameters, and byte offsets into the arena.

    spare: offset of a copy of the first input where the call would destroy one that is needed.
    relu: the rectifier that follows, where the row applies it on the way. why: this row runs.
    cost: microseconds, about. parts: what several threads compute of it at a time, each with
    part_scratch bytes.
    """

    node: Node
    row: Row
    params: Any
    sizes: Sizes
    inputs: tuple[int, ...]
    output: int
    scratch: int = 0
    spare: Optional[int] = None
    relu: Optional[Node] = None
    why: str = ""
    cost: float = 0.0
    parts: tuple[cut.Part, ...] = ()
    part_scratch: int = 0

    @property
    def scratch_bytes(self) -> int:
        """What the call needs beside its arrays, whole or in parts."""
        return max(self.row.scratch(self.params), len(self.parts) * self.part_scratch)

    @property
    def result(self) -> Tensor:
        """The tensor that the arena holds at `output` after this step."""
        return self.relu.output if self.relu else self.node.output


@dataclass(frozen=True)
class Store:
    """A tensor that leaves the arena after a step."""

    after: int
    address: int
    tensor: Tensor


@dataclass(frozen=True)
class Plan:
    """A network ready to run for one profile.

    arena_bytes: working memory of one thread. cleared: bytes at its start that are zero when a
    sample starts, as the memory of a device after reset. stores: what a run returns.
    """

    graph: Graph
    profile: Profile
    steps: tuple[Step, ...]
    input: int
    states: tuple[int, ...]
    stores: tuple[Store, ...]
    arena_bytes: int
    cleared: int
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Plan of {self.graph.name[:60]!r} for {self.profile}: {len(self.steps)} steps>"

    def __str__(self) -> str:
        """One line for each step: the layer, the row that computes it, and why that one."""
        rows = [f"{step.row} ({step.row.kind})" for step in self.steps]
        widths = [max(map(len, column)) for column in ([s.node.name for s in self.steps], rows)]
        return "\n".join(
            f"{step.node.name:<{widths[0]}}  {row:<{widths[1]}}  {step.why}"
            + (f"; {step.relu.name} on the way" if step.relu else "")
            + (f"; in {len(step.parts)} parts" if step.parts else "")
            for step, row in zip(self.steps, rows)
        )


def plan(
    graph: Graph,
    profile: Profile,
    variant: Optional[str] = None,
    trace: bool = False,
    threads: int = 1,
) -> Plan:
    """Choose rows and addresses. Raises the contract's errors, with the layer's name in front.

    variant: the row to run wherever an op has one of that name; trace: return every layer's
    output, and as clobber.<layer> what is left of an input that a layer destroys. threads: that
    share the large calls of a sample.
    """
    steps = tuple(_step(graph, node, profile, variant) for node in graph.nodes)
    if variant is not None and all(step.row.variant != variant for step in steps):
        calls = [(row, step.params) for step in steps for row in _rows(step.node)]
        raise Error(lacking(calls, graph.name, profile, variant))
    if threads > 1 and not trace and not graph.states:
        steps = _in_parts(steps, threads)
    placement = place.place(graph, profile, steps, trace)
    steps = _put(steps, placement, profile, variant)
    if not trace:
        steps = tuple(_fused(graph, steps))
    return Plan(
        graph,
        profile,
        steps,
        placement.input,
        placement.states,
        tuple(_stores(graph, steps, placement, trace)),
        placement.arena_bytes,
        placement.cleared,
        (*placement.warnings, *_faults(graph, profile)),
    )


def _faults(graph: Graph, profile: Profile) -> list[str]:
    """Layers in whose calls builds of Arm's library stop the core."""
    told = [(node.name, node.function.fault(node.params, profile)) for node in graph.nodes]
    return [f"{graph.name}: layer {name!r}: {fault}" for name, fault in told if fault]


def _rows(node: Node) -> list[Row]:
    return kernels.rows_of(node.function.op, node.function.type)


def _step(graph: Graph, node: Node, profile: Profile, variant: Optional[str]) -> Step:
    rows = _rows(node)
    params = kernels.make_params(rows[0].op, profile, node.function.struct_values(node.params))
    try:
        sizes = kernels.check(rows[0], params)
        has_it = any(row.variant == variant and row.serves(profile, params) for row in rows)
        row = kernels.choose(rows, profile, params, variant if has_it else None)
    except Error as error:
        where = f"{graph.name}: layer {node.name!r} ({node.function.name})"
        raise type(error)(f"{where}: {error}") from None
    cost = cut.microseconds(row, extent(node.function.macs, node.params), sizes)
    return Step(node, row, params, sizes, (), 0, cost=cost)


def _in_parts(steps: tuple[Step, ...], threads: int) -> tuple[Step, ...]:
    """The large steps cut, if that is worth it."""
    put = []
    for step in steps:
        parts = cut.parts(step.row, step.params, step.cost, threads)
        scratch = cut.scratch_of_part(step.row, step.params, parts)
        put.append(replace(step, parts=parts, part_scratch=scratch))
    worth = cut.worthwhile(sum(step.cost for step in put if step.parts))
    return tuple(put) if worth else steps


def _put(
    steps: Iterable[Step], placement: Placement, profile: Profile, variant: Optional[str]
) -> tuple[Step, ...]:
    """The steps at their addresses, on the device's own rows where its scratch is observed."""
    put = []
    for step, spot in zip(steps, placement.spots):
        row = spot.row or step.row
        put.append(
            replace(
                step,
                row=row,
                parts=step.parts if row is step.row and _may_be_cut(step, spot) else (),
                inputs=spot.inputs,
                output=spot.output,
                scratch=spot.scratch,
                spare=spot.spare,
                why=reason(row, step.row, _rows(step.node), profile, step.params, variant),
            )
        )
    return tuple(put)


def _may_be_cut(step: Step, spot: place.Spot) -> bool:
    """Does no part write what another one reads?"""
    end = spot.output + step.sizes.output
    return spot.spare is None and all(
        start + size <= spot.output
        or start >= end
        or (step.sizes.in_place and start == spot.output and size == step.sizes.output)
        for start, size in zip(spot.inputs, step.sizes.inputs)
    )


def _fused(graph: Graph, steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, rectifiers left out where the row before can apply them on the way."""
    index = 0
    while index < len(steps):
        step, follower = steps[index], steps[index + 1] if index + 1 < len(steps) else None
        index += 1
        fits = follower and _rectifies(step, follower) and step.node.name not in graph.outputs
        if follower and fits and kernels.fuse_relu(step.row, step.params):
            step = replace(step, relu=follower.node)
            index += 1
        yield step


def _rectifies(step: Step, follower: Step) -> bool:
    """Is the next step a rectifier of this step's whole output, in place?"""
    return (
        follower.row.op.name == "relu"
        and follower.inputs == (step.output,)
        and follower.output == step.output
        and follower.sizes.output == step.sizes.output
    )


def _stores(
    graph: Graph, steps: Sequence[Step], placement: Placement, trace: bool
) -> Iterable[Store]:
    last = len(steps) - 1
    for index, step in enumerate(steps):
        wanted = []
        if trace or step.result.name in graph.outputs:
            wanted.append((step.output, step.result))
        if trace and step.sizes.destroys and graph.memory is not None:
            wanted.append((step.inputs[0], _clobbered(step)))
        if index == last:
            wanted += list(zip(placement.states, graph.states))
        for address, tensor in wanted:
            yield Store(index, address, tensor)


def _clobbered(step: Step) -> Tensor:
    """The destroyed input of a call as a tensor, in the input's shape."""
    array = step.node.function.inputs[0]
    return Tensor(f"{CLOBBER}{step.node.name}", array.shape(step.node.params), array.dtype)
