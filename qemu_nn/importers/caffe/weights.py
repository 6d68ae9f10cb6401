"""Weights of each layer, from .caffemodel and .caffemodel.h5."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ModelError
from ...io import files
from ...ir.float_graph import NODE_LIMIT
from ..hdf5 import read_hdf5
from .schema import parse

_LIMIT = 128 * files.MEGABYTE
_MOST_ARRAYS = 64
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_weights(path: Path) -> dict[str, list[np.ndarray]]:
    """Return layer name -> its arrays, in Caffe's order and axes; layers without arrays may be
    absent.

    Raises ModelError for a damaged file, and for an array larger than the file.
    """
    data = files.read_bytes(path, _LIMIT)
    try:
        found = dict(_iterate_hdf5(data) if data.startswith(_HDF5) else _iterate_binary(data))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    if not any(found.values()):
        raise ModelError(f"{path} has no weights of a Caffe network")
    for name, arrays in found.items():
        if not all(np.isfinite(array).all() for array in arrays):
            raise ModelError(f"{path}: not all weights of layer {name!r} are finite numbers")
    return found


def _iterate_binary(data: bytes) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield the layers of a saved NetParameter, in either form."""
    net = parse("SavedNet", data)
    if len(net.layers) + len(net.layer) > NODE_LIMIT:
        raise ModelError(f"it has more than {NODE_LIMIT} layers")
    for kind, layers in (("SavedV1Layer", net.layers), ("SavedLayer", net.layer)):
        for saved in layers:
            layer = parse(kind, saved)
            name = f"layer {layer.name!r}"
            if len(layer.blobs) > _MOST_ARRAYS:
                raise ModelError(f"{name} has more than {_MOST_ARRAYS} arrays")
            yield layer.name, [_read_blob(parse("BlobProto", blob), name) for blob in layer.blobs]


def _read_blob(blob: Any, where: str) -> np.ndarray:
    """Return the array of a BlobProto; its shape is a list of sizes, or four fields in
    old files.
    """
    fields = ("num", "channels", "height", "width")
    old = any(blob.HasField(field) for field in fields)
    shape = [getattr(blob, field) for field in fields] if old else list(blob.shape.dim[:9])
    values: Sequence[float] = blob.double_data or blob.data
    if len(shape) > 8 or min(shape, default=1) < 1 or math.prod(shape) != len(values):
        raise ModelError(
            f"an array of {where} has the shape {shape} and {len(values)} values; both must agree"
        )
    dtype = np.float64 if blob.double_data else np.float32
    return np.fromiter(values, dtype, len(values)).reshape(shape)


def _iterate_hdf5(data: bytes) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield the layers of an HDF5 file: /data/<layer>/0, 1, ..."""
    contents = read_hdf5(data, "this HDF5 file", "caffe", "data")
    if "data" not in contents.groups:
        raise ModelError("it has no group 'data', in which Caffe keeps weights")
    for name, reason in contents.unfit.items():
        raise ModelError(f"{name} {reason}")
    layers: dict[str, dict[str, np.ndarray]] = {}
    for name, array in contents.arrays.items():
        layer, _, number = name[len("data/") :].rpartition("/")
        layers.setdefault(layer, {})[number] = array
    for layer, arrays in layers.items():
        if arrays.keys() != {str(i) for i in range(len(arrays))}:
            raise ModelError(f"the arrays of layer {layer!r} are not numbered from 0")
        yield layer, [arrays[str(i)] for i in range(len(arrays))]
