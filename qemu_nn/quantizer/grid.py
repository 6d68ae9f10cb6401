"""The real numbers that the weights and biases of a layer can be, its formats held fixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Grid:
    """Steps of weights and biases of a layer, and the least and largest integers of both.

    weights, biases: steps that broadcast to the weights as windows.matrix() has them, and to
    [out].
    """

    weights: np.ndarray
    weight_limits: tuple[int, int]
    biases: np.ndarray
    bias_limits: tuple[int, int]

    def bias(self, real: np.ndarray) -> np.ndarray:
        """The nearest biases, as real numbers."""
        result: np.ndarray = np.clip(np.rint(real / self.biases), *self.bias_limits) * self.biases
        return result
