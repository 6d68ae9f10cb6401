"""Metadata of a .tflite file: normalization of its input, and class names."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Metadata schema: slots and slot counts of its tables, the kind of a normalization unit, and the
#: type of an associated file of class names.
_SUBGRAPHS, _MODEL = 3, 8
_INPUTS, _OUTPUTS, _SUBGRAPH = 2, 3, 8
_UNITS, _FILES, _TENSOR = 4, 6, 7
_KIND, _OPTIONS, _UNIT, _NORMALIZATION = 0, 1, 2, 1
_MEAN, _STD, _NORMALIZES = 0, 1, 2
_NAME, _TYPE, _FILE, _LABELS = 0, 2, 4, 2

#: The numbers of a table that has offsets only.
_NONE: Mapping[int, int] = {}

#: Name of the file of class names in the zip archive after the network.
_LABELS_FILE = "labels.txt"


@dataclass(frozen=True)
class FileMetadata:
    """Metadata of a file.

    outputs: number of outputs. mean, std: normalization (raw - mean) / std of the only input, one
    number or one per channel; empty for none. labels: class names of the last output.
    """

    outputs: int
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()


def make_metadata(beside: FileMetadata) -> bytes:
    """Return the bytes of the buffer with the metadata."""
    from flatbuffers import Builder

    builder = Builder(256)
    unit = []
    if beside.mean:
        mean, std = (
            builder.CreateNumpyVector(np.array(v, np.float32)) for v in (beside.mean, beside.std)
        )
        options = _table(builder, _NORMALIZES, {_MEAN: mean, _STD: std})
        unit = [_table(builder, _UNIT, {_OPTIONS: options}, {_KIND: _NORMALIZATION})]
    files = []
    if beside.labels:
        name = builder.CreateString(_LABELS_FILE)
        files = [_table(builder, _FILE, {_NAME: name}, {_TYPE: _LABELS})]
    start = _table(builder, _TENSOR, {_UNITS: _vector(builder, unit)})
    last = _table(builder, _TENSOR, {_FILES: _vector(builder, files)})
    ends = [_table(builder, _TENSOR, {}) for _ in range(beside.outputs - 1)] + [last]
    graph = {_INPUTS: _vector(builder, [start]), _OUTPUTS: _vector(builder, ends)}
    graphs = _vector(builder, [_table(builder, _SUBGRAPH, graph)])
    builder.Finish(_table(builder, _MODEL, {_SUBGRAPHS: graphs}), b"M001")
    return bytes(builder.Output())


def append_labels(data: bytes, labels: Sequence[str]) -> bytes:
    """Append a zip archive with the class names, one per line, to the bytes of a file."""
    file = io.BytesIO()
    file.write(data)
    with zipfile.ZipFile(file, "a") as archive:
        entry = zipfile.ZipInfo(_LABELS_FILE)  # with a constant date, so that bytes repeat
        archive.writestr(entry, "".join(f"{label}\n" for label in labels).encode("utf-8"))
    return file.getvalue()


def _vector(builder: Any, tables: Sequence[int]) -> int:
    builder.StartVector(4, len(tables), 4)
    for offset in reversed(tables):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _table(
    builder: Any, slots: int, fields: Mapping[int, int], numbers: Mapping[int, int] = _NONE
) -> int:
    """Add a table of offsets and one-byte numbers, by slot; return its offset."""
    builder.StartObject(slots)
    for slot, offset in fields.items():
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    for slot, number in numbers.items():
        builder.PrependUint8Slot(slot, number, 0)
    return int(builder.EndObject())
