"""Requirements of each operator on formats with powers of two as scales."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable

from ..ir.float_graph import FloatGraph
from ..operators import (
    Clip,
    Concat,
    DepthToSpace,
    Elementwise,
    Gather,
    Identity,
    Operator,
    Pad,
    Pool,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    SpaceToDepth,
    Tanh,
    Transpose,
)
from .fusion import get_clamp_bounds


@dataclass(frozen=True)
class Rule:
    """Requirements of an operator on the formats of its tensors.

    same_format: the output has the format of the inputs, because the function cannot shift.
    passes: saturating the input is saturating the output, so that only the range of the output
    counts (the input of a ReLU need not hold what the ReLU cuts off). fixed: the output always has
    bits - 1 fraction bits. integer_bits: the most that the input may have.
    """

    same_format: bool = False
    passes: bool = False
    fixed: bool = False
    integer_bits: int = 64


_DATA_MOVEMENT = Rule(same_format=True, passes=True)

_RULES: Mapping[type, Rule] = {
    **dict.fromkeys(
        (Relu, Clip, Identity, Reshape, Transpose, Shuffle, Slice, Gather, Concat, Pad),
        _DATA_MOVEMENT,
    ),
    **dict.fromkeys((DepthToSpace, SpaceToDepth), _DATA_MOVEMENT),
    Sigmoid: Rule(fixed=True, integer_bits=3),
    Tanh: Rule(fixed=True, integer_bits=3),
    Softmax: Rule(fixed=True),
    PRelu: Rule(same_format=True),
}


def get_rule(operator: Operator) -> Rule:
    """Return the rule of an operator; those that multiply ask for nothing."""
    if isinstance(operator, Pool):
        return Rule(same_format=True, passes=operator.kind == "max")
    if isinstance(operator, Elementwise):
        return Rule(same_format=operator.kind not in ("multiply", "divide"))
    if isinstance(operator, Reduce) and operator.kind in ("max", "min"):
        return _DATA_MOVEMENT
    return _RULES.get(type(operator), Rule())


@dataclass(frozen=True)
class FormatGroup:
    """Tensors that share one format. exposed: those whose range it must hold.

    fixed, integer_bits: see Rule.
    """

    tensors: tuple[str, ...]
    exposed: tuple[str, ...]
    fixed: bool
    integer_bits: int


def find_format_groups(
    graph: FloatGraph, rule_of: Callable[[Operator], Rule] = get_rule
) -> dict[str, FormatGroup]:
    """Return tensor name -> the tensors that share its format."""
    head = {name: name for name in graph.shapes}

    def find(name: str) -> str:
        while head[name] != name:
            name = head[name]
        return name

    readers: dict[str, list[Rule]] = {name: [] for name in graph.shapes}
    fixed, integer_bits = set(), dict.fromkeys(graph.shapes, 64)
    for node in graph.nodes:
        own = rule_of(node.operator)
        for name in node.inputs:
            readers[name].append(own)
            integer_bits[name] = min(integer_bits[name], own.integer_bits)
            if own.same_format:
                head[find(name)] = find(node.name)
        if own.fixed:
            fixed.add(node.name)
    members: dict[str, list[str]] = {}
    for name in graph.shapes:
        members.setdefault(find(name), []).append(name)
    exposed = {
        name
        for name, rules in readers.items()
        if name in graph.outputs or not rules or not all(own.passes for own in rules)
    }
    group_of = {}
    for tensors in members.values():
        group = FormatGroup(
            tuple(tensors),
            tuple(name for name in tensors if name in exposed),
            any(name in fixed for name in tensors),
            min(integer_bits[name] for name in tensors),
        )
        group_of.update(dict.fromkeys(tensors, group))
    return group_of


def find_kept_range(graph: FloatGraph, name: str) -> tuple[float, float]:
    """Return the values of a tensor, lowest and highest, that the activations after it let
    through.
    """
    low, high = -math.inf, math.inf
    while name not in graph.outputs and len(graph.readers(name)) == 1:
        (reader,) = graph.readers(name)
        operator, name = reader.operator, reader.name
        limits = get_clamp_bounds(operator)
        if limits is not None:
            low, high = max(low, limits[0]), min(high, limits[1])
        elif not (isinstance(operator, Pool) and operator.kind == "max"):
            break
    return low, high
