"""What each operator asks of the formats around it, on devices that scale by powers of two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable

from ..ir.float_graph import FloatGraph
from ..operators import (
    Clip,
    Concat,
    Elementwise,
    Identity,
    Operator,
    Pad,
    Pool,
    Relu,
    Reshape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
    Transpose,
)
from .fusion import bounds


@dataclass(frozen=True)
class Rule:
    """tied: the output has the format of the inputs, as nothing in between can shift.

    passes: saturating the input is saturating the output, so that only the output's range counts
    (what a ReLU cuts off needs no room in front of it). fixed: the output has bits - 1 fraction
    bits, always. integer_bits: most that the input may have.
    """

    tied: bool = False
    passes: bool = False
    fixed: bool = False
    integer_bits: int = 64


_MOVES = Rule(tied=True, passes=True)

_RULES: Mapping[type, Rule] = {
    **dict.fromkeys(
        (Relu, Clip, Identity, Reshape, Transpose, Shuffle, Slice, Concat, Pad), _MOVES
    ),
    Sigmoid: Rule(fixed=True, integer_bits=3),
    Tanh: Rule(fixed=True, integer_bits=3),
    Softmax: Rule(fixed=True),
}


def rule(operator: Operator) -> Rule:
    """The rule of an operator; those that multiply are free in all of it."""
    if isinstance(operator, Pool):
        return Rule(tied=True, passes=operator.kind == "max")
    if isinstance(operator, Elementwise):
        return Rule(tied=operator.kind != "multiply")
    return _RULES.get(type(operator), Rule())


@dataclass(frozen=True)
class Group:
    """Tensors that share one format. exposed: those whose range it must hold.

    fixed, integer_bits: see Rule.
    """

    tensors: tuple[str, ...]
    exposed: tuple[str, ...]
    fixed: bool
    integer_bits: int


def groups(graph: FloatGraph, rule_of: Callable[[Operator], Rule] = rule) -> dict[str, Group]:
    """Tensor name -> the group it is in."""
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
            if own.tied:
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
    made = {}
    for tensors in members.values():
        group = Group(
            tuple(tensors),
            tuple(name for name in tensors if name in exposed),
            any(name in fixed for name in tensors),
            min(integer_bits[name] for name in tensors),
        )
        made.update(dict.fromkeys(tensors, group))
    return made


def kept_range(graph: FloatGraph, name: str) -> tuple[float, float]:
    """The values of a tensor, lowest and highest, that the activations behind it let through."""
    low, high = -math.inf, math.inf
    while name not in graph.outputs and len(graph.readers(name)) == 1:
        (reader,) = graph.readers(name)
        operator, name = reader.operator, reader.name
        limits = bounds(operator)
        if limits is not None:
            low, high = max(low, limits[0]), min(high, limits[1])
        elif not (isinstance(operator, Pool) and operator.kind == "max"):
            break
    return low, high
