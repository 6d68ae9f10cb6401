"""Float network under construction, and the conversion of one node of the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import FloatNode
from ...ir.tensors import make_free_name
from ...operators import Identity, Operator, Reshape, Shape
from ..tensor import Tensor, Value
from .reading import TensorflowNode

#: Most elements of all computed constants together.
_MOST_ELEMENTS = 2**24
_MOST_NUMBERS = 64
#: Most places of a lookup along one axis.
MOST_PLACES = 65535


class SizeBudget:
    """Counter of the elements of computed constants, with a limit."""

    def __init__(self) -> None:
        self._left = _MOST_ELEMENTS

    def spend(self, elements: int) -> None:
        """Count elements before they are allocated; raise ModelError if they exceed the limit."""
        self._left -= elements
        if self._left < 0:
            raise ModelError(f"its constants would have more than {_MOST_ELEMENTS} elements in all")


class TensorflowBuilder:
    """Tensors and constants by name, and the nodes that make the tensors."""

    def __init__(
        self,
        starts: Iterable[Tensor],
        constants: Mapping[str, np.ndarray],
        taken: Iterable[str],
    ) -> None:
        self.values: dict[str, Value] = {**constants, **{each.name: each for each in starts}}
        self.nodes: list[FloatNode] = []
        self._taken = set(taken)

    def add(self, name: str, operator: Operator, inputs: Sequence[Tensor], batched: bool) -> Tensor:
        """Add an operator and its output tensor."""
        sample = operator.shape(*(tensor.sample for tensor in inputs))
        self.nodes.append(FloatNode(name, operator, tuple(tensor.name for tensor in inputs)))
        tensor = Tensor(name, (1, *sample) if batched else sample, batched)
        self.values[name] = tensor
        return tensor

    def part(self, name: str) -> str:
        """Return a name that no node of the file has."""
        name = make_free_name(name, self._taken)
        self._taken.add(name)
        return name


@dataclass(frozen=True)
class TensorflowCall:
    """A node of the file and the network that it adds its operators to."""

    node: TensorflowNode
    builder: TensorflowBuilder

    def put(
        self, operator: Operator, *tensors: Tensor, part: str = "", batched: Optional[bool] = None
    ) -> Tensor:
        """Add an operator; all except the last one of a node have a `part` in their name."""
        name = self.builder.part(f"{self.node.name}/{part}") if part else self.node.name
        if batched is None:
            batched = any(tensor.batched for tensor in tensors)
        return self.builder.add(name, operator, tensors, batched)

    def keep(self, value: Any) -> None:
        """Set the output of the node to a value that needs no operator."""
        self.builder.values[self.node.name] = value

    def reshape(
        self, x: Tensor, shape: Shape, part: str = "", batched: Optional[bool] = None
    ) -> Tensor:
        """Return the tensor in another shape; a leading 1 is the batch if not told otherwise."""
        if batched is None:
            batched = shape[:1] == (1,)
        sample = shape[1:] if batched else shape
        operator = Identity() if sample == x.sample else Reshape(sample)
        return self.put(operator, x, part=part, batched=batched)


#: Inputs of a node, a letter each, and the function that adds its operators, the last under the
#: node's name. x: a tensor, c: a constant, v: either; r: rows of time steps, t: these or a tensor,
#: a: any; +: at least one tensor or constant.
Converter = tuple[str, Callable[..., object]]


def floats(constant: np.ndarray) -> np.ndarray:
    """Return the constant itself: finite floats, at least one."""
    if constant.dtype.kind != "f" or not constant.size or not np.isfinite(constant).all():
        raise ModelError(
            "a constant that it reads has values that are no finite numbers; all must be"
        )
    return constant


def scalar(constant: np.ndarray) -> float:
    """Return the only number of a constant."""
    if constant.size != 1:
        raise ModelError(
            f"a constant that it reads is {list(constant.shape)}; it must be one number"
        )
    return float(floats(constant).reshape(()))


def integers(constant: np.ndarray) -> list[int]:
    """Return the numbers of a constant: a shape, axes, positions."""
    if constant.dtype.kind not in "iu" or constant.ndim > 2 or constant.size > _MOST_NUMBERS:
        raise ModelError("a constant that it reads must be a short list of integers")
    return [int(number) for number in constant.reshape(-1)]


def integer(constant: np.ndarray) -> int:
    """Return the only integer of a constant."""
    found = integers(constant)
    if len(found) != 1:
        raise ModelError(f"it reads the integers {found} where it needs one")
    return found[0]
