"""Float network under construction: the nodes so far, and the value of each name of the file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import TENSOR_LIMIT, FloatNode
from ...ir.tensors import make_free_name
from ...operators import Operator, Shape
from ..tensor import Tensor, Value
from .reading import Model, OnnxNode

#: Most elements of a computed constant, and of all together.
FOLD_LIMIT = 2**24


class OnnxBuilder:
    """Tensors and constants by name, and the nodes that make the tensors."""

    def __init__(self, model: Model, starts: Mapping[str, Shape]) -> None:
        self.opset = model.opset
        self.nodes: list[FloatNode] = []
        self._tensors = {name: Tensor(name, (1, *shape), True) for name, shape in starts.items()}
        self.values: dict[str, Value] = dict(self._tensors)
        self._model = model
        self._names = {name for node in model.nodes for name in node.outputs}.union(starts)
        self._unmade: dict[str, OnnxNode] = {}
        self._left = FOLD_LIMIT

    def value(self, name: str) -> Value:
        """Return the value of a name; constants are decoded on first use."""
        if name not in self.values:
            if name in self._unmade:
                raise ModelError(
                    f"it reads {name!r}, an output of {self._unmade[name]} that is not supported"
                )
            if name not in self._model.constants:
                raise ModelError(f"it reads {name!r}; an earlier operator must compute that tensor")
            self.values[name] = self.decode(self._model.constants[name])
        return self.values[name]

    def tensor(self, name: str) -> Tensor:
        """Return a tensor that was added, by its name in the network."""
        return self._tensors[name]

    def decode(self, proto: Any) -> np.ndarray:
        """Return the array of a TensorProto."""
        return self._model.tensors.array(proto)

    def part(self, name: str, part: str) -> str:
        """Return a new name for an intermediate tensor of a node."""
        name = make_free_name(f"{name}/{part}", self._names)
        self._names.add(name)
        return name

    def add(
        self, name: str, operator: Operator, inputs: tuple[Tensor, ...], batched: bool
    ) -> Tensor:
        """Add an operator and its output tensor."""
        sample = operator.shape(*(tensor.sample for tensor in inputs))
        if min(sample, default=1) < 1 or math.prod(sample) > TENSOR_LIMIT:
            raise ModelError(
                f"its output would have the shape {list(sample)}, which is empty or too large"
            )
        tensor = Tensor(name, (1, *sample) if batched else sample, batched)
        self.nodes.append(FloatNode(name, operator, tuple(each.name for each in inputs)))
        self.values[name] = self._tensors[name] = tensor
        return tensor

    def fold(self, node: OnnxNode, array: np.ndarray) -> None:
        """Return the result of a node of constants."""
        self.spend(array.size)
        self.values[node.outputs[0]] = array

    def spend(self, elements: int) -> None:
        """Count the elements of constants that are computed, so that they stay within a limit."""
        self._left -= elements
        if self._left < 0:
            raise ModelError(
                f"the file asks for more than {FOLD_LIMIT} elements of computed constants"
            )

    def close(self, node: OnnxNode) -> None:
        """Record the outputs that a node should have and lacks."""
        self._unmade.update((name, node) for name in node.outputs if name not in self.values)
