"""Functions of a SavedModel, inlined: a graph whose nodes are operators and variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import NODE_LIMIT
from ...ir.tensors import make_free_name
from ..recurrent import MOST_STEPS
from .building import SizeBudget
from .folding import FOLDS, fold
from .reading import TensorflowNode, decode, get_producer, parse_nodes, tensor_name
from .schema import parse

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_LOOPS = ("While", "StatelessWhile")
_MOST_DEPTH = 64
#: Most constants that depend on each other in turn, for the number of iterations of a loop.
_MOST_FOLDS = 200
#: Operator with several named outputs -> their names, in order. All others have one, or one list.
_OUTPUTS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
        ("y", "batch_mean", "batch_variance"),
    ),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "Switch": ("output_false", "output_true"),
    "TopKV2": ("values", "indices"),
}


@dataclass(frozen=True)
class Function:
    """A function of a graph: its arguments, its nodes by name, and the tensors it returns."""

    arguments: tuple[str, ...]
    nodes: Mapping[str, TensorflowNode]
    returned: tuple[str, ...]


class Inliner:
    """A graph under construction: its nodes, and the tensors that are other names of tensors."""

    def __init__(self, library: Mapping[str, bytes], taken: Sequence[str]) -> None:
        self.nodes: dict[str, TensorflowNode] = {}
        self._library, self._taken, self._left = library, set(taken), NODE_LIMIT
        self._aliases: dict[str, str] = {}
        self._parsed: dict[str, Function] = {}
        self._known: dict[str, np.ndarray] = {}
        self._budget, self._suffix = SizeBudget(), ""

    def inline(
        self, nodes: Mapping[str, TensorflowNode], given: Mapping[str, str], depth: int = 0
    ) -> dict[str, str]:
        """Add nodes with unused names, called functions with their nodes; return name -> new name.

        given: nodes or arguments that are tensors of the new graph already.
        """
        if depth > _MOST_DEPTH:
            raise ModelError(
                f"its functions call each other to a depth of more than {_MOST_DEPTH}, the limit"
            )
        renamed, loops = dict(given), list[TensorflowNode]()
        for name in nodes:
            if name not in renamed:
                renamed[name] = make_free_name(f"{name}{self._suffix}", self._taken)
                self._taken.add(renamed[name])
        for name, node in nodes.items():
            if name not in given:
                self._left -= 1
                if self._left < 0:
                    raise ModelError(
                        f"it has more than {NODE_LIMIT} nodes with those of functions, the limit"
                    )
                inputs = tuple(_rename(read, nodes, renamed) for read in node.inputs)
                made = replace(node, name=renamed[name], inputs=inputs, after=())
                loops += [made] if node.op in _LOOPS else []
                self._add(made, depth)
        for loop in loops:  # after the constants that they read
            self._unroll(loop, depth)
        return renamed

    def _unroll(self, node: TensorflowNode, depth: int) -> None:
        """Inline each iteration of a loop, whose condition depends on constants alone."""
        held, outer = list(node.inputs), self._suffix
        for step in range(MOST_STEPS + 1):
            self._suffix = f"{outer}/{step}"
            going = self._call(node, node.function("cond"), held, depth)
            kept = [self._fold(self.resolve(each)) for each in going]
            if len(kept) != 1 or kept[0].size != 1:
                raise ModelError(f"the condition of {node} must be one truth value")
            if not kept[0]:
                break
            held = self._call(node, node.function("body"), held, depth)
        else:
            raise ModelError(f"{node} has more than {MOST_STEPS} iterations, the limit")
        self._suffix = outer
        self._aliases.update((_output(node.name, port), x) for port, x in enumerate(held))

    def _fold(self, tensor: str, depth: int = 0) -> np.ndarray:
        """Return the value of a tensor of constants; raise ModelError for any other."""
        if tensor not in self._known:
            node = self.nodes.get(tensor)
            if node is None or node.op not in FOLDS or depth > _MOST_FOLDS:
                raise ModelError(
                    f"the number of iterations of a loop depends on {tensor!r}; it must be known"
                )
            values = [self._fold(self.resolve(each), depth + 1) for each in node.inputs]
            self._known[tensor] = fold(node, self._budget, values)
        return self._known[tensor]

    def _add(self, node: TensorflowNode, depth: int) -> None:
        if node.op in _CALLS or node.op in self._library:
            called = node.op if node.op in self._library else node.function("f")
            for port, tensor in enumerate(self._call(node, called, node.inputs, depth)):
                self._aliases[_output(node.name, port)] = tensor
        elif node.op == "IdentityN":
            self._aliases.update((_output(node.name, i), x) for i, x in enumerate(node.inputs))
        elif node.op == "ReadVariableOp":
            self.nodes[node.name] = replace(node, op="Identity", attributes={})
        elif node.op not in _LOOPS:
            self.nodes[node.name] = node

    def _call(
        self, node: TensorflowNode, name: str, inputs: Sequence[str], depth: int
    ) -> list[str]:
        """Inline a call; return the tensors that it returns."""
        if name not in self._parsed:
            if name not in self._library:
                raise ModelError(f"{node} calls {name!r}, which the file does not define")
            self._parsed[name] = _parse_function(self._library[name])
        function = self._parsed[name]
        if len(function.arguments) != len(inputs):
            counts = f"{len(inputs)} tensors; it takes {len(function.arguments)}"
            raise ModelError(f"{node} calls {name!r} with {counts}")
        given = dict(zip(function.arguments, inputs))
        renamed = self.inline(function.nodes, given, depth + 1)
        return [_rename(tensor, function.nodes, renamed) for tensor in function.returned]

    def resolve(self, tensor: str) -> str:
        """Return the tensor of a node that a name stands for."""
        seen = set()
        while tensor in self._aliases:
            if tensor in seen:
                raise ModelError(f"{tensor!r} depends on itself; loops are not supported")
            seen.add(tensor)
            tensor = self._aliases[tensor]
        return tensor

    def finish(self) -> dict[str, TensorflowNode]:
        """Return the nodes so far; each reads tensors of nodes."""
        return {
            name: replace(node, inputs=tuple(map(self.resolve, node.inputs)))
            for name, node in self.nodes.items()
        }


def find_needed(
    nodes: Mapping[str, TensorflowNode], roots: Sequence[str], given: Mapping[str, str]
) -> dict[str, TensorflowNode]:
    """Return the nodes that some nodes need, also those that only must run before; in the file's
    order.
    """
    needed, stack = set[str](), list(roots)
    while stack:
        name = stack.pop()
        if name in needed or name in given:
            continue
        if name not in nodes:
            raise ModelError(f"a node reads {name!r}, which no node computes")
        needed.add(name)
        node = nodes[name]
        stack.extend((*map(get_producer, node.inputs), *node.after))
    return {name: node for name, node in nodes.items() if name in needed}


def _parse_function(data: bytes) -> Function:
    definition = parse("Definition", data)
    returned = dict(_entries(definition.ret))
    ends = [_argument(each) for each in definition.signature.output_arg]
    missing = [name for name in ends if name not in returned]
    if missing:
        raise ModelError(f"a function of the file does not compute its output {missing[0]!r}")
    return Function(
        tuple(_argument(each) for each in definition.signature.input_arg),
        parse_nodes(definition.node_def),
        tuple(tensor_name(returned[name]) for name in ends),
    )


def _entries(entries: Sequence[bytes]) -> list[tuple[str, str]]:
    parsed = (parse("Entry", each) for each in entries)
    return [(decode(each.key), decode(each.value)) for each in parsed]


def _argument(data: bytes) -> str:
    return decode(parse("Argument", data).name)


def _output(name: str, port: int) -> str:
    return f"{name}:{port}" if port else name


def _rename(tensor: str, nodes: Mapping[str, TensorflowNode], renamed: Mapping[str, str]) -> str:
    """Return the new name of "node", "node:2", or "node:output:2" as functions have it."""
    name, *rest = tensor.split(":")
    if name not in renamed:
        raise ModelError(f"a node reads {name!r}, which no node computes")
    if not rest:
        return renamed[name]
    port = 0
    if not rest[0].isdecimal():
        outputs = _OUTPUTS.get(nodes[name].op, ()) if name in nodes else ()
        port = outputs.index(rest[0]) if rest[0] in outputs else 0
        rest = rest[1:]
    if rest:
        if not (len(rest) == 1 and rest[0].isdecimal() and len(rest[0]) < 6):
            raise ModelError(f"{tensor!r} is not the name of a tensor")
        port += int(rest[0])
    return _output(renamed[name], port)
