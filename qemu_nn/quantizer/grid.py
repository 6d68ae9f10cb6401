"""Grid of the possible weights and biases of a layer with fixed formats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Grid:
    """Steps of weights and biases of a layer, and the least and largest integers of both.

    weights, biases: steps that broadcast to the weights in the order of
    im2col.make_weight_matrix(), and to [out].
    """

    weights: np.ndarray
    weight_limits: tuple[int, int]
    biases: np.ndarray
    bias_limits: tuple[int, int]

    def bias(self, real: np.ndarray) -> np.ndarray:
        """Return the nearest biases, as floats."""
        result: np.ndarray = np.clip(np.rint(real / self.biases), *self.bias_limits) * self.biases
        return result

    def append_bias_steps(
        self, shape: tuple[int, int, int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the steps of all weights with the bias as last tap, [groups, out / groups, taps +
        1], and the least and the largest integer of each tap [taps + 1].
        """
        groups, out, taps = shape
        steps = np.empty(shape)
        steps[..., :-1] = self.weights
        steps[..., -1] = np.broadcast_to(self.biases, groups * out).reshape(groups, out)
        limits = zip(self.weight_limits, self.bias_limits)
        low, high = (np.r_[np.full(taps - 1, weight), bias] for weight, bias in limits)
        return steps, low, high
