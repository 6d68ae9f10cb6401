"""Planning of a graph: the row of each call, and its addresses in the arena."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..functions.base import check_release
from ..functions.esp_nn_rules import describe_evidence
from ..functions.shapes import get_extent
from ..io.arguments import have
from ..ir.builds import build_calls
from ..ir.graph import Graph, Loop, Node, Tensor
from ..kernels import table as kernels
from ..kernels.table import CAP, FEATURES, HOST, Row, cpu_features
from ..targets import Profile
from . import split
from .addresses import Addresses, Offsets, assign_addresses
from .graph_fusion import Folded, fold
from .npu import moves_bytes
from .sign_flip import flip_signs
from .step import Step

#: Prefix of the name of an input that a layer overwrites, after the layer.
CLOBBER = "clobber."

#: Warning of a network of ESP-DL on an ESP32-P4.
_READ_ONLY = (
    "ESP-DL's kernels for the ESP32-P4 were read, not run; results are those of the vendor's C "
    "with the rounding of this chip"
)


@dataclass(frozen=True)
class Store:
    """Tensor copied out of the arena after a step."""

    after: int
    address: int
    tensor: Tensor


@dataclass(frozen=True)
class Constant:
    """Tensor that exists before the first step."""

    name: str
    address: int
    array: np.ndarray


@dataclass(frozen=True)
class Plan:
    """A network planned for one profile.

    arena_bytes: working memory of one thread. cleared: bytes at its start that are zero when a
    sample starts, as a device's memory after reset. stores: results of a run, by step. order: their
    names: outputs in the order of the file and then states, or all layers. loops: around the steps;
    conditions: their addresses. calls: one step per graph node, before fusion.
    """

    graph: Graph
    profile: Profile
    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    states: tuple[int, ...]
    stores: tuple[Store, ...]
    order: tuple[str, ...]
    arena_bytes: int
    cleared: int
    warnings: tuple[str, ...]
    calls: tuple[Step, ...]
    loops: tuple[Loop, ...] = ()
    conditions: tuple[int, ...] = ()
    constants: tuple[Constant, ...] = ()

    def __repr__(self) -> str:
        return f"<Plan of {self.graph.name[:60]!r} for {self.profile}: {len(self.steps)} steps>"

    def __str__(self) -> str:
        """Return one line for each step: the layer, its row, and the reason for this row."""
        rows = [f"{step.row} ({step.row.kind})" for step in self.steps]
        widths = [max(map(len, column)) for column in ([s.node.name for s in self.steps], rows)]
        return "\n".join(
            f"{step.node.name:<{widths[0]}}  {row:<{widths[1]}}  {step.why}"
            + "".join(f"; with {node.name}" for node in step.folds)
            + (f"; with {step.relu.node.name}" if step.relu else "")
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
    """Choose rows and addresses.

    Raises the contract's errors, prefixed with the layer's name. variant: the row to run for every
    op that has one of this name. trace: return every layer's output, and the remains of destroyed
    inputs as clobber.<layer>. threads: threads that share the large calls of a sample.
    """
    graph = build_calls(graph, profile)
    steps = tuple(_make_step(graph, node, profile, variant) for node in graph.nodes)
    if variant is not None and not any(step.row.is_called(variant) for step in steps):
        able = [(row, step.params) for step in steps for row in _list_rows(step.node)]
        raise Error(_explain_lack(able, graph.name, profile, variant))
    calls, left = steps, Folded(graph, steps)
    if variant is None and not trace and graph.memory is None:
        left = fold(graph, steps, profile)
    steps = left.steps
    if threads > 1 and not trace and not graph.states and not graph.loops:
        steps = _split_steps(steps, threads)
    addresses = assign_addresses(left.graph, profile, steps, trace, left.constants)
    steps = _place_steps(steps, addresses, profile, variant)
    if graph.memory is not None:
        calls = steps  # nothing is fused, and some addresses require a different row
    if not trace and not graph.loops:
        steps = tuple(_fuse_rectifiers(graph, steps))
    if left.graph is not graph:
        steps = flip_signs(graph, steps)
    count = len(graph.inputs)
    stores = tuple(_stores(graph, steps, addresses, trace))
    made = tuple(store.tensor.name for store in stores)
    return Plan(
        graph,
        profile,
        steps,
        addresses.inputs[:count],
        addresses.states,
        stores,
        made if trace else tuple(dict.fromkeys((*graph.outputs, *made))),
        addresses.arena_bytes,
        addresses.cleared,
        (*addresses.warnings, *_find_faults(graph, profile)),
        calls,
        left.graph.loops,
        addresses.conditions,
        tuple(map(Constant, left.constants, addresses.inputs[count:], left.constants.values())),
    )


def _find_faults(graph: Graph, profile: Profile) -> list[str]:
    """Return a sentence for each fault or unexpected result in builds of the device's library:
    the layers whose calls have it.
    """
    layers: dict[str, list[str]] = {}
    for node in graph.nodes:
        effects = (node.function.fault(node.params, profile), node.effect)
        for fault in dict.fromkeys((*effects, *_list_warnings(node, profile))):
            if fault:
                layers.setdefault(fault, []).append(repr(node.name))
    said = [_tell(*each) for each in layers.items()]
    if profile.esp_dl and profile.path == "esp32p4":
        said.insert(0, _READ_ONLY)
    names = (node.function.name for node in graph.nodes)
    evidence = describe_evidence(profile, names) if profile.esp_nn else ""
    if evidence:
        said.insert(0, evidence)
    return [f"{graph.name}: {each}" for each in said]


def _tell(fault: str, layers: list[str]) -> str:
    """Return a fault and the layers that have it."""
    if len(layers) == 1:
        return f"layer {layers[0]}: {fault}"
    return f"{len(layers)} layers: {fault} ({', '.join(layers)})"


def _list_warnings(node: Node, profile: Profile) -> tuple[str, ...]:
    """Return the faults of the release in this call."""
    if profile.path == "npu":
        return ()
    op, values = _list_rows(node)[0].op, node.function.struct_values(node.params)
    said = kernels.apply_rules(op, profile, values).warnings
    return tuple(f"CMSIS {profile.cmsis}: {each}" for each in said)


def _list_rows(node: Node) -> Sequence[Row]:
    return kernels.list_rows(node.function.op, node.function.type)


def _make_step(graph: Graph, node: Node, profile: Profile, variant: Optional[str]) -> Step:
    rows = _list_rows(node)
    try:
        check_release(node.function, profile, in_network=True)
        values = node.function.struct_values(node.params)
        params = kernels.make_params(rows[0].op, profile, values)
        sizes = kernels.check(rows[0], params)
        able = (row for row in rows if row.is_called(variant) and row.serves(params))
        row = next(able, None) or kernels.choose(rows, profile, params)
    except Error as error:
        where = f"{graph.name}: layer {node.name!r} ({node.function.name})"
        raise type(error)(f"{where}: {error}") from None
    cost = split.estimate_microseconds(row, get_extent(node.function.macs, node.params), sizes)
    return Step(node, row, params, sizes, (), 0, cost=cost)


def _split_steps(steps: tuple[Step, ...], threads: int) -> tuple[Step, ...]:
    """Split the large steps, if it gains time."""
    in_parts = []
    for step in steps:
        parts = split.choose_parts(step.row, step.params, step.cost, threads)
        scratch = split.get_part_scratch(step.row, step.params, parts)
        in_parts.append(replace(step, parts=parts, part_scratch=scratch))
    worth = split.gains_from_splitting(sum(step.cost for step in in_parts if step.parts))
    return tuple(in_parts) if worth else steps


def _place_steps(
    steps: Iterable[Step], addresses: Addresses, profile: Profile, variant: Optional[str]
) -> tuple[Step, ...]:
    """Return the steps at their addresses, on the device's own rows if a call reads their scratch
    memory.
    """
    addressed = []
    for step, offsets in zip(steps, addresses.calls):
        row = offsets.row or step.row
        addressed.append(
            replace(
                step,
                row=row,
                parts=step.parts if row is step.row and _may_be_split(step, offsets) else (),
                inputs=offsets.inputs,
                output=offsets.output,
                scratch=offsets.scratch,
                spare=offsets.spare,
                why=_explain_choice(
                    row, step.row, _list_rows(step.node), profile, step.params, variant
                ),
            )
        )
    return tuple(addressed)


def _may_be_split(step: Step, offsets: Offsets) -> bool:
    """True if no part writes memory that another part reads."""
    end = offsets.output + step.sizes.output
    return offsets.spare is None and all(
        start + size <= offsets.output
        or start >= end
        or (step.sizes.in_place and start == offsets.output and size == step.sizes.output)
        for start, size in zip(offsets.inputs, step.sizes.inputs)
    )


def _fuse_rectifiers(graph: Graph, steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps; a rectifier is fused if the row before can apply it."""
    index = 0
    while index < len(steps):
        step, follower = steps[index], steps[index + 1] if index + 1 < len(steps) else None
        index += 1
        fits = follower and _rectifies(step, follower) and step.node.name not in graph.outputs
        if follower and fits and kernels.fuse_relu(step.row, step.params):
            step = replace(step, relu=follower)
            index += 1
        yield step


def _rectifies(step: Step, follower: Step) -> bool:
    """True if the next step rectifies this step's whole output in place."""
    return (
        follower.row.op.name == "relu"
        and follower.inputs == (step.output,)
        and follower.output == step.output
        and follower.sizes.output == step.sizes.output
    )


def _stores(
    graph: Graph, steps: Sequence[Step], addresses: Addresses, trace: bool
) -> Iterable[Store]:
    last = len(steps) - 1
    for index, step in enumerate(steps):
        wanted = []
        if (trace and not moves_bytes(step.node)) or step.result.name in graph.outputs:
            wanted.append((step.output, step.result))
        if trace and step.sizes.destroys and graph.memory is not None:
            wanted.append((step.inputs[0], _find_clobbered(step)))
        if index == last:
            wanted += list(zip(addresses.states, graph.states))
        for address, tensor in wanted:
            yield Store(index, address, tensor)


def _find_clobbered(step: Step) -> Tensor:
    """Return the destroyed input of a call as a tensor, in the input's shape."""
    array = step.node.function.inputs[0]
    return Tensor(f"{CLOBBER}{step.node.name}", array.shape(step.node.params), array.dtype)


# ---- the reason for the row of a step, in words ----


def _explain_choice(
    row: Row,
    chosen: Row,
    rows: Sequence[Row],
    profile: Profile,
    params: Any,
    variant: Optional[str],
) -> str:
    """Explain why `row` runs, among all `rows` of its op, which are listed best first.

    chosen: the planner's choice before it knew the memory. variant: the user's choice.
    """
    if row != chosen:
        what = "scratch memory" if row.kind == "model" else "destroyed input"
        return f"the device's {what} is read, and {chosen.variant} leaves other bytes there"
    if row.is_called(variant):
        return "asked for"
    claiming = [other for other in rows if other.claims(profile) and other.kind != "model"]
    if len(claiming) == 1:
        return "the only one"
    better = claiming[: claiming.index(row)]
    passed = "; ".join(f"{other.variant} {_explain_unfit(other, params)}" for other in better)
    return f"the fastest here: {passed}" if passed else "the fastest"


def _explain_lack(
    calls: Sequence[tuple[Row, Any]], network: str, profile: Profile, variant: str
) -> str:
    """Explain why no call of a network runs on a row of this name, and list possible names.

    calls: each row that computes a call of the network, and its parameters.
    """
    able = sorted({row.variant for row, params in calls if row.serves(params)})
    named = [row for row, _ in calls if row.is_called(variant) and row.claims(profile)]
    absent = [row for row in named if not row.runs_here()]
    if absent:
        needs = " and ".join(absent[0].features)
        why = f"the variant {variant!r} needs {needs}, which this host lacks or {CAP} forbids"
    elif named:
        why = f"the variant {variant!r} does not compute layers of the shapes of {network}"
    else:
        why = f"no layer of {network} has a variant {variant!r}"
    return f"{why}; {have(able, variant)}"


def _explain_unfit(row: Row, params: Any) -> str:
    """Return why a row is passed over."""
    missing = row.cpu & ~cpu_features()
    if not missing:
        takes = row.takes(params)
        return "is slower on this shape" if takes else "does not take these parameters"
    names = ", ".join(name for name, bit in FEATURES.items() if bit & missing)
    capped = not missing & ~HOST
    return f"is capped by {CAP}" if capped else f"needs {names}"
