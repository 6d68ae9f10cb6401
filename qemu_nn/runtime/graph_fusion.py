"""Removal of calls: fusion into a neighbour, or computation once, at plan time.

Only intermediate tensors change, so traced runs skip this pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import numpy as np

from ..errors import Error
from ..ir.graph import Graph, Loop, Node
from ..kernels import table as kernels
from ..targets import Profile
from .step import Step

#: Structs of parameters of the layers that take a padded image.
_WINDOWS = ("qn_s_conv", "qn_s_depthwise")

#: Axes that have no padding in such a layer.
_WHOLE = ("pre_n", "pre_c", "post_n", "post_c")


@dataclass(frozen=True)
class Folded:
    """The part of a network that remains to run.

    graph: its calls are those of the steps; tensors computed at plan time are additional inputs.
    constants: these, by name.
    """

    graph: Graph
    steps: tuple[Step, ...]
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)


def fold(graph: Graph, steps: Sequence[Step], profile: Profile) -> Folded:
    """Apply every rule to the calls of a network without memory of its own."""
    made_once = _fold_constants(graph, steps)
    left = [step for step in steps if step.node.name not in made_once]
    left = _remove_copies(graph, left, made_once)
    left = _remove_pads(graph, left, profile)
    read = {name for step in left for name in step.node.inputs}
    constants = {name: array for name, array in made_once.items() if name in read}
    tensors = tuple(graph.node(name).output for name in constants)
    rest = replace(
        graph,
        inputs=(*graph.inputs, *tensors),
        nodes=tuple(step.node for step in left),
        loops=_move_loops(graph, left),
    )
    return Folded(rest, tuple(left), constants)


def _move_loops(graph: Graph, left: Iterable[Step]) -> tuple[Loop, ...]:
    """Return the loops around the calls that are left."""
    made, before = graph.made, [0] * (len(graph.nodes) + 1)
    for step in left:
        before[made[step.node.name] + 1] = 1
    counts = np.cumsum(before).tolist()
    return tuple(
        replace(loop, first=counts[loop.first], test=counts[loop.test], last=counts[loop.last])
        for loop in graph.loops
    )


def _list_rewritten(graph: Graph) -> set[str]:
    """Return tensors that a second call overwrites."""
    return {
        name
        for node in graph.nodes
        for array, name in zip(node.function.list_read_inputs(node.params), node.inputs)
        if array.state
    }


def _list_observed(graph: Graph) -> set[str]:
    """Return tensors that something else than a call reads."""
    return {*graph.outputs, *(loop.condition for loop in graph.loops)}


# ---- calls that depend on no input ----


def _fold_constants(graph: Graph, steps: Sequence[Step]) -> dict[str, np.ndarray]:
    """Compute the outputs of calls that read only each other's outputs."""
    found: dict[str, np.ndarray] = {}
    kept = _list_observed(graph) | _list_rewritten(graph)
    for step in steps:
        node = step.node
        if node.name not in kept and all(name in found for name in node.inputs):
            try:
                found[node.name] = _evaluate_call(
                    graph, step, [found[name] for name in node.inputs]
                )
            except Error:
                continue  # fails in each run, as the device does
    return found


def _evaluate_call(graph: Graph, step: Step, inputs: Sequence[np.ndarray]) -> np.ndarray:
    node, output = step.node, np.zeros(step.node.output.shape, step.node.output.dtype)
    weights, bias = (None if n is None else graph.arrays[n] for n in (node.weights, node.bias))
    kernels.call(step.row, step.params, [array.copy() for array in inputs], output, weights, bias)
    return output


# ---- copies ----

#: Neutral elements of an op.
_NEUTRAL = {"minimum": 127, "maximum": -128}


def _remove_copies(
    graph: Graph, steps: Sequence[Step], constants: Mapping[str, np.ndarray]
) -> list[Step]:
    """Remove calls that copy, if nothing overwrites their input while the copy is read."""
    if graph.loops:
        return list(steps)  # the next iteration may read this iteration's copy
    kept, last_read, writes = _list_observed(graph) | _list_rewritten(graph), {}, []
    for at, step in enumerate(steps):
        last_read.update(dict.fromkeys(step.node.inputs, at))
        arrays = zip(step.node.function.list_read_inputs(step.node.params), step.node.inputs)
        writes += [(name, at) for array, name in arrays if array.state]
    sources: dict[str, str] = {}
    left = []
    for at, step in enumerate(steps):
        node = step.node
        node = replace(node, inputs=tuple(sources.get(name, name) for name in node.inputs))
        source, end = _find_copied_input(step, node, constants), last_read.get(node.name, at)
        changed = any(name == source and at < when <= end for name, when in writes)
        if source and node.name not in kept and not changed:
            sources[node.name] = source
        else:
            left.append(replace(step, node=node))
    return left


def _find_copied_input(
    step: Step, node: Node, constants: Mapping[str, np.ndarray]
) -> Optional[str]:
    """Return the input that equals the output of a call, if the kind of call copies."""
    if node.function.op in ("reshape", "read_variable"):
        return node.inputs[0]
    if (node.function.op in _NEUTRAL) and node.function.type == "s8":
        for one, other in (node.inputs, node.inputs[::-1]):
            values, size = constants.get(one), step.sizes.inputs[node.inputs.index(other)]
            neutral = values is not None and (values == _NEUTRAL[node.function.op]).all()
            if neutral and size == step.sizes.output:
                return other
    return None


# ---- padding before a layer that pads ----


def _remove_pads(graph: Graph, steps: Sequence[Step], profile: Profile) -> list[Step]:
    """Remove padding calls if their only reader pads with the same value."""
    if profile.path == "mve" and profile.rounding == "single":
        return list(steps)  # the bits of a sum depend on the position of its pixel
    reads = Counter(name for step in steps for name in step.node.inputs)
    kept = _list_observed(graph) | _list_rewritten(graph)
    pads = {s.node.name: s for s in steps if s.row.op.params == "qn_s_pad"}
    gone: set[str] = set()
    left = []
    for step in steps:
        pad = pads.get(step.node.inputs[0]) if step.node.inputs else None
        merged = None
        if pad and reads[pad.node.name] == 1 and not kept & {pad.node.name, *pad.node.inputs}:
            merged = (
                _fuse_padding(step, pad, profile)
                if _share_loop(graph, pad.node, step.node)
                else None
            )
        if pad and merged:
            gone.add(pad.node.name)
        left.append(merged or step)
    return [step for step in left if step.node.name not in gone]


def _share_loop(graph: Graph, one: Node, other: Node) -> bool:
    """True if two calls are in the same loops."""
    made = graph.made
    return all(loop.holds(made[one.name]) == loop.holds(made[other.name]) for loop in graph.loops)


def _fuse_padding(step: Step, pad: Step, profile: Profile) -> Optional[Step]:
    """Return the layer on the unpadded image, if its row can compute that."""
    p, around = step.node.params, pad.node.params
    if step.row.op.params not in _WINDOWS or step.row.kind != "fast":
        return None
    edge = 0 if step.row.op.type == "s16" else -p["input_offset"]
    image = (p["batches"], p["input_h"], p["input_w"], p["input_c"])
    after = pad.node.function.output.shape(around)
    if around["pad_value"] != edge or image != after or any(around[name] for name in _WHOLE):
        return None
    sides = {f"input_{axis}": around[f"input_{axis}"] for axis in "hw"}
    pads = {f"pad_{axis}": p[f"pad_{axis}"] + around[f"pre_{axis}"] for axis in "hw"}
    own = {**p, **sides, **pads}
    node = replace(step.node, params=own, inputs=pad.node.inputs, builds=())  # of this build
    params = kernels.make_params(step.row.op, profile, node.function.struct_values(node.params))
    try:
        sizes = kernels.check(step.row, params)
    except Error:
        return None  # the device's function has no such padding
    if not step.row.takes(params):
        return None
    return replace(step, node=node, params=params, sizes=sizes, folds=(pad.node,))
