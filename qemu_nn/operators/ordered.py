"""Layers with weights whose sums have one order, whatever library and threads numpy has.

BLAS adds up a product of matrices in an order that its authors, the processor, the number of
threads and the number of rows decide; numpy's own loop over a row knows nothing of these.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Optional

import numpy as np

from .base import Operator
from .linear import Conv, Dense


def _in_order(x: np.ndarray, weights: np.ndarray, out: Optional[np.ndarray] = None) -> np.ndarray:
    """As numpy.matmul(): x [..., in] times [in, out], or [..., groups, 1, in] times
    [groups, in, out]; it goes along the longer of `in` and `out`, where numbers are side by side.
    """
    if weights.shape[-1] >= weights.shape[-2]:
        weights = np.ascontiguousarray(weights)
    else:
        weights = np.ascontiguousarray(weights.swapaxes(-1, -2)).swapaxes(-1, -2)
    axes = "...ik,...km->...im" if weights.ndim == 3 else "...k,km->...m"
    return np.asarray(np.einsum(axes, x, weights, out=out))


class OrderedConv(Conv):
    """A convolution without BLAS."""

    def _product(
        self, x: np.ndarray, weights: np.ndarray, out: Optional[np.ndarray] = None
    ) -> np.ndarray:
        return _in_order(x, weights, out)


class OrderedDense(Dense):
    """A fully connected layer without BLAS."""

    def _product(
        self, x: np.ndarray, weights: np.ndarray, out: Optional[np.ndarray] = None
    ) -> np.ndarray:
        return _in_order(x, weights, out)


def ordered(operator: Operator) -> Operator:
    """The operator with sums in one order."""
    for kind, other in ((Conv, OrderedConv), (Dense, OrderedDense)):
        if type(operator) is kind:
            return other(**{field.name: getattr(operator, field.name) for field in fields(kind)})
    return operator
