"""Metadata of a .tflite file: normalization of its inputs, and class names.

The metadata are a FlatBuffers file within the file. Associated files are in a zip archive at the
end of the file. Devices read neither, so a fault in the metadata only adds a note.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np

from ...errors import Error, ModelError, printable, shorten_middle
from ...io.archive import open_archive
from ...io.files import MEGABYTE
from ...ir.preprocessing import Preprocessing
from ...operators import Shape
from ..flatbuffer import Bytes, make_damage_error
from .checked import TfliteTable

_NAME, _MARK = "TFLITE_METADATA", b"M001"

#: Table -> field -> slot in the metadata schema. The slot before a union contains its kind.
_SLOTS = {
    "ModelMetadata": {"subgraphs": 3},
    "SubGraphMetadata": {"inputs": 2, "outputs": 3},
    "TensorMetadata": {"units": 4, "files": 6},
    "ProcessUnit": {"kind": 0, "options": 1},
    "NormalizationOptions": {"mean": 0, "std": 1},
    "AssociatedFile": {"name": 0, "type": 2},
}

#: Kind of a normalization unit, and type of an associated file of class names.
_NORMALIZATION, _LABELS = 1, 2

#: Maximum tables of a vector, bytes of a file of class names, and characters of a class name.
_TABLES, _MOST, _LONGEST = 1000, 16 * MEGABYTE, 200


@dataclass(frozen=True)
class Metadata:
    """Metadata of a file. notes: a sentence about metadata that cannot be read."""

    preprocessing: Optional[Preprocessing] = None
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_metadata(
    path: Path, data: bytes, inputs: Sequence[Shape], outputs: Sequence[Shape]
) -> Metadata:
    """Return the metadata in the bytes of a file.

    inputs, outputs: shapes of one sample of the network's ends.
    """
    try:
        found = _find_subgraph(data)
        if found is None:
            return Metadata()
        return Metadata(_read_normalization(found, inputs), _read_labels(found, outputs, path))
    except Error as error:
        return Metadata(notes=(f"its metadata are ignored: {error}",))


class _Fields:
    """A table of the metadata; methods raise ModelError for an offset outside of the metadata."""

    def __init__(self, kind: str, data: bytes, position: int) -> None:
        self._reader, self._kind, self._data = Bytes(kind, data, position), kind, data

    def byte(self, field: str) -> int:
        """Return a number of one byte; 0 if it is missing."""
        at = self._at(field)
        return int(self._reader.unpack("<B", at)) if at else 0

    def text(self, field: str) -> str:
        """Return the text of a field; "" if it is missing."""
        at = self._at(field)
        return self._reader.String(at).decode(errors="replace") if at else ""

    def floats(self, field: str) -> list[float]:
        """Return a vector of float32."""
        start, length = self._vector(field)
        if 4 * length > len(self._data) - start:
            raise make_damage_error(self._kind)
        floats: list[float] = np.frombuffer(self._data, "<f4", length, start).tolist()
        return floats

    def table(self, field: str, kind: str) -> Optional[_Fields]:
        """Return the table of a union; None if it is missing."""
        at = self._at(field)
        return _Fields(kind, self._data, self._reader.Indirect(at)) if at else None

    def tables(self, field: str, kind: str) -> list[_Fields]:
        """Return a vector of tables."""
        start, length = self._vector(field)
        if length > _TABLES:
            raise ModelError(f"its metadata have {length} {field}; up to {_TABLES} are supported")
        places = [self._reader.Indirect(start + 4 * index) for index in range(length)]
        return [_Fields(kind, self._data, place) for place in places]

    def _at(self, field: str) -> int:
        offset = self._reader.Offset(4 + 2 * _SLOTS[self._kind][field])
        return self._reader.Pos + offset if offset else 0

    def _vector(self, field: str) -> tuple[int, int]:
        at = self._at(field)
        if not at:
            return 0, 0
        offset = at - self._reader.Pos
        return self._reader.Vector(offset), self._reader.VectorLen(offset)


def _find_subgraph(data: bytes) -> Optional[_Fields]:
    """Return the metadata of the first graph of a file; None if it has none."""
    root = TfliteTable.root("Model", data)
    for index in range(min(root.count("Metadata"), _TABLES)):
        entry = root.member("Metadata", "Metadata", index)
        if entry.text("Name") != _NAME:
            continue
        number = entry.number("Buffer")
        if number >= root.count("Buffers"):
            raise ModelError(
                f"its metadata are in buffer {number}; the file has {root.count('Buffers')} buffers"
            )
        held = root.member("Buffers", "Buffer", number).numbers("Data").tobytes()
        if held[4:8] != _MARK:
            raise ModelError(f"its metadata lack the identifier {_MARK.decode()!r}")
        start = int.from_bytes(held[:4], "little")
        graphs = _Fields("ModelMetadata", held, start).tables("subgraphs", "SubGraphMetadata")
        return graphs[0] if graphs else None
    return None


def _read_normalization(found: _Fields, shapes: Sequence[Shape]) -> Optional[Preprocessing]:
    """Return the preprocessing (raw - mean) / std of the only input; None if it is the identity."""
    inputs = found.tables("inputs", "TensorMetadata")
    if len(shapes) != 1 or len(inputs) != 1:
        return None
    for unit in inputs[0].tables("units", "ProcessUnit"):
        options = unit.table("options", "NormalizationOptions")
        if unit.byte("kind") != _NORMALIZATION or options is None:
            continue
        mean, std = options.floats("mean"), options.floats("std")
        steps = Preprocessing(mean=mean or 0.0, std=std or 1.0, dtype="uint8")
        if steps.channels not in (None, (shapes[0] or (1,))[-1]):
            raise ModelError(
                f"it normalizes {steps.channels} channels of an input {list(shapes[0])}; "
                "the last axis must have as many"
            )
        return steps if steps.changes else None
    return None


def _read_labels(found: _Fields, shapes: Sequence[Shape], path: Path) -> tuple[str, ...]:
    """Return the class names of the last output, if an associated file has one for each score."""
    outputs = found.tables("outputs", "TensorMetadata")
    if len(outputs) != len(shapes):
        return ()
    shape = shapes[-1]
    for entry in outputs[-1].tables("files", "AssociatedFile"):
        if entry.byte("type") != _LABELS:
            continue
        with open_archive(path) as archive:
            content = archive.read(entry.text("name"), _MOST)
        try:
            lines = content.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise ModelError(
                f"its file of class names, {entry.text('name')!r}, must be UTF-8"
            ) from None
        if len(lines) == max(shape, default=1) == math.prod(shape):
            return tuple(map(clean_label, lines))
    return ()


def clean_label(line: str) -> str:
    """Return the class name on a line of a file of class names."""
    return shorten_middle(printable(line.strip()), _LONGEST)
