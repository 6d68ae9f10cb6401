"""The project's own model file (.qnz): a graph as JSON, and its arrays, in one zip.

graph.json holds everything but the arrays; the array that is n-th in its list "arrays" is the
entry arrays/<n>.npy. A float network stands next to it, or alone: see float_network.py. The same
network always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..io.archive import INTEGERS, format_npy, open_archive, to_little_endian, write_archive
from ..io.arguments import as_path
from ..io.typed_json import Fields, parse_json
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.input_summary import InputSummary
from ..ir.model_file import ModelFile
from ..ir.original import Original
from ..ir.preprocessing import Preprocessing
from .float_network import FLOAT_GRAPH, STEPS, float_entries, float_names, read_float
from .original_network import MAIN, name_entry, original_document, original_names, read_original
from .quantized_network import graph_from_fields, graph_to_dict, inputs_of

_FORMAT = "qemu_nn graph"

#: Newest version of the format, for networks with loops, and the version of all further ones.
_VERSION, _WITHOUT_LOOPS = 2, 1

_GRAPH = "graph.json"

#: Element types of arrays: in .npy files -> in numpy.
_ARRAYS = {
    **INTEGERS,
    **{"|u1": "uint8", "<i8": "int64", "<u4": "uint32", "<u8": "uint64"},
    **{"<f4": "float32", "|b1": "bool"},
}


def save_package(
    graph: Optional[Graph],
    path: Union[str, Path],
    reference: Optional[FloatGraph] = None,
    preprocessing: Optional[Preprocessing] = None,
    notes: Sequence[str] = (),
    steps: Optional[Mapping[str, Optional[FloatGraph]]] = None,
    calibration: Optional[InputSummary] = None,
    curve: Any = None,
    original: Optional[Original] = None,
) -> None:
    """Write a quantized network, a float one, or both as one .qnz file, whole or not at all.

    steps: those of the host "before" and "after" a quantized network. calibration: figures of the
    inputs that it was calibrated with. curve: table of how it was made, with columns and rows.
    original: the network before its compilation for an NPU.

    Raises ModelError where the file cannot be written, or an array has another type; Error for
    a path with another ending, which load() would read as another format.
    """
    path = as_path(path, "the file of a network")
    if path.suffix == ".tflite":
        raise Error(f"{path} stores integers, but this is a float network: quantize it first")
    if path.suffix != ".qnz":
        raise Error(
            f"{path}: a network is saved as a .qnz file; name it {path.stem or 'network'}.qnz"
        )
    entries = {} if reference is None else float_entries(reference)
    for name, part in (steps or {}).items():
        entries.update({} if part is None else float_entries(part, STEPS[name]))
    if graph is not None:
        version = _VERSION if graph.loops else _WITHOUT_LOOPS
        document = {"format": _FORMAT, "version": version, **graph_to_dict(graph)}
        if preprocessing is not None:
            document["preprocessing"] = preprocessing.to_dict()
        if calibration is not None:
            document["calibration"] = calibration.to_dict()
        if curve is not None:
            document["curve"] = {"columns": curve.columns, "rows": curve.rows}
        if notes:
            document["notes"] = list(notes)
        entries[_GRAPH] = json.dumps(document, indent=1).encode("ascii")
        for index, name in enumerate(sorted(graph.arrays)):
            entries[_entry(index)] = format_npy(_check_entry(graph, name))
    if original is not None:
        entries[MAIN] = original_document(original)
        for index, name in enumerate(sorted(original.graph.arrays)):
            entries[name_entry(index)] = format_npy(_check_entry(original.graph, name))
    write_archive(path, entries)


def load_package(path: Union[str, Path]) -> ModelFile:
    """Read a .qnz file; the result equals what was saved.

    Raises ModelError, with the reason, for anything else: nothing in the file is trusted.
    """
    with open_archive(Path(path)) as archive:
        has_float = FLOAT_GRAPH in archive.names
        expected = float_names(archive) if has_float else {_GRAPH}
        around = {n: main for n, main in STEPS.items() if {main, _GRAPH} <= archive.names}
        expected = expected.union(*(float_names(archive, main) for main in around.values()))
        has_original = {MAIN, _GRAPH} <= archive.names
        expected |= original_names(archive) if has_original else set()
        fields = None
        if _GRAPH in archive.names or not has_float:
            fields = parse_json(archive.read(_GRAPH), f"{path}: {_GRAPH}")
            _check_version(fields)
            names = fields.texts("arrays")
            if names != sorted(set(names)):
                raise fields.error("'arrays' must be sorted names without duplicates")
            expected |= {_GRAPH, *(_entry(index) for index in range(len(names)))}
        if archive.names != expected:
            odd = sorted(archive.names ^ expected)[0]
            raise ModelError(f"{path}: {odd} is {'missing' if odd in expected else 'not expected'}")
        reference = read_float(archive) if has_float else None
        if fields is None:
            return ModelFile(reference=reference)
        steps = {name: read_float(archive, main=main) for name, main in around.items()}
        arrays = {name: archive.array(_entry(index), _ARRAYS) for index, name in enumerate(names)}
        original = read_original(archive, _ARRAYS) if has_original else None
    graph, preprocessing = graph_from_fields(fields, arrays), _to_preprocessing(fields)
    notes = tuple(fields.texts("notes", []))
    return ModelFile(
        graph,
        reference,
        preprocessing,
        notes,
        steps.get("before"),
        steps.get("after"),
        calibration=_to_summary(fields),
        curve=_to_curve(fields),
        original=original,
    )


def _to_preprocessing(fields: Fields) -> Optional[Preprocessing]:
    if "preprocessing" not in fields:
        return None
    if len(inputs_of(fields)) > 1:
        raise fields.error("'preprocessing' is for networks of one input")
    given = fields.object("preprocessing")
    try:
        return Preprocessing.from_dict(given.values)
    except Error as error:
        raise given.error(str(error)) from None


def _to_summary(fields: Fields) -> Optional[InputSummary]:
    if "calibration" not in fields:
        return None
    given = fields.object("calibration")
    try:
        return InputSummary.from_dict(given.values)
    except Error as error:
        raise given.error(f"'calibration': {error}") from None


def _to_curve(fields: Fields) -> Optional[tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]]:
    if "curve" not in fields:
        return None
    given = fields.object("curve")
    columns, rows = given.texts("columns"), given.values.get("rows")
    cells = (str, int, float, type(None))
    if not isinstance(rows, list) or not all(
        isinstance(row, list)
        and len(row) == len(columns)
        and all(isinstance(cell, cells) and not isinstance(cell, bool) for cell in row)
        for row in rows
    ):
        raise given.error("'rows' must be lists with a text, a number or null for each column")
    return tuple(columns), tuple(map(tuple, rows))


def model_hash(graph: Graph) -> str:
    """Return the SHA-256 of a graph's content, as 64 hexadecimal digits; every saved copy has the
    same hash.
    """
    digest = hashlib.sha256(json.dumps(graph_to_dict(graph), sort_keys=True).encode("ascii"))
    for name in sorted(graph.arrays):
        array = _check_entry(graph, name)
        digest.update(f"{name}:{array.dtype.name}:{array.shape}:".encode("utf-8", "replace"))
        digest.update(to_little_endian(array).tobytes())
    return digest.hexdigest()


def _entry(index: int) -> str:
    return f"arrays/{index}.npy"


def _check_entry(graph: Graph, name: str) -> np.ndarray:
    array = graph.arrays[name]
    if array.dtype.name not in _ARRAYS.values():
        have = ", ".join(_ARRAYS.values())
        raise ModelError(f"{graph.name}: array {name!r} is {array.dtype}; have: {have}")
    return array


def _check_version(fields: Fields) -> None:
    if fields.text("format", None) != _FORMAT:
        raise fields.error(f"'format' is not {_FORMAT!r}; this is not a model of qemu_nn")
    version = fields.integer("version")
    if version > _VERSION:
        raise fields.error(
            f"a newer qemu_nn wrote it (format version {version}, this one reads {_VERSION}); "
            "update qemu_nn to read it"
        )
    if version < 1:
        raise fields.error(f"'version' must be at least 1, is {version}")
