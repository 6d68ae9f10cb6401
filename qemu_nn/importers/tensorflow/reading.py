"""Nodes of a frozen graph, and their attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import NODE_LIMIT
from . import tensors
from .schema import parse

_MOST_ATTRIBUTES, _MOST_NUMBERS = 64, 64
_NAME = re.compile(r"[\w.>][\w.>/\\-]{0,999}", re.ASCII)


@dataclass(frozen=True)
class TensorflowNode:
    """A node of the file; inputs: its input tensors, attributes: Value messages as bytes.

    The name of a tensor is that of its node, with ":1" and so on for further outputs. after: nodes
    that run before this one. array: the value of a variable.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, bytes]
    after: tuple[str, ...] = ()
    array: Optional[np.ndarray] = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.op} {self.name!r}"

    def integer(self, key: str, default: int) -> int:
        """Return an integer attribute."""
        value: int = self._value(key, "i", default)
        return value

    def number(self, key: str, default: float) -> float:
        """Return a float attribute."""
        value: float = self._value(key, "f", default)
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """Return a boolean attribute."""
        value: bool = self._value(key, "b", default)
        return value

    def text(self, key: str, default: str) -> str:
        """Return a string attribute."""
        value: str = self._value(key, "s", default.encode()).decode("utf-8", "replace")
        return value

    def type(self, key: str) -> int:
        """Return the number of an element type; 0 if it is not given."""
        value: int = self._value(key, "type", 0)
        return value

    def function(self, key: str) -> str:
        """Return the name of a function."""
        found = self._value(key, "func", None)
        return "" if found is None else decode(found.name)

    def integers(self, key: str) -> list[int]:
        """Return a list of integers; empty if it is not given."""
        found = self._value(key, "list", None)
        if found is not None and len(found.i) > _MOST_NUMBERS:
            raise ModelError(f"its attribute {key!r} has more than {_MOST_NUMBERS} numbers")
        return list(found.i) if found is not None else []

    def dims(self, key: str) -> tuple[int, ...]:
        """Return the axes of a shape, -1 for open ones; none if nothing is known."""
        shape = self._value(key, "shape", None)
        return () if shape is None else tensors.dims(shape)

    def tensor(self, key: str) -> Any:
        """Return a Tensor message."""
        found = self._value(key, "tensor", None)
        if found is None:
            raise ModelError(f"its attribute {key!r} is missing")
        return found

    def _value(self, key: str, kind: str, default: Any) -> Any:
        if key not in self.attributes:
            return default
        value = parse("Value", self.attributes[key])
        if not value.HasField(kind):
            raise ModelError(f"its attribute {key!r} has the wrong type")
        return getattr(value, kind)


def read_nodes(data: bytes) -> dict[str, TensorflowNode]:
    """Return the nodes of a GraphDef by name, in the file's order; raise ModelError for any other
    content.
    """
    saved = parse("Graph", data).node
    if not saved:
        raise ModelError("this is not a frozen graph of TensorFlow")
    return parse_nodes(saved)


def parse_nodes(saved: Sequence[bytes]) -> dict[str, TensorflowNode]:
    """Return nodes by name, in the file's order; raise ModelError for unusual names."""
    if len(saved) > NODE_LIMIT:
        raise ModelError(f"it has {len(saved)} nodes; at most {NODE_LIMIT} are supported")
    nodes: dict[str, TensorflowNode] = {}
    for each in saved:
        node = _node(parse("Node", each))
        if not (_NAME.fullmatch(node.name) and _NAME.fullmatch(node.op)):
            raise ModelError(
                f"a node cannot be called {node.name[:40]!r} and be of the type {node.op[:40]!r}"
            )
        if node.name in nodes:
            raise ModelError(f"two nodes have the name {node.name!r}")
        nodes[node.name] = node
    return nodes


def tensor_name(text: str) -> str:
    """Return a tensor's normalized name: "x:0" is "x"."""
    return text[:-2] if text.endswith(":0") else text


def get_producer(tensor: str) -> str:
    """Return the name of the node that computes a tensor."""
    return tensor.partition(":")[0]


def _node(node: Any) -> TensorflowNode:
    if len(node.attr) > _MOST_ATTRIBUTES:
        raise ModelError(f"a node has more than {_MOST_ATTRIBUTES} attributes")
    attributes = [parse("Attribute", entry) for entry in node.attr]
    return TensorflowNode(
        name=decode(node.name),
        op=decode(node.op),
        inputs=tuple(tensor_name(decode(entry)) for entry in node.input if entry[:1] != b"^"),
        attributes={decode(entry.key): entry.value for entry in attributes},
        after=tuple(decode(entry[1:]) for entry in node.input if entry[:1] == b"^"),
    )


def decode(data: bytes) -> str:
    """Return a name of the file as text."""
    return data.decode("utf-8", "replace")
