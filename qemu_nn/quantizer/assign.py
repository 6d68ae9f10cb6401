"""Assignment of formats to all tensors, weights and biases, so that the device can run
the network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import have
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.formats import compute_dec_bit, limits
from ..ir.statistics import Statistics, make_statistics
from ..operators import Conv, Dense, Elementwise
from .grid import Grid
from .policies import Policy
from .rules import FormatGroup, find_format_groups

#: Node name -> role ("output", "weights", "bias") -> fraction bits that the user has chosen.
Overrides = Mapping[str, Mapping[str, int]]
ROLES = ("output", "weights", "bias")

#: Bits of an accumulator kept free for inputs with larger sums than those of the calibration data.
_SPARE = 1

#: The fewest fraction bits of a tensor: a graph refuses tensors with fewer.
_COARSEST = -64


@dataclass(frozen=True)
class Formats:
    """Fraction bits: of tensors by name, of weights and biases by the name of their node.

    bits: 8 or 16. notes: a sentence for each format that is coarser than its policy's. bias_bits:
    those of biases, if not `bits`.
    """

    bits: int
    tensors: Mapping[str, int]
    weights: Mapping[str, int]
    biases: Mapping[str, int]
    notes: tuple[str, ...] = ()
    bias_bits: int = 0

    def grid(self, node: FloatNode) -> Grid:
        """Return the steps and limits of a layer's weights and bias."""
        assert isinstance(node.operator, (Conv, Dense))
        product = self.tensors[node.inputs[0]] + self.weights[node.name]
        bias = self.biases.get(node.name, product)
        ends = limits("int8" if self.bits == 8 else "int16")
        weights = np.full((1, 1, 1), math.ldexp(1.0, -self.weights[node.name]))
        high = 2 ** (self.bias_bits - 1)
        bias_ends = (-high, high - 1) if self.bias_bits else ends
        return Grid(weights, ends, np.full(1, math.ldexp(1.0, -bias)), bias_ends)


@dataclass
class _Draft:
    """Formats during the assignment; fraction bits only decrease."""

    bits: int
    groups: Mapping[str, FormatGroup]
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
                f"give it {frac}"
            )
        if role == "output":
            group = self.groups[node]
            if group.fixed:
                raise Error(f"{node}: the device fixes its format, but {why}")
            was = self.tensors[node]
            self.tensors.update(dict.fromkeys(group.tensors, frac))
        else:
            chosen = self.weights if role == "weights" else self.biases
            was, chosen[node] = chosen[node], frac
        first = self.notes.get((node, role), f"{node}: {role} {was}")
        start = first.split(" -> ")[0]
        self.notes[node, role] = f"{start} -> {frac} fraction bits: {why}"


def assign_formats(
    graph: FloatGraph,
    statistics: Mapping[str, Statistics],
    bits: int,
    policy: Policy,
    weight_policy: Policy,
    given: Optional[Overrides] = None,
    sum_bits: int = 32,
) -> Formats:
    """Return formats by the policies, lowered until every shift of the device is legal.

    statistics: of every tensor of the graph. given: formats of the user, which stay unchanged.
    sum_bits: of an accumulator, which is shifted by less.
    Raises Error if the device cannot run these formats.
    """
    given = given or {}
    group_of = find_format_groups(graph)
    weighted = {n.name: n.operator for n in graph.nodes if isinstance(n.operator, (Conv, Dense))}
    _check_given(graph, given, weighted, group_of)
    tensors = {}
    for group in {id(group): group for group in group_of.values()}.values():
        frac = _choose_group_frac(group, statistics, bits, policy, given)
        tensors.update(dict.fromkeys(group.tensors, frac))
    weights, biases = {}, {}
    for name, operator in weighted.items():
        own = given.get(name, {})
        chosen = weight_policy(make_statistics(operator.weights), bits)
        weights[name] = own.get("weights", chosen)
        if operator.bias is not None:
            biases[name] = own.get("bias", _choose_bias_frac(operator.bias, bits))
    draft = _Draft(bits, group_of, tensors, weights, biases, given)
    _note_saturating(draft, statistics, policy)
    finest = {
        name: _find_finest_sum(op, statistics[name], sum_bits) for name, op in weighted.items()
    }
    _resolve_tensors(graph, draft, finest)
    for node in graph.nodes:
        if node.name in finest:
            _resolve_weights(node, draft, finest[node.name], sum_bits)
    notes = tuple(draft.notes.values())
    return Formats(bits, draft.tensors, draft.weights, draft.biases, notes)


def _choose_group_frac(
    group: FormatGroup,
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


def _note_saturating(draft: _Draft, statistics: Mapping[str, Statistics], policy: Policy) -> None:
    """Note each tensor that needs fewer fraction bits than a format that the device fixes."""
    for name, group in draft.groups.items():
        if not (group.fixed and name in group.exposed):
            continue
        need = policy(statistics[name], draft.bits)
        if need < draft.tensors[name]:
            draft.notes[name, "output"] = (
                f"{name}: output {draft.tensors[name]} fraction bits, though its values need "
                f"{need}: it shares a format that the device fixes, and what does not fit "
                "saturates; scheme='affine' rescales it"
            )


def _choose_bias_frac(bias: np.ndarray, bits: int) -> int:
    return compute_dec_bit(float(np.abs(bias).max(initial=0.0)), bits)


def _find_finest_sum(operator: Union[Conv, Dense], statistics: Statistics, bits: int) -> int:
    """Return the most fraction bits that keep the sums of a layer within so many bits."""
    bias = 0.0 if operator.bias is None else float(np.abs(operator.bias).max(initial=0.0))
    return compute_dec_bit(max(statistics.largest, bias), bits) - _SPARE


def _resolve_tensors(graph: FloatGraph, draft: _Draft, finest: Mapping[str, int]) -> None:
    """Lower tensors until every sum and product is shifted down or not at all.

    finest: node -> the most fraction bits of its sums. The loop ends because every iteration but
    the last lowers a tensor, and none below _COARSEST. The result is the finest legal one, because
    lowering one tensor never raises the limit of another.
    """
    lowered = True
    while lowered:
        lowered = False
        for node in graph.nodes:
            if node.name in finest:
                limit = draft.tensors[node.inputs[0]] + draft.weights[node.name]
                limit = min(limit, finest[node.name])
            elif isinstance(node.operator, Elementwise) and node.operator.kind == "multiply":
                limit = sum(draft.tensors[name] for name in node.inputs)
            else:
                continue
            if draft.tensors[node.name] > limit:
                _check_end(node, limit, draft)
                why = f"its products have {limit}, and the device only shifts sums down"
                draft.lower(node.name, "output", limit, why)
                lowered = True


def _check_end(node: FloatNode, limit: int, draft: _Draft) -> None:
    """Raise Error if lowering the output of a node to a limit would never end."""
    same_group = draft.groups[node.inputs[0]] is draft.groups[node.name]
    if same_group and draft.weights.get(node.name, 0) < 0:
        raise Error(
            f"{node.name}: a sum makes its input and its output share one format, but its "
            f"weights exceed {2 ** (draft.bits - 1) - 1} and need a coarser output; use the scheme "
            "'affine', or give its weights 0 fraction bits, so that the largest saturate"
        )
    if limit < _COARSEST:
        raise Error(
            f"{node.name}: its output would need {limit} fraction bits, but a tensor has at least "
            f"{_COARSEST}; use the scheme 'affine', which rescales every sum"
        )


def _resolve_weights(node: FloatNode, draft: _Draft, finest: int, sum_bits: int) -> None:
    """Lower weights and bias until the sums fit their accumulator and both shifts are legal."""
    name = node.name
    source = draft.tensors[node.inputs[0]]
    product = source + draft.weights[name]
    finest = min(finest, draft.tensors[name] + sum_bits - 1)
    if product > finest:
        why = "the accumulator cannot hold sums of such fine products"
        draft.lower(name, "weights", finest - source, why)
        product = finest
    if name in draft.biases and draft.biases[name] > product:
        why = f"its products have {product}, and the device only shifts a bias up"
        draft.lower(name, "bias", product, why)


def _check_given(
    graph: FloatGraph,
    given: Overrides,
    weighted: Mapping[str, object],
    group_of: Mapping[str, FormatGroup],
) -> None:
    """Raise Error for overrides that name unknown layers or roles, or contradict each other."""
    for name, roles in given.items():
        if name not in graph.shapes:
            raise Error(f"{graph.name} has no layer {name!r}; {have(graph.shapes, name)}")
        for role, frac in roles.items():
            if role not in ROLES or (role != "output" and name not in weighted):
                raise Error(f"{name} has no {role!r} that takes a format; have: {', '.join(ROLES)}")
            if not isinstance(frac, int):
                raise Error(f"{name}: the format of its {role} is {frac!r}, but must be an integer")
            if not -32 <= frac <= 32:
                raise Error(f"{name}: its {role} has {frac} fraction bits, but must have -32..32")
    seen: dict[int, tuple[str, int]] = {}
    for name, roles in given.items():
        if "output" not in roles:
            continue
        if group_of[name].fixed:
            raise Error(f"{name}: the device fixes its format; leave it out of formats")
        other, frac = seen.setdefault(id(group_of[name]), (name, roles["output"]))
        if frac != roles["output"]:
            raise Error(
                f"{name} and {other} share one format, because nothing between them can shift; "
                f"give both {roles['output']} or both {frac} fraction bits"
            )
