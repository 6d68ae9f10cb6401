"""The network before its compilation for an NPU, in a model file (.qnz): original.json, and its
arrays original/<n>.npy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ..io.archive import Archive
from ..io.typed_json import Fields, parse_json
from ..ir.original import CompiledOperator, Original
from .quantized_network import graph_from_fields, graph_to_dict

MAIN = "original.json"
_VERSION = 1


def name_entry(index: int) -> str:
    """Return the name of an array's entry."""
    return f"original/{index}.npy"


def original_document(original: Original) -> bytes:
    """Return everything of the original network except its arrays."""
    document = {
        "version": _VERSION,
        "matched": original.matched,
        "estimate": dict(original.estimate),
        "operators": [asdict(each) for each in original.operators],
        **graph_to_dict(original.graph),
    }
    return json.dumps(document, indent=1).encode("ascii")


def original_names(archive: Archive) -> set[str]:
    """Return the names of the entries of the original network."""
    return {MAIN, *map(name_entry, range(len(_fields(archive).texts("arrays"))))}


def read_original(archive: Archive, types: Mapping[str, Any]) -> Original:
    """Return the original network of a file; raise ModelError with the reason for other content."""
    fields = _fields(archive)
    if fields.integer("version") != _VERSION:
        raise fields.error(f"version {fields.integer('version')}; this qemu_nn reads {_VERSION}")
    names = fields.texts("arrays")
    if names != sorted(set(names)):
        raise fields.error("'arrays' must be sorted names without duplicates")
    arrays: dict[str, np.ndarray] = {
        name: archive.array(name_entry(at), types) for at, name in enumerate(names)
    }
    estimate = fields.object("estimate")
    return Original(
        graph_from_fields(fields, arrays),
        tuple(map(_to_operator, fields.objects("operators"))),
        fields.text("matched"),
        {name: estimate.text(name) for name in estimate.values},
    )


def _to_operator(fields: Fields) -> CompiledOperator:
    return CompiledOperator(
        fields.text("layer"),
        fields.text("operator"),
        fields.text("place"),
        fields.integer("operations"),
        fields.integer("cycles", None),
        fields.text("reason"),
        fields.text("effect"),
    )


def _fields(archive: Archive) -> Fields:
    return parse_json(archive.read(MAIN), f"{archive.path}: {MAIN}")
