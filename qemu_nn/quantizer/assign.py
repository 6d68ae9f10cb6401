"""Formats of all tensors, weights and biases of a network, such that the device can run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional, Union

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.formats import dec_bit
from ..ir.statistics import Statistics, statistics_of
from ..operators import Conv, Dense, Elementwise
from .policies import Policy
from .rules import Group, groups

#: Node name -> role ("output", "weights", "bias") -> fraction bits that are given, not chosen.
Overrides = Mapping[str, Mapping[str, int]]
ROLES = ("output", "weights", "bias")

#: The largest shift of a kernel; bits of an accumulator above its sign that stay unused, because
#: inputs will come that calibration has not seen.
_LARGEST_SHIFT, _SPARE = 31, 1

#: The fewest fraction bits of a tensor: a graph takes none with fewer.
_COARSEST = -64


@dataclass(frozen=True)
class Formats:
    """Fraction bits: of tensors by name, of weights and biases by the name of their node.

    bits: 8 or 16. notes: what had to give way, in sentences.
    """

    bits: int
    tensors: Mapping[str, int]
    weights: Mapping[str, int]
    biases: Mapping[str, int]
    notes: tuple[str, ...] = ()


@dataclass
class _Draft:
    """Formats while they settle; fraction bits only ever go down."""

    bits: int
    groups: Mapping[str, Group]
    tensors: dict[str, int]
    weights: dict[str, int]
    biases: dict[str, int]
    given: Overrides
    notes: dict[tuple[str, str], str] = field(default_factory=dict)

    def lower(self, node: str, role: str, frac: int, why: str) -> None:
        """Give a tensor (with its group), weights or bias fewer fraction bits."""
        if role in self.given.get(node, {}):
            raise Error(
                f"{node}: its {role} cannot have {self.given[node][role]} fraction bits: {why}; "
                f"{frac} would do"
            )
        if role == "output":
            group = self.groups[node]
            if group.fixed:
                raise Error(f"{node}: its format is fixed by the device, but {why}")
            was = self.tensors[node]
            self.tensors.update(dict.fromkeys(group.tensors, frac))
        else:
            chosen = self.weights if role == "weights" else self.biases
            was, chosen[node] = chosen[node], frac
        first = self.notes.get((node, role), f"{node}: {role} {was}")
        start = first.split(" -> ")[0]
        self.notes[node, role] = f"{start} -> {frac} fraction bits: {why}"


def settle(
    graph: FloatGraph,
    statistics: Mapping[str, Statistics],
    bits: int,
    policy: Policy,
    weight_policy: Policy,
    given: Optional[Overrides] = None,
) -> Formats:
    """Formats by the policies, lowered until every shift of the device is legal.

    statistics: of every tensor of the graph. given: formats that are not chosen but taken.
    Raises Error where these cannot be.
    """
    given = given or {}
    of = groups(graph)
    weighted = {n.name: n.operator for n in graph.nodes if isinstance(n.operator, (Conv, Dense))}
    _check_given(graph, given, weighted, of)
    tensors = {}
    for group in {id(group): group for group in of.values()}.values():
        frac = _of_group(group, statistics, bits, policy, given)
        tensors.update(dict.fromkeys(group.tensors, frac))
    weights, biases = {}, {}
    for name, operator in weighted.items():
        own = given.get(name, {})
        chosen = weight_policy(statistics_of(operator.weights), bits)
        weights[name] = own.get("weights", chosen)
        if operator.bias is not None:
            biases[name] = own.get("bias", _of_bias(operator.bias, bits))
    draft = _Draft(bits, of, tensors, weights, biases, given)
    rooms = {name: _room(op, statistics[name]) for name, op in weighted.items()}
    _resolve_tensors(graph, draft, rooms)
    for node in graph.nodes:
        if node.name in rooms:
            _resolve_weights(node, draft, rooms[node.name])
    notes = tuple(draft.notes.values())
    return Formats(bits, draft.tensors, draft.weights, draft.biases, notes)


def _of_group(
    group: Group,
    statistics: Mapping[str, Statistics],
    bits: int,
    policy: Policy,
    given: Overrides,
) -> int:
    asked = {given[name]["output"] for name in group.tensors if "output" in given.get(name, {})}
    if asked:
        return asked.pop()
    if group.fixed:
        return bits - 1
    frac = min(policy(statistics[name], bits) for name in group.exposed)
    if group.integer_bits < 64:
        frac = min(max(frac, bits - 1 - group.integer_bits), bits - 1)
    return frac


def _of_bias(bias: np.ndarray, bits: int) -> int:
    return dec_bit(float(np.abs(bias).max(initial=0.0)), bits)


def _room(operator: Union[Conv, Dense], statistics: Statistics) -> int:
    """The most fraction bits with which a 32-bit accumulator holds the sums of a layer."""
    bias = 0.0 if operator.bias is None else float(np.abs(operator.bias).max(initial=0.0))
    return dec_bit(max(statistics.largest, bias), 32) - _SPARE


def _resolve_tensors(graph: FloatGraph, draft: _Draft, rooms: Mapping[str, int]) -> None:
    """Lower tensors until every sum and product is shifted down or not at all.

    Ends, as every turn but the last lowers a tensor, and none is lowered below _COARSEST. What it
    ends with is the finest there is, as a limit never falls while others' fraction bits rise.
    """
    lowered = True
    while lowered:
        lowered = False
        for node in graph.nodes:
            if node.name in rooms:
                limit = draft.tensors[node.inputs[0]] + draft.weights[node.name]
                limit = min(limit, rooms[node.name])
            elif isinstance(node.operator, Elementwise) and node.operator.kind == "multiply":
                limit = sum(draft.tensors[name] for name in node.inputs)
            else:
                continue
            if draft.tensors[node.name] > limit:
                _check_end(node, limit, draft)
                why = f"its products have {limit}, and a sum is only ever shifted down"
                draft.lower(node.name, "output", limit, why)
                lowered = True


def _check_end(node: FloatNode, limit: int, draft: _Draft) -> None:
    """Error where lowering the output of a node to a limit would lead to no end."""
    tied = draft.groups[node.inputs[0]] is draft.groups[node.name]
    if tied and draft.weights.get(node.name, 0) < 0:
        raise Error(
            f"{node.name}: its input and its output share one format, as a sum ties them, and its "
            f"weights pass {2 ** (draft.bits - 1) - 1}, which asks for a coarser output: no format "
            "is both; use the scheme 'affine', or give its weights 0 fraction bits, so that the "
            "largest saturate"
        )
    if limit < _COARSEST:
        raise Error(
            f"{node.name}: its output would need {limit} fraction bits, and no tensor has fewer "
            f"than {_COARSEST}; use the scheme 'affine', which rescales every sum"
        )


def _resolve_weights(node: FloatNode, draft: _Draft, room: int) -> None:
    """Between tensors that are settled: the accumulator holds the sums, both shifts are legal."""
    name = node.name
    source = draft.tensors[node.inputs[0]]
    product = source + draft.weights[name]
    room = min(room, draft.tensors[name] + _LARGEST_SHIFT)
    if product > room:
        why = "the accumulator has no room for so fine products"
        draft.lower(name, "weights", room - source, why)
        product = room
    if name in draft.biases and draft.biases[name] > product:
        why = f"its products have {product}, and a bias is only ever shifted up"
        draft.lower(name, "bias", product, why)


def _check_given(
    graph: FloatGraph, given: Overrides, weighted: Mapping[str, object], of: Mapping[str, Group]
) -> None:
    """Every given format names something that exists, and no two contradict each other."""
    for name, roles in given.items():
        if name not in graph.shapes:
            raise Error(f"{graph.name} has no layer {name!r}; have: {', '.join(graph.shapes)}")
        for role, frac in roles.items():
            if role not in ROLES or (role != "output" and name not in weighted):
                raise Error(f"{name} has no {role!r} to give a format; have: {', '.join(ROLES)}")
            if not isinstance(frac, int):
                raise Error(f"{name}: its {role} has a number of fraction bits, not {frac!r}")
            if not -32 <= frac <= 32:
                raise Error(f"{name}: {frac} fraction bits of its {role} are out of -32..32")
    seen: dict[int, tuple[str, int]] = {}
    for name, roles in given.items():
        if "output" not in roles:
            continue
        if of[name].fixed:
            raise Error(f"{name}: the device fixes its format; leave it out")
        other, frac = seen.setdefault(id(of[name]), (name, roles["output"]))
        if frac != roles["output"]:
            raise Error(
                f"{name} and {other} share one format, as nothing between them can shift, but are "
                f"given {roles['output']} and {frac} fraction bits"
            )
