"""Nodes of an output in order, and the tensors at which the network can be cut."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import ModelError
from .building import SizeBudget
from .converters import CONVERTERS
from .dilation import merge_dilations
from .folding import FOLDS, SHAPES, constants
from .reading import TensorflowNode, get_producer, tensor_name

_NEVER_OUTPUTS = ("NoOp", "Const", "Placeholder", "PlaceholderWithDefault", "Assert")


def tensor(nodes: Mapping[str, TensorflowNode], name: str) -> str:
    """Return the tensor that a user names, with or without ":0"; raise ModelError if no node
    computes it.
    """
    if get_producer(name) not in nodes:
        near = difflib.get_close_matches(get_producer(name), nodes, 3)
        others = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ModelError(f"it has no tensor {name!r}{others}")
    return tensor_name(name)


def find_only_output(nodes: Mapping[str, TensorflowNode]) -> str:
    """Return the only node without readers."""
    read = {get_producer(tensor) for node in nodes.values() for tensor in node.inputs}
    ends = [n.name for n in nodes.values() if n.name not in read and n.op not in _NEVER_OUTPUTS]
    if len(ends) != 1:
        raise ModelError(
            f"no node reads {len(ends)} of the nodes ({shorten_names(ends)}); "
            "choose one with output="
        )
    return ends[0]


def shorten_names(names: Iterable[str]) -> str:
    """Return names for a message, at most a few lines."""
    shown, left = list[str](), 400
    for name in names:
        left -= len(name) + 2
        if left < 0:
            return ", ".join([*shown, "..."])
        shown.append(name)
    return ", ".join(shown) or "none"


def find_ancestors(
    nodes: Mapping[str, TensorflowNode], outputs: Sequence[str], starts: Collection[str]
) -> tuple[TensorflowNode, ...]:
    """Return the nodes that outputs need, in executable order, without those before `starts`.

    Raises ModelError for a loop and for a missing node.
    """
    done: dict[str, TensorflowNode] = {}
    entered: set[str] = set()
    stack = [(get_producer(output), "the output", False) for output in reversed(outputs)]
    while stack:
        name, reader, leave = stack.pop()
        if name in done:
            continue
        if name not in nodes:
            raise ModelError(f"{reader} reads {name!r}, which no node computes")
        node = nodes[name]
        if leave:
            done[name] = node
            continue
        if name in entered:
            raise ModelError(f"{node} depends on itself; loops are not supported")
        entered.add(name)
        stack.append((name, "", True))
        read = (each for each in reversed(node.inputs) if each not in starts)
        stack.extend((get_producer(each), str(node), False) for each in read)
    return tuple(done.values())


@dataclass(frozen=True)
class Section:
    """Nodes from inputs to outputs.

    starts: the first tensors; none for all that the outputs need. constants: nodes that depend on
    no input.
    """

    order: tuple[TensorflowNode, ...]
    starts: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, np.ndarray]

    @cached_property
    def unsupported(self) -> tuple[TensorflowNode, ...]:
        """Nodes without an operator, and inputs other than the starts."""
        folded, found = set(self.constants), []
        for node in self.order:
            if node.op in SHAPES or (node.op in FOLDS and folded.issuperset(node.inputs)):
                folded.add(node.name)
            elif node.op not in CONVERTERS and node.name not in self.starts:
                found.append(node)
        return tuple(found)

    @cached_property
    def cuts(self) -> tuple[TensorflowNode, ...]:
        """Nodes whose output alone determines the rest of the network, if that is supported.

        In executable order, no later node reads a tensor from before such a node.
        """
        last = {get_producer(output): len(self.order) for output in self.outputs}
        ports = {get_producer(output) for output in self.outputs if ":" in output}
        for i, node in enumerate(self.order):
            for name in node.inputs:
                last[get_producer(name)] = max(last.get(get_producer(name), 0), i)
                ports.update([get_producer(name)] if ":" in name else [])
        names = [node.name for node in self.order]
        after = names.index(self.unsupported[-1].name) if self.unsupported else 0
        found, reach = [], 0
        for i, node in enumerate(self.order):
            if node.name not in self.constants:
                if reach <= i and i >= after and node.name not in ports:
                    found.append(node)
                reach = max(reach, last[node.name])
        return tuple(found)


def cut_section(
    nodes: Mapping[str, TensorflowNode], outputs: Sequence[str], starts: Sequence[str] = ()
) -> Section:
    """Return the part of a graph between tensors, with its constants computed."""
    order = find_ancestors(nodes, outputs, starts)
    known = constants(order, SizeBudget())
    return Section(merge_dilations(order, known), tuple(starts), tuple(outputs), known)
