"""Layers as matrix products: windows of their inputs as rows, weights as columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional, Union

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..operators import Conv, Dense, base

Weighted = Union[Conv, Dense]


def make_weight_matrix(operator: Weighted) -> np.ndarray:
    """Return the weights [groups, out / groups, taps], float64."""
    groups = operator.groups if isinstance(operator, Conv) else 1
    return operator.weights.astype(np.float64).reshape(groups, len(operator.weights) // groups, -1)


def replace_weight_matrix(
    operator: Weighted, weights: np.ndarray, bias: Optional[np.ndarray]
) -> Weighted:
    """Return the layer with different weights, in the form of make_weight_matrix(), and bias."""
    return replace(operator, weights=weights.reshape(operator.weights.shape), bias=bias)


def make_window_rows(operator: Weighted, x: np.ndarray, most: int) -> np.ndarray:
    """Return the windows of the inputs x [N, ...] as rows [groups, n, taps].

    The weights multiply these rows. most: number of rows taken, spread evenly over samples and
    positions.
    """
    if isinstance(operator, Dense):
        flat = x.reshape(-1, x.shape[-1])
        columns: np.ndarray = flat[_choose_spread_indices(len(flat), most)].astype(np.float64)[None]
        return columns
    x = base.pad_images(base.to_nhwc(x, operator.layout), operator.pads)
    span = tuple(d * (k - 1) + 1 for d, k in zip(operator.dilation, operator.kernel))
    cells = sliding_window_view(x, span, (1, 2))
    cells = cells[:, :: operator.stride[0], :: operator.stride[1]]
    cells = cells[..., :: operator.dilation[0], :: operator.dilation[1]]
    at = np.unravel_index(
        _choose_spread_indices(int(np.prod(cells.shape[:3])), most), cells.shape[:3]
    )
    rows = cells[at].astype(np.float64)  # [n, channels, y, x]
    rows = rows.reshape(len(rows), operator.groups, -1, *rows.shape[2:])
    columns = rows.transpose(1, 0, 3, 4, 2).reshape(operator.groups, len(rows), -1)
    return columns


def _choose_spread_indices(count: int, most: int) -> np.ndarray:
    """Choose evenly spread indices below `count` that are in step with no axis."""
    if count <= most:
        return np.arange(count)
    return np.unique((np.arange(most) * (count / most)).astype(np.int64))
