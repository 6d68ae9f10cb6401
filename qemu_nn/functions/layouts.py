"""Conversion of weight layouts between frameworks and the device.

The device's convolution weights are OHWI [out_channel, y, x, in_channel]. Its fully connected
weights are [row, column], or the interleaved streams of the ``_opt`` functions.
"""

from __future__ import annotations

import numpy as np

from ..errors import Error

#: Axis order of convolution weights -> its permutation to OHWI. TensorFlow and Keras store HWIO,
#: PyTorch, ONNX and Caffe OIHW.
_TO_OHWI = {"OHWI": (0, 1, 2, 3), "HWIO": (3, 0, 1, 2), "OIHW": (0, 2, 3, 1)}

#: Stream of an _opt function -> columns of a group, and, in stream order, the (row, column) of each
#: element of 4 rows x that many columns.
_GROUPS = {
    "q7": (
        4,
        tuple((r, c) for c0 in (0, 1) for r0 in (0, 2) for c in (c0, c0 + 2) for r in (r0, r0 + 1)),
    ),
    "q15": (2, ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1))),
    "q7_q15": (2, ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1))),
}


def to_ohwi(weights: np.ndarray, layout: str) -> np.ndarray:
    """Return convolution weights in the device's layout; layout: "HWIO", "OIHW" or "OHWI"."""
    return np.ascontiguousarray(_permute(weights, layout, inverse=False))


def from_ohwi(weights: np.ndarray, layout: str) -> np.ndarray:
    """Return the inverse of to_ohwi()."""
    return np.ascontiguousarray(_permute(weights, layout, inverse=True))


def _permute(weights: np.ndarray, layout: str, inverse: bool) -> np.ndarray:
    if layout not in _TO_OHWI:
        raise Error(f"no layout {layout!r} of convolution weights; have: {', '.join(_TO_OHWI)}")
    if np.ndim(weights) != 4:
        raise Error(
            f"convolution weights have the shape {list(np.shape(weights))}, but must have 4 axes"
        )
    axes = _TO_OHWI[layout]
    return np.transpose(weights, np.argsort(axes) if inverse else axes)


def dense_to_hwc(matrix: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Return weights of the first fully connected layer, from CHW to HWC flattening.

    Frameworks with channels first flatten an image of `shape` (height, width, channels) as CHW; the
    device flattens HWC. matrix and result: [rows, height*width*channels].
    """
    height, width, channels = shape
    grid = _make_grid(matrix, (channels, height, width))
    return np.ascontiguousarray(grid.transpose(0, 2, 3, 1).reshape(len(matrix), -1))


def dense_to_chw(matrix: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Return the inverse of dense_to_hwc(); shape: (height, width, channels) again."""
    grid = _make_grid(matrix, shape)
    return np.ascontiguousarray(grid.transpose(0, 3, 1, 2).reshape(len(matrix), -1))


def _make_grid(matrix: np.ndarray, axes: tuple[int, int, int]) -> np.ndarray:
    if np.ndim(matrix) != 2 or matrix.shape[1] != np.prod(axes):
        raise Error(
            f"the matrix has the shape {list(np.shape(matrix))}, but a layer that flattens "
            f"{' x '.join(map(str, axes))} needs [rows, {int(np.prod(axes))}]"
        )
    return matrix.reshape(len(matrix), *axes)


def _make_order(rows: int, columns: int, stream: str) -> np.ndarray:
    """Return the row-major index of every element of the stream, in stream order.

    The stream has blocks of four rows. A block has the groups of columns, then the remaining
    columns one by one. After the last full block follow the remaining rows, unchanged.
    (docs/arithmetic.md)
    """
    if stream not in _GROUPS:
        raise Error(f"no weight stream {stream!r}; have: {', '.join(_GROUPS)}")
    width, group = _GROUPS[stream]
    index = np.arange(rows * columns).reshape(rows, columns)
    row_in_group, column_in_group = np.array(group).T
    grouped = columns // width * width
    parts = []
    for block in np.split(index[: rows // 4 * 4], rows // 4) if rows >= 4 else []:
        tiles = block[:, :grouped].reshape(4, -1, width)
        parts.append(tiles[row_in_group, :, column_in_group].T.ravel())
        parts.append(block[:, grouped:].T.ravel())
    return np.concatenate([*parts, index[rows // 4 * 4 :].ravel()])


def pack(matrix: np.ndarray, stream: str) -> np.ndarray:
    """Return the weight stream of an _opt function, one-dimensional, from a matrix [rows, columns].

    stream: "q7" for arm_fully_connected_q7_opt (the x4 interleave), "q15" for _q15_opt (x2),
    "q7_q15" for _mat_q7_vec_q15_opt (x2). Any number of rows and columns.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim != 2:
        raise Error(
            f"the matrix has the shape {list(matrix.shape)}, but pack() needs [rows, columns]"
        )
    rows, columns = matrix.shape
    packed: np.ndarray = matrix.ravel()[_make_order(rows, columns, stream)]
    return packed


def unpack(packed: np.ndarray, rows: int, columns: int, stream: str) -> np.ndarray:
    """Return the matrix [rows, columns] of a weight stream: the inverse of pack()."""
    packed = np.asarray(packed)
    if packed.size != rows * columns:
        raise Error(
            f"there are {packed.size} packed weights, but {rows} x {columns} need {rows * columns}"
        )
    matrix = np.empty(rows * columns, packed.dtype)
    matrix[_make_order(rows, columns, stream)] = packed.ravel()
    return matrix.reshape(rows, columns)


def pack_nibbles(weights: np.ndarray) -> np.ndarray:
    """Pack weights in -8..7, two in a byte, the first in the low half; the inverse is
    unpack_nibbles().
    """
    flat = np.asarray(weights, np.int8).ravel()
    pairs = np.append(flat, np.zeros(flat.size % 2, np.int8)).reshape(-1, 2)
    return (pairs[:, 0] & 15) | (pairs[:, 1] << 4)


def unpack_nibbles(packed: np.ndarray, count: int) -> np.ndarray:
    """Unpack weights of 4 bits to int8 in -8..7, from two in a byte, the first in the low half."""
    pairs = np.asarray(packed, np.int8).ravel()
    both = np.stack([pairs << 4, pairs], axis=1).ravel()
    if not both.size - 1 <= count <= both.size:
        raise Error(
            f"{pairs.size} bytes contain {both.size - 1} or {both.size} weights of 4 bits, not "
            f"{count}"
        )
    return both[:count] >> 4
