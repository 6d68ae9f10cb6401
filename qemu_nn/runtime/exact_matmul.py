"""Exact integer sums of products, in the fastest floating type that represents them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Union

import numpy as np

from ..operators import Conv, Dense, Operator
from .ordered import order_sums


@dataclass(frozen=True)
class Products:
    """A layer of integer weights and biases on integers."""

    operator: Union[Conv, Dense]

    @cached_property
    def _most(self) -> float:
        """Largest magnitude of the weight sum of an output."""
        weights = np.abs(self.operator.weights, dtype=np.float64)
        return float(weights.reshape(len(weights), -1).sum(1).max(initial=0))

    @cached_property
    def _start(self) -> float:
        """Largest magnitude of a bias."""
        bias = self.operator.bias
        return 0.0 if bias is None else float(np.abs(bias).max(initial=0))

    @cached_property
    def _without_blas(self) -> Operator:
        """The layer on this thread alone: blocks of samples have threads of their own."""
        return order_sums(self.operator)

    def of(self, x: np.ndarray) -> np.ndarray:
        """Return the sums of integers x [N, ...], exact.

        float64 for sums below 2^53; float32, twice as fast, if no sum exceeds its 24 bits.
        """
        largest = max(-float(x.min(initial=0)), float(x.max(initial=0)))
        small = self._most * largest + self._start < 2**24
        return self._without_blas.evaluate(x.astype(np.float32 if small else np.float64))
