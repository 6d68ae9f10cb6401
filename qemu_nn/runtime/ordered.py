"""Layers with weights whose sums have a fixed order, on every host and any number of threads.

The order of BLAS depends on its version, the processor, and the numbers of threads and rows. That
of qn_ordered_sums() in csrc/ depends on none of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from .._native import ffi, lib
from ..kernels.table import cpu_features
from ..operators import Conv, Dense, Operator
from ..operators.base import Pair

_COLUMNS = int(lib.QN_ORDERED_COLUMNS)

#: Bytes of the parts of a long sum, and numbers of a part that are permuted: the order of numpy's
#: loop for 16-byte vectors, and of figures of earlier releases.
_PART_BYTES, _TURNED = 16, 4


@dataclass(frozen=True)
class _Packed:
    """Weights [taps, columns] in the C core's order.

    It has the taps in the order of their addition, the ends of their parts, and the weights in this
    order, in blocks of columns.
    """

    columns: int
    order: np.ndarray
    ends: np.ndarray
    blocks: np.ndarray


def _pack_weights(weights: np.ndarray) -> _Packed:
    depth, columns = weights.shape
    order, ends = _get_order(depth, columns, _PART_BYTES // weights.itemsize)
    count = -(-columns // _COLUMNS)
    blocks = np.zeros((depth, count * _COLUMNS), weights.dtype)
    blocks[:, :columns] = weights[order]
    blocks = np.ascontiguousarray(blocks.reshape(depth, count, _COLUMNS).swapaxes(0, 1))
    return _Packed(columns, order, ends, blocks)


def _sum_products(x: np.ndarray, axes: int, weights: _Packed) -> np.ndarray:
    """Return the products [..., columns] of x [..., *taps] and weights; axes: number of
    tap axes.
    """
    assert x.dtype == weights.blocks.dtype
    assert x.dtype in (np.float32, np.float64)
    if not x.flags.aligned:
        x = x.copy()
    out = np.zeros((*x.shape[:-axes], weights.columns), x.dtype)
    starts = _list_places(x.shape[:-axes], x.strides[:-axes], x.itemsize)
    taps = _list_places(x.shape[-axes:], x.strides[-axes:], x.itemsize)[weights.order]
    arrays = {"x": x, "weights": weights.blocks, "out": out}
    arrays.update(starts=starts, taps=taps, ends=weights.ends)
    how = ffi.new("qn_ordered *")
    for name, array in arrays.items():
        setattr(how, name, ffi.cast("void *", array.ctypes.data))
    how.rows, how.columns, how.parts = len(starts), weights.columns, len(weights.ends)
    how.wide = x.dtype == np.float64
    lib.qn_ordered_sums(how, cpu_features())
    return out


def _get_order(depth: int, columns: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the taps in the order of their addition, and the end of each part.

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


def _list_places(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> np.ndarray:
    """Return the positions of an array's elements, relative to its first."""
    places = np.zeros(1, np.int64)
    for length, stride in zip(shape, strides):
        places = np.add.outer(places, np.arange(length) * (stride // itemsize)).ravel()
    return places


class _Ordered:
    """Common parts of layers with weights [out, ...], packed once for each floating type."""

    weights: np.ndarray

    @cached_property
    def _kept(self) -> dict[np.dtype, _Packed]:
        return {}

    def _all(self, dtype: np.dtype) -> _Packed:
        """Return all weights of each output as one column."""
        if dtype not in self._kept:
            columns = self.weights.reshape(len(self.weights), -1).T
            self._kept[dtype] = _pack_weights(columns.astype(dtype))
        return self._kept[dtype]


class OrderedConv(_Ordered, Conv):
    """A convolution without BLAS."""

    def _of_windows(self, x: np.ndarray, weights: np.ndarray, count: Pair) -> np.ndarray:
        return _sum_products(self._taps(x, count), 3, self._all(x.dtype))

    def _product(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if weights.ndim == 2:
            return _sum_products(x, 1, _pack_weights(weights))
        groups = [
            _sum_products(x[..., g, :, :], 1, _pack_weights(each)) for g, each in enumerate(weights)
        ]
        return np.stack(groups, -3)


class OrderedDense(_Ordered, Dense):
    """A fully connected layer without BLAS."""

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return one product of matrices."""
        (x,) = inputs
        result = _sum_products(x, 1, self._all(x.dtype))
        return result if self.bias is None else result + self.bias.astype(x.dtype, copy=False)


def order_sums(operator: Operator) -> Operator:
    """Return the operator with sums in one order."""
    for kind, other in ((Conv, OrderedConv), (Dense, OrderedDense)):
        if type(operator) is kind:
            return other(**{field.name: getattr(operator, field.name) for field in fields(kind)})
    return operator
