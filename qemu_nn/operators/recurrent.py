"""A long short-term memory over a whole sequence."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import ModelError
from .base import Operator, Shape

#: The gates in the order of the arrays.
GATES = ("input", "forget", "cell", "output")


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    result: np.ndarray = np.where(x >= 0, 1, small) / (1 + small)
    return result


@dataclass(frozen=True)
class Lstm(Operator):
    """Long short-term memory of [steps, inputs] to [steps, units], from a state of zeros.

    Arrays have the GATES on their first axis: weights [4, units, inputs], recurrent [4, units,
    units], bias [4, units]. cells: the cell states instead of the hidden ones. A second input does
    not change the result: it names the tensor of the cell states, for statistics.
    """

    weights: np.ndarray = field(repr=False)
    recurrent: np.ndarray = field(repr=False)
    bias: np.ndarray = field(repr=False)
    cells: bool = False

    def shape(self, *inputs: Shape) -> Shape:
        """Return [steps, units]."""
        shape = inputs[0]
        units = self.bias.shape[-1] if self.bias.ndim else 0
        wanted = ((len(GATES), units, shape[-1]), (len(GATES), units, units), (len(GATES), units))
        given = tuple(array.shape for array in (self.weights, self.recurrent, self.bias))
        if len(shape) != 2 or units < 1 or given != wanted:
            raise ModelError(
                f"its input {list(shape)} must be [steps, inputs], and its arrays "
                f"{[list(each) for each in given]} must be {[list(each) for each in wanted]}"
            )
        return (shape[0], units)

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Compute step by step."""
        x = inputs[0]
        ahead = np.einsum("nti,gui->tngu", x, self.weights.astype(x.dtype))
        ahead = ahead + self.bias.astype(x.dtype)
        recurrent = self.recurrent.astype(x.dtype)
        hidden = np.zeros((len(x), self.bias.shape[1]), x.dtype)
        cell, found = hidden, []
        for step in ahead:
            gates = step + np.einsum("nv,guv->ngu", hidden, recurrent)
            keep, forget, out = (_sigmoid(gates[:, index]) for index in (0, 1, 3))
            cell = forget * cell + keep * np.tanh(gates[:, 2])
            hidden = out * np.tanh(cell)
            found.append(cell if self.cells else hidden)
        return np.stack(found, axis=1)
