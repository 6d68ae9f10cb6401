"""Layers with weights whose sums have one order, on every host and on any number of threads.

BLAS adds up a product of matrices in an order that its authors, the processor, the number of
threads and the number of rows decide; qn_ordered_sums() of csrc/ knows nothing of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Optional

import numpy as np

from .._native import ffi, lib
from ..kernels.table import cpu_features
from ..operators import Conv, Dense, Operator
from ..operators.base import Pair

_COLUMNS = int(lib.QN_ORDERED_COLUMNS)

#: Bytes of the parts in which a long sum is added up, and how many numbers of a part change places:
#: numpy's loop for vectors of 16 bytes had this order, and so have figures of earlier releases.
_PART_BYTES, _TURNED = 16, 4


def _sums(x: np.ndarray, axes: int, weights: np.ndarray, out: np.ndarray) -> None:
    """Add to out [..., columns] the products of x [..., *taps], with so many axes of taps, and
    weights [taps, columns]."""
    assert x.dtype == weights.dtype == out.dtype
    assert x.dtype in (np.float32, np.float64)
    assert out.flags.carray
    if not x.flags.aligned:
        x = x.copy()
    depth, columns = weights.shape
    order, ends = _order(depth, columns, _PART_BYTES // x.itemsize)
    blocks = -(-columns // _COLUMNS)
    packed = np.zeros((depth, blocks * _COLUMNS), x.dtype)
    packed[:, :columns] = weights[order]
    packed = np.ascontiguousarray(packed.reshape(depth, blocks, _COLUMNS).swapaxes(0, 1))
    starts = _places(x.shape[:-axes], x.strides[:-axes], x.itemsize)
    taps = _places(x.shape[-axes:], x.strides[-axes:], x.itemsize)[order]
    arrays = {"x": x, "weights": packed, "out": out, "starts": starts, "taps": taps, "ends": ends}
    how = ffi.new("qn_ordered *")
    for name, array in arrays.items():
        setattr(how, name, ffi.cast("void *", array.ctypes.data))
    how.rows, how.columns, how.parts = len(starts), columns, len(ends)
    how.wide = x.dtype == np.float64
    lib.qn_ordered_sums(how, cpu_features())


def _order(depth: int, columns: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """The taps in the order of their addition, and where each part of them ends.

    With as many columns as taps there is one part.
    """
    every = np.arange(depth)
    if columns >= depth:
        return every, np.array([depth], np.int64)
    step = _TURNED * parts
    turned, rest = every[: depth // step * step], every[depth // step * step :]
    turned = turned.reshape(-1, _TURNED, parts)[:, ::-1]
    each = [np.append(turned[..., part], rest[part::parts]) for part in range(parts)]
    return np.concatenate(each), np.cumsum([len(part) for part in each], dtype=np.int64)


def _places(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> np.ndarray:
    """Where the elements of an array are, in elements from its first."""
    places = np.zeros(1, np.int64)
    for length, stride in zip(shape, strides):
        places = np.add.outer(places, np.arange(length) * (stride // itemsize)).ravel()
    return places


def _product(x: np.ndarray, weights: np.ndarray, out: Optional[np.ndarray] = None) -> np.ndarray:
    """As numpy.matmul(): x [..., in] times [in, out], or [..., groups, 1, in] times
    [groups, in, out]."""
    if weights.ndim == 3:
        groups = [_product(x[..., g, :, :], each) for g, each in enumerate(weights)]
        return np.stack(groups, -3)
    if out is None:
        out = np.empty((*x.shape[:-1], weights.shape[-1]), x.dtype)
    out[...] = 0
    _sums(x, 1, weights, out)
    return out


class OrderedConv(Conv):
    """A convolution without BLAS."""

    def _of_windows(self, x: np.ndarray, weights: np.ndarray, count: Pair) -> np.ndarray:
        result = np.zeros((len(x), *count, len(weights)), x.dtype)
        _sums(self._taps(x, count), 3, weights.reshape(len(weights), -1).T, result)
        return result

    def _product(
        self, x: np.ndarray, weights: np.ndarray, out: Optional[np.ndarray] = None
    ) -> np.ndarray:
        return _product(x, weights, out)


class OrderedDense(Dense):
    """A fully connected layer without BLAS."""

    def _product(
        self, x: np.ndarray, weights: np.ndarray, out: Optional[np.ndarray] = None
    ) -> np.ndarray:
        return _product(x, weights, out)


def ordered(operator: Operator) -> Operator:
    """The operator with sums in one order."""
    for kind, other in ((Conv, OrderedConv), (Dense, OrderedDense)):
        if type(operator) is kind:
            return other(**{field.name: getattr(operator, field.name) for field in fields(kind)})
    return operator
