"""Checkpoints of the quantization pipeline, so that an interrupted run can continue.

The file is a zip: steps.json, and a folder for each course of the pipeline, "0", "1", ...: it has
state.json, the float network where a step has changed it (float.json and its arrays), and the
parameters of its layers where a step holds them on grids.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import ModelError
from ..io.archive import FLOATS, Archive, format_npy, open_archive, write_archive
from ..io.typed_json import Fields, parse_json
from ..ir.float_graph import FloatGraph
from ..ir.formats import Format, limits
from ..operators import OPERATORS, Conv, Dense
from ..qnz.float_network import float_entries, read_float
from ..quantizer.affine_rules import Rescale
from ..quantizer.assign import Formats
from ..quantizer.assign_affine import AffineFormats
from .format_search import Job
from .schemes import Scheme

_STEPS, _STATE, _VERSION = "steps.json", "state.json", 2
#: Exceptions of lowering for formats that do not fit together.
_UNFIT = (ValueError, TypeError, LookupError, ArithmeticError, AssertionError)
#: The most bits that a format is away from 1.
_FARTHEST = 128


@dataclass(frozen=True)
class State:
    """A network between two steps.

    real: the float network; graph: the same with parameters on the grids of the formats.
    """

    scheme: Scheme
    formats: Any
    real: FloatGraph
    graph: FloatGraph


@dataclass(frozen=True)
class Checkpoint:
    """States of all courses after `done` steps, and their notes."""

    states: tuple[State, ...]
    notes: tuple[str, ...] = ()
    done: int = 0


@dataclass(frozen=True)
class Record:
    """File of the checkpoints of a job, if any.

    start: the first checkpoint. key: hash of network, data and options.
    """

    path: Optional[Path]
    job: Job
    start: Checkpoint
    key: str = ""

    def read(self) -> Checkpoint:
        """Return the last checkpoint, or the start without a file.

        Raises ModelError for a damaged file, and for one of a different network, data or options.
        """
        path = self.path
        if path is None or not path.exists():
            return self.start
        with open_archive(path) as archive:
            document = parse_json(archive.read(_STEPS), f"{path}: {_STEPS}")
            if document.text("key") != self.key:
                raise ModelError(
                    f"{path} belongs to steps with another network, data or options; remove it or "
                    "name another file"
                )
            states = tuple(
                self._read_state(archive.folder(str(number)), first)
                for number, first in enumerate(self.start.states)
            )
        done = document.integer("done")
        if done < 1:
            raise document.error("'done' must be 1 or more")
        return Checkpoint(states, tuple(document.texts("notes")), done)

    def _read_state(self, archive: Archive, first: State) -> State:
        document = parse_json(archive.read(_STATE), f"{archive.path}: {_STATE}")
        try:
            state = _parse_state(archive, document, self.job, first.formats)
            state.scheme.lower(state.graph, state.formats)
        except ModelError:
            raise
        except _UNFIT as error:
            raise document.error(f"no device has this network: {error}") from None
        return state

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint atomically; the decisions of searches are then obsolete."""
        if self.path is not None:
            write_archive(self.path, _list_entries(checkpoint, self.key, self.job.graph))
            searching = name_search_record(self.path, "search")
            assert searching is not None
            searching.unlink(missing_ok=True)


def name_search_record(path: Optional[Path], what: str) -> Optional[Path]:
    """Return the path of a search's decisions, next to the file of the checkpoints."""
    return None if path is None else path.with_name(f"{path.name}.{what}")


def record_of(
    path: Optional[Path], job: Job, start: Checkpoint, x: np.ndarray, options: Any
) -> Record:
    """Return the record of a job on data x, from its start; repr() of the options
    identifies them.
    """
    if path is None:
        return Record(None, job, start)
    about = (options, job.scheme.profile, job.given, x.shape, x.dtype)
    digest = hashlib.sha256(repr(about).encode())
    digest.update(x.tobytes())
    entries = {**float_entries(job.graph), **_list_entries(start, "", job.graph)}
    for name, content in sorted(entries.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return Record(path, job, start, digest.hexdigest())


def copy_in_c_order(graph: FloatGraph) -> FloatGraph:
    """Return the network with C-contiguous arrays, as files store them; the order of sums depends
    on it.
    """
    changed = {}
    for node in graph.nodes:
        operator: Any = node.operator
        arrays = {n: held for n, held in vars(operator).items() if isinstance(held, np.ndarray)}
        if not all(array.flags.c_contiguous for array in arrays.values()):
            ordered = {name: np.asarray(array, order="C") for name, array in arrays.items()}
            changed[node.name] = replace(operator, **ordered)
    return graph.with_operators(changed) if changed else graph


def _list_entries(checkpoint: Checkpoint, key: str, start: FloatGraph) -> dict[str, bytes]:
    document = {
        "version": _VERSION,
        "key": key,
        "done": checkpoint.done,
        "notes": list(checkpoint.notes),
    }
    entries = {_STEPS: json.dumps(document, indent=1).encode("ascii")}
    for number, state in enumerate(checkpoint.states):
        own = _entries(state, start)
        entries.update({f"{number}/{name}": content for name, content in own.items()})
    return entries


def _entries(state: State, start: FloatGraph) -> dict[str, bytes]:
    entries = {} if state.real is start else float_entries(state.real)
    document = {
        "changed": state.real is not start,
        "rounded": state.graph is not state.real,
        "methods": [str(method) for method in state.scheme.methods],
        "functions": dict(state.scheme.functions),
        "formats": _from_formats(state.formats),
    }
    if isinstance(state.formats, AffineFormats):
        entries.update(_arrays("scales", state.formats.weights))
    if state.graph is not state.real:
        layers = dict(_layers(state.graph))
        entries.update(_arrays("weights", {n: own.weights for n, own in layers.items()}))
        biases = {n: own.bias for n, own in layers.items() if own.bias is not None}
        entries.update(_arrays("biases", biases))
    return {_STATE: json.dumps(document, indent=1).encode("ascii"), **entries}


def _arrays(folder: str, held: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    """Return the entries of layers' arrays. The hexadecimal layer names are legal in every zip."""
    return {_entry(folder, name): format_npy(array) for name, array in held.items()}


def _entry(folder: str, name: str) -> str:
    return f"{folder}/{name.encode().hex()}.npy"


def _layers(graph: FloatGraph) -> Iterator[tuple[str, Any]]:
    for node in graph.nodes:
        if isinstance(node.operator, (Conv, Dense)):
            yield node.name, node.operator


def _from_formats(formats: Any) -> dict[str, Any]:
    if isinstance(formats, Formats):
        held = {"tensors": formats.tensors, "weights": formats.weights, "biases": formats.biases}
        return {**{role: dict(fracs) for role, fracs in held.items()}, "notes": [*formats.notes]}
    tensors = {
        name: {
            "dtype": own.dtype,
            "scale": float(own.scale),
            "zero": own.zero_point,
            "frac": own.frac,
        }
        for name, own in formats.tensors.items()
    }
    return {"tensors": tensors, "notes": [*formats.notes], "narrow": sorted(formats.narrow)}


def _parse_state(archive: Archive, document: Fields, job: Job, formats: Any) -> State:
    real = graph = job.graph
    if document.flag("changed"):
        real = graph = read_float(archive, {**OPERATORS, "Rescale": Rescale})
        ends = [(each.input, each.shape, each.outputs) for each in (real, job.graph)]
        if ends[0] != ends[1]:
            raise document.error("its network has another input or other outputs")
    if document.flag("rounded"):
        layers = dict(_layers(real))
        graph = real.with_operators({n: _read_layer(archive, n, layers[n]) for n in layers})
    methods = document.texts("methods")
    if len(methods) != 2:
        raise document.error("'methods' must be two")
    functions = document.object("functions")
    named = {layer: functions.text(layer) for layer in functions.values}
    scheme = replace(job.scheme, functions=named).with_methods(*methods)
    read = _powers if isinstance(formats, Formats) else _affine
    chosen = read(archive, document.object("formats"), real, formats)
    return State(scheme, chosen, real, graph)


def _read_layer(archive: Archive, name: str, like: Any) -> Any:
    weights = _finite(archive, "weights", name, like.weights.shape)
    bias = None
    if _entry("biases", name) in archive.names:
        bias = _finite(archive, "biases", name, (len(weights),))
    return replace(like, weights=weights, bias=bias)


def _finite(archive: Archive, folder: str, name: str, *shapes: tuple[int, ...]) -> np.ndarray:
    entry = _entry(folder, name)
    array = archive.array(entry, FLOATS)
    if array.shape not in shapes or not np.isfinite(array).all():
        raise ModelError(f"{archive.path}: {entry} does not fit the layer {name!r}")
    return array


def _powers(archive: Archive, document: Fields, graph: FloatGraph, start: Formats) -> Formats:
    layers = {name for name, _ in _layers(graph)}
    tensors = _fracs(document.object("tensors"), graph.shapes)
    weights = _fracs(document.object("weights"), layers)
    biases = document.object("biases")
    return Formats(
        *(start.bits, tensors, weights, _fracs(biases, layers & {*biases.values})),
        tuple(document.texts("notes")),
    )


def _fracs(document: Fields, names: Collection[str]) -> dict[str, int]:
    """Return fraction bits of just these, in the file's order."""
    _complete(document, names)
    found = {name: document.integer(name) for name in document.values}
    if any(abs(frac) > _FARTHEST for frac in found.values()):
        raise document.error(f"fraction bits are {-_FARTHEST}..{_FARTHEST}")
    return found


def _affine(
    archive: Archive, document: Fields, graph: FloatGraph, start: AffineFormats
) -> AffineFormats:
    tensors = document.object("tensors")
    _complete(tensors, graph.shapes)
    weights = {}
    for name, operator in _layers(graph):
        ones = (1,) * (operator.weights.ndim - 1)
        weights[name] = _finite(archive, "scales", name, (1, *ones), (len(operator.weights), *ones))
        if weights[name].min() <= 0:
            raise ModelError(f"{archive.path}: the weights of {name!r} have a scale of 0 or below")
    found = {name: _format(own) for name, own in tensors.children()}
    narrow = frozenset(document.texts("narrow"))
    return AffineFormats(found, weights, tuple(document.texts("notes")), narrow)


def _format(document: Fields) -> Format:
    dtype, zero, frac = document.text("dtype"), document.integer("zero"), None
    if dtype not in ("int8", "int16"):
        raise document.error("'dtype' must be int8 or int16")
    low, high = limits(dtype)
    scale = document.number("scale")
    if not (low <= zero <= high and 0 < scale < math.inf):
        raise document.error("no device has such a format")
    if "frac" in document:
        frac = document.integer("frac")
    return Format(dtype, scale, zero, frac)


def _complete(document: Fields, names: Collection[str]) -> None:
    if document.values.keys() != {*names}:
        raise document.error("its layers are not those of the network")
