"""Float networks in a model file (.qnz): float.json, before.json or after.json, and its arrays.

Operators are written field by field: numbers and tuples as JSON, floats as hexadecimal text
(exact, infinity too), arrays as {"array": n} for the entry floats/<n>.npy, before/<n>.npy or
after/<n>.npy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import ModelError
from ..io.archive import FLOATS, Archive, format_npy
from ..io.typed_json import Fields, parse_json
from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import OPERATORS, Operator

FLOAT_GRAPH = "float.json"

#: The host's steps around a quantized network.
STEPS = {"before": "before.json", "after": "after.json"}

_FOLDERS = {FLOAT_GRAPH: "floats/", **{entry: f"{name}/" for name, entry in STEPS.items()}}
_VERSION = 1


def float_entries(graph: FloatGraph, main: str = FLOAT_GRAPH) -> dict[str, bytes]:
    """Return name -> content of a float network's entries; main: the first of them.

    Raises ModelError for weights that are not finite.
    """
    arrays: list[np.ndarray] = []
    document = {
        "version": _VERSION,
        "name": graph.name,
        "input": graph.input,
        "shape": list(graph.shape),
        "layout": graph.layout,
        "nodes": [
            {
                "name": node.name,
                "operator": type(node.operator).__name__,
                "inputs": list(node.inputs),
                "fields": _from_operator(graph, node, arrays),
            }
            for node in graph.nodes
        ],
        "outputs": list(graph.outputs),
        "classes": list(graph.classes),
        "arrays": len(arrays),
    }
    if graph.others:
        document["others"] = [{"name": name, "shape": list(n)} for name, n in graph.others]
    if graph.moved:
        document["moved"] = list(graph.moved)
    entries = {_entry(main, index): format_npy(array) for index, array in enumerate(arrays)}
    return {main: json.dumps(document, indent=1).encode("ascii"), **entries}


def float_names(archive: Archive, main: str = FLOAT_GRAPH) -> set[str]:
    """Return the names of the entries that a float network in the file consists of."""
    count = min(max(_fields(archive, main).integer("arrays"), 0), len(archive.names))
    return {main, *(_entry(main, i) for i in range(count))}


def read_float(
    archive: Archive,
    operators: Mapping[str, type[Operator]] = OPERATORS,
    main: str = FLOAT_GRAPH,
) -> FloatGraph:
    """Return the float network of a file; raise ModelError with the reason for other content.

    operators: permitted ones, by the names of their classes.
    """
    fields, folder = _fields(archive, main), _FOLDERS[main]
    if fields.integer("version") != _VERSION:
        raise fields.error(
            f"version {fields.integer('version')}; this qemu_nn reads {_VERSION}: update "
            "qemu_nn, or save the network again"
        )
    nodes = (_to_node(archive, folder, node, operators) for node in fields.objects("nodes"))
    parts: dict[str, Any] = {
        "name": fields.text("name"),
        "input": fields.text("input"),
        "shape": tuple(fields.integers("shape")),
        "layout": fields.text("layout", None),
        "nodes": tuple(nodes),
        "outputs": tuple(fields.texts("outputs")),
        "classes": tuple(fields.texts("classes")),
        "moved": tuple(fields.texts("moved", [])),
    }
    if "others" in fields:
        others = fields.objects("others")
        parts["others"] = tuple((n.text("name"), tuple(n.integers("shape"))) for n in others)
    try:
        return FloatGraph(**parts)
    except ModelError as error:
        raise fields.error(str(error)) from None


def _fields(archive: Archive, main: str) -> Fields:
    return parse_json(archive.read(main), f"{archive.path}: {main}")


def _entry(main: str, index: int) -> str:
    return f"{_FOLDERS[main]}{index}.npy"


def _from_operator(graph: FloatGraph, node: FloatNode, arrays: list[np.ndarray]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in fields_of(node.operator):  # type: ignore[arg-type]
        value = getattr(node.operator, field.name)
        if isinstance(value, np.ndarray):
            if not np.isfinite(value).all():
                raise ModelError(
                    f"{graph.name}: {node.name}: {field.name} has values that are not finite"
                )
            arrays.append(value if value.dtype == np.float32 else value.astype(np.float64))
            value = {"array": len(arrays) - 1}
        elif isinstance(value, float):
            value = value.hex()
        values[field.name] = value
    return values


def _to_node(
    archive: Archive, folder: str, fields: Fields, operators: Mapping[str, type[Operator]]
) -> FloatNode:
    kind = operators.get(fields.text("operator"))
    if kind is None:
        raise fields.error(f"the operator {fields.text('operator')!r} is unknown; update qemu_nn")
    given = fields.object("fields")
    hints = get_type_hints(kind)
    names = [field.name for field in fields_of(kind)]  # type: ignore[arg-type]
    if sorted(given.values) != sorted(names):
        raise given.error(f"{kind.__name__} must have exactly the fields {', '.join(names)}")
    values = {name: _value(archive, folder, given, name, hints[name]) for name in names}
    operator: Operator = kind(**values)
    return FloatNode(fields.text("name"), operator, tuple(fields.texts("inputs")))


def _value(archive: Archive, folder: str, fields: Fields, name: str, hint: Any) -> Any:
    """Return a field of an operator, of exactly its declared type."""
    value = fields.values[name]
    if get_origin(hint) is Union:  # Optional
        if value is None:
            return None
        (hint,) = (kind for kind in get_args(hint) if kind is not type(None))
    if hint is np.ndarray:
        array = archive.array(f"{folder}{fields.object(name).integer('array')}.npy", FLOATS)
        if not np.isfinite(array).all():
            raise fields.error(f"{name!r} has values that are not finite")
        return array
    if hint is float:
        return _float(fields, name)
    plain = _parse_plain(value, hint)
    if plain is None:
        raise fields.error(f"{name!r} must be {hint}, is {json.dumps(value)[:40]}")
    return plain


def _float(fields: Fields, name: str) -> float:
    text = fields.text(name)
    try:
        value = float.fromhex(text)
    except (ValueError, OverflowError):
        raise fields.error(f"{name!r} is not a hexadecimal number") from None
    if np.isnan(value):
        raise fields.error(f"{name!r} is not a number")
    return value


def _parse_plain(value: Any, hint: Any) -> Any:
    """Return an integer, boolean, text, or tuple of these; None for other values."""
    if get_origin(hint) is not tuple:
        fits = type(value) is hint and (hint is not int or abs(value) < 2**31)
        return value if fits else None
    inner = get_args(hint)
    if not isinstance(value, list):
        return None
    kinds = [inner[0]] * len(value) if inner[1:] == (...,) else list(inner)
    if len(kinds) != len(value):
        return None
    items = tuple(_parse_plain(item, kind) for item, kind in zip(value, kinds))
    return None if None in items else items
