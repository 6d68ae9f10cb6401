"""The project's own model file (.qnz): a graph as JSON, and its arrays, in one zip.

graph.json holds everything but the arrays; the array that is n-th in its list "arrays" is the
entry arrays/<n>.npy. A float network stands beside it, or alone: see qnz_float.py. The same
network always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..functions import FUNCTIONS
from ..io.archive import INTEGERS, format_npy, little_endian, open_archive, write_archive
from ..io.arguments import as_path
from ..io.typed_json import Fields, parse_json
from ..ir.float_graph import FloatGraph
from ..ir.graph import Address, Build, CallAddresses, Graph, Memory, Node, Tensor
from .qnz_float import FLOAT_GRAPH, float_entries, float_names, read_float

_FORMAT = "qemu_nn graph"
_VERSION = 1
_GRAPH = "graph.json"

#: Element types of arrays: as .npy files spell them -> as numpy does.
_ARRAYS = {
    **INTEGERS,
    **{"|u1": "uint8", "<i8": "int64", "<u4": "uint32", "<u8": "uint64"},
    **{"<f4": "float32", "|b1": "bool"},
}


@dataclass(frozen=True)
class Package:
    """What a file holds: a quantized network, a float one, or both (then it came from that one)."""

    graph: Optional[Graph]
    reference: Optional[FloatGraph] = None


def save_package(
    graph: Optional[Graph], path: Union[str, Path], reference: Optional[FloatGraph] = None
) -> None:
    """Write a quantized network, a float one, or both as one .qnz file, whole or not at all.

    Raises ModelError where the file cannot be written, or an array has another type; Error for
    a path with another ending, which load() would read as another format.
    """
    path = as_path(path, "the file of a network")
    if path.suffix == ".tflite":
        raise Error(f"{path} would hold integers, and this is a float network: quantize it first")
    if path.suffix != ".qnz":
        raise Error(
            f"{path}: a network is saved as a .qnz file; name it {path.stem or 'network'}.qnz"
        )
    entries = {} if reference is None else float_entries(reference)
    if graph is not None:
        document = {"format": _FORMAT, "version": _VERSION, **_from_graph(graph)}
        entries[_GRAPH] = json.dumps(document, indent=1).encode("ascii")
        for index, name in enumerate(sorted(graph.arrays)):
            entries[_entry(index)] = format_npy(_checked(graph, name))
    write_archive(path, entries)


def load_package(path: Union[str, Path]) -> Package:
    """What a .qnz file holds, equal to what was saved.

    Raises ModelError, with the reason, for anything else: nothing in the file is trusted.
    """
    with open_archive(Path(path)) as archive:
        has_float = FLOAT_GRAPH in archive.names
        expected = float_names(archive) if has_float else {_GRAPH}
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
            return Package(None, reference)
        arrays = {name: archive.array(_entry(index), _ARRAYS) for index, name in enumerate(names)}
    return Package(_to_graph(fields, arrays), reference)


def model_hash(graph: Graph) -> str:
    """SHA-256 over what a graph is, as 64 hexadecimal digits; the same for every saved copy."""
    digest = hashlib.sha256(json.dumps(_from_graph(graph), sort_keys=True).encode("ascii"))
    for name in sorted(graph.arrays):
        array = _checked(graph, name)
        digest.update(f"{name}:{array.dtype.name}:{array.shape}:".encode("utf-8", "replace"))
        digest.update(little_endian(array).tobytes())
    return digest.hexdigest()


def _entry(index: int) -> str:
    return f"arrays/{index}.npy"


def _checked(graph: Graph, name: str) -> np.ndarray:
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


# ---- a graph as JSON ----


def _from_graph(graph: Graph) -> dict[str, Any]:
    inputs = [_from_tensor(tensor) for tensor in graph.inputs]
    return {
        "name": graph.name,
        **({"input": inputs[0]} if len(inputs) == 1 else {"inputs": inputs}),
        "states": [_from_tensor(tensor) for tensor in graph.states],
        "nodes": [_from_node(node) for node in graph.nodes],
        "outputs": list(graph.outputs),
        "classes": list(graph.classes),
        "arrays": sorted(graph.arrays),
        "memory": _from_memory(graph.memory) if graph.memory else None,
    }


def _from_tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "frac": tensor.frac,
        **({} if tensor.scale is None else {"scale": tensor.scale, "zero": tensor.zero_point}),
    }


def _from_node(node: Node) -> dict[str, Any]:
    return {
        "function": node.function.name,
        "params": dict(node.params),
        "inputs": list(node.inputs),
        "output": _from_tensor(node.output),
        "weights": node.weights,
        "bias": node.bias,
        **({"effect": node.effect} if node.effect else {}),
        **({"builds": [_from_build(build) for build in node.builds]} if node.builds else {}),
    }


def _from_build(build: Build) -> dict[str, Any]:
    if build.function is None:
        return {"difference": build.difference, "refused": build.refused}
    return {
        "difference": build.difference,
        "function": build.function.name,
        "params": dict(build.params),
        "weights": build.weights,
        "bias": build.bias,
    }


def _from_memory(memory: Memory) -> dict[str, Any]:
    return {
        "buffers": dict(memory.buffers),
        "places": {name: _from_call(call) for name, call in memory.calls.items()},
        "input": _from_address(memory.input),
        "states": {name: _from_address(address) for name, address in memory.states.items()},
    }


def _from_call(call: CallAddresses) -> dict[str, Any]:
    return {
        "inputs": [_from_address(address) for address in call.inputs],
        "output": _from_address(call.output),
        "scratch": _from_address(call.scratch) if call.scratch else None,
    }


def _from_address(address: Address) -> dict[str, Any]:
    return {"buffer": address.buffer, "offset": address.offset}


# ---- and back ----


def _to_graph(fields: Fields, arrays: Mapping[str, np.ndarray]) -> Graph:
    parts: dict[str, Any] = {
        "name": fields.text("name"),
        "inputs": tuple(_to_tensor(tensor) for tensor in _inputs(fields)),
        "nodes": tuple(_to_node(node) for node in fields.objects("nodes")),
        "outputs": tuple(fields.texts("outputs")),
        "memory": _to_memory(fields.object("memory")) if "memory" in fields else None,
        "states": tuple(_to_tensor(tensor) for tensor in fields.objects("states")),
        "classes": tuple(fields.texts("classes")),
    }
    try:
        return Graph(arrays=arrays, **parts)
    except ModelError as error:
        raise fields.error(str(error)) from None


def _inputs(fields: Fields) -> list[Fields]:
    """Those of the network; a file calls it `input` where there is one."""
    return [fields.object("input")] if "input" in fields else fields.objects("inputs")


def _to_tensor(fields: Fields) -> Tensor:
    shape = tuple(fields.integers("shape"))
    return Tensor(
        fields.text("name"),
        shape,
        fields.text("dtype"),
        fields.integer("frac", None),
        fields.number("scale", None),
        fields.integer("zero", 0),
    )


def _to_node(fields: Fields) -> Node:
    return Node(
        **_to_called(fields),
        inputs=tuple(fields.texts("inputs")),
        output=_to_tensor(fields.object("output")),
        effect=fields.text("effect") if "effect" in fields else "",
        builds=tuple(map(_to_build, fields.objects("builds"))) if "builds" in fields else (),
    )


def _to_build(fields: Fields) -> Build:
    difference = fields.text("difference")
    if "refused" in fields:
        return Build(difference, refused=fields.text("refused"))
    return Build(difference, **_to_called(fields))


def _to_called(fields: Fields) -> dict[str, Any]:
    """Function, parameters and arrays of a call."""
    function = FUNCTIONS.get(fields.text("function"))
    if function is None:
        raise fields.error(f"the function {fields.text('function')!r} is not known")
    params = fields.object("params")
    given = {name: params.integer(name) for name in params.values}
    try:
        values = function.parse_params(given)
    except Error as error:
        raise params.error(str(error)) from None
    arrays = {name: fields.text(name, None) for name in ("weights", "bias")}
    return {"function": function, "params": values, **arrays}


def _to_memory(fields: Fields) -> Memory:
    buffers = fields.object("buffers")
    return Memory(
        buffers={name: buffers.integer(name) for name in buffers.values},
        calls={name: _to_call(call) for name, call in fields.object("places").children()},
        input=_to_address(fields.object("input")),
        states={name: _to_address(address) for name, address in fields.object("states").children()},
    )


def _to_call(fields: Fields) -> CallAddresses:
    return CallAddresses(
        inputs=tuple(_to_address(address) for address in fields.objects("inputs")),
        output=_to_address(fields.object("output")),
        scratch=_to_address(fields.object("scratch")) if "scratch" in fields else None,
    )


def _to_address(fields: Fields) -> Address:
    return Address(fields.text("buffer"), fields.integer("offset"))
