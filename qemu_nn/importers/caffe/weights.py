"""What Caffe learned: the arrays of each layer, from .caffemodel and .caffemodel.h5."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import files
from ...errors import ModelError
from ...extras import require
from ...float_graph import NODE_LIMIT
from .schema import parse

_LIMIT = 128 * files.MEGABYTE
_MOST_ARRAYS = 64
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_weights(path: Path) -> dict[str, list[np.ndarray]]:
    """Layer name -> its arrays, in Caffe's order and axes; layers without any may be left out.

    Raises ModelError for a damaged file and for an array that is said to be larger than the file.
    """
    data = files.read_bytes(path, _LIMIT)
    try:
        found = dict(_hdf5(data) if data.startswith(_HDF5) else _binary(data))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    if not any(found.values()):
        raise ModelError(f"{path} holds no weights of a Caffe network")
    for name, arrays in found.items():
        if not all(np.isfinite(array).all() for array in arrays):
            raise ModelError(f"{path}: not all weights of layer {name!r} are finite numbers")
    return found


def _binary(data: bytes) -> Iterator[tuple[str, list[np.ndarray]]]:
    """The layers of a saved NetParameter, in either form."""
    net = parse("SavedNet", data)
    if len(net.layers) + len(net.layer) > NODE_LIMIT:
        raise ModelError(f"more than {NODE_LIMIT} layers are not read")
    for kind, layers in (("SavedV1Layer", net.layers), ("SavedLayer", net.layer)):
        for saved in layers:
            layer = parse(kind, saved)
            name = f"layer {layer.name!r}"
            if len(layer.blobs) > _MOST_ARRAYS:
                raise ModelError(f"{name} has more than {_MOST_ARRAYS} arrays")
            yield layer.name, [_blob(parse("BlobProto", blob), name) for blob in layer.blobs]


def _blob(blob: Any, where: str) -> np.ndarray:
    """The array of a BlobProto; its shape is a list of sizes, or once was four fields."""
    fields = ("num", "channels", "height", "width")
    old = any(blob.HasField(field) for field in fields)
    shape = [getattr(blob, field) for field in fields] if old else list(blob.shape.dim[:9])
    values: Sequence[float] = blob.double_data or blob.data
    if len(shape) > 8 or min(shape, default=1) < 1 or math.prod(shape) != len(values):
        raise ModelError(
            f"an array of {where} is said to have the shape {shape}, "
            f"but {len(values)} values follow"
        )
    dtype = np.float64 if blob.double_data else np.float32
    return np.fromiter(values, dtype, len(values)).reshape(shape)


def _hdf5(data: bytes) -> Iterator[tuple[str, list[np.ndarray]]]:
    """The layers of an HDF5 file: /data/<layer>/0, 1, ..."""
    h5py = require("h5py", "caffe", "reading a .caffemodel.h5")
    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            arrays = _datasets(h5py, file, len(data))
            for layer, found in arrays.items():
                yield layer, [found[str(i)][()] for i in range(len(found))]
    except ModelError:
        raise
    except Exception as error:  # a damaged file makes h5py raise whatever it meets
        raise ModelError(f"this HDF5 file is damaged: {files.reason(error)}") from None


def _datasets(h5py: Any, file: Any, size: int) -> dict[str, dict[str, Any]]:
    """Layer -> number -> dataset; together they are not larger than the file of `size` bytes."""
    if not isinstance(file.get("data", getlink=True), h5py.HardLink):
        raise ModelError("it has no group 'data', as Caffe writes it")
    found: dict[str, dict[str, Any]] = {}

    def visit(name: str, item: Any) -> None:
        nonlocal size
        if not isinstance(item, h5py.Dataset):
            return
        if item.dtype.kind != "f" or item.shape is None or item.external or item.is_virtual:
            raise ModelError(f"data/{name} is not an array of floats in this file")
        size -= max(item.size, math.prod(item.chunks or ())) * item.dtype.itemsize
        if size < 0:
            raise ModelError(f"data/{name} is said to hold {list(item.shape)}, more than the file")
        layer, _, number = name.rpartition("/")
        found.setdefault(layer, {})[number] = item

    file["data"].visititems(visit)
    return found
