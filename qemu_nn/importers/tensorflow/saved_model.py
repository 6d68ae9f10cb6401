"""SavedModel folders: the graph of a signature, with its functions inlined and its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from .bundle import Bundle, read_bundle
from .functions import Inliner, find_needed
from .reading import TensorflowNode, decode, get_producer, parse_nodes, tensor_name
from .schema import new, parse

_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
_DEFAULT, _SERVE = "serving_default", "serve"
_MOST_ENDS = 256


@dataclass(frozen=True)
class End:
    """An input or output of a signature: its name there, its tensor in the graph, and its type."""

    name: str
    tensor: str
    dtype: int
    shape: Any


@dataclass(frozen=True)
class SavedGraph:
    """The nodes of a signature as a frozen graph has them, and its inputs and outputs."""

    nodes: Mapping[str, TensorflowNode]
    outputs: tuple[str, ...]


def is_saved_model(data: bytes) -> bool:
    """True if a file is a saved_model.pb; a graph has no number as its first field."""
    return bool(parse("SavedModel", data).HasField("saved_model_schema_version"))


def read_saved_model(folder: Path, data: bytes, signature: Optional[str]) -> SavedGraph:
    """Return the graph of a signature; by default of "serving_default", or of the only one.

    folder: has the variables. Inputs and outputs have the names of the signature. Raises ModelError
    for unknown signatures, and for missing or damaged variables.
    """
    meta = _choose_graph(parse("SavedModel", data).meta_graphs)
    inputs, outputs = _choose_signature(meta.signature_def, signature)
    graph = parse("Graph", meta.graph_def)
    library = {_name_of(each): each for each in graph.library.function}
    main = parse_nodes(graph.node)
    given = {get_producer(each.tensor): each.name for each in inputs}
    inliner = Inliner(library, [each.name for each in (*inputs, *outputs)])
    needed = find_needed(main, [get_producer(each.tensor) for each in outputs], given)
    inputs.sort(key=lambda end: _first_reader(needed, end.tensor))
    renamed = inliner.inline(needed, given)
    nodes = {**{each.name: _placeholder(each) for each in inputs}, **inliner.finish()}
    _refuse_assignments(nodes)
    for each in outputs:
        tensor = inliner.resolve(_moved(each.tensor, renamed))
        if tensor != each.name:
            nodes[each.name] = TensorflowNode(each.name, "Identity", (tensor,), {})
    variables = [node for node in nodes.values() if node.op in _VARIABLES]
    if variables:
        bundle = read_bundle(folder / "variables" / "variables")
        restore = decode(meta.saver_def.restore_op_name)
        keys = {**bundle.find_keys(), **_find_keys(main, restore, renamed, inliner)}
        arrays = _read_variables(bundle, variables, keys)
        nodes.update({name: _constant(name, array) for name, array in arrays.items()})
    return SavedGraph(nodes, tuple(each.name for each in outputs))


def _choose_graph(graphs: Sequence[bytes]) -> Any:
    """Return the graph for serving."""
    found = [parse("MetaGraph", each) for each in graphs]
    serving = [each for each in found if _SERVE.encode() in each.meta_info_def.tags]
    if len(serving or found) != 1:
        raise ModelError(
            f"it has {len(found)} graphs, {len(serving)} of these to serve; it needs one"
        )
    return (serving or found)[0]


def _choose_signature(entries: Sequence[bytes], name: Optional[str]) -> tuple[list[End], list[End]]:
    """Return inputs and outputs of a signature; the outputs in order."""
    parsed = (parse("Entry", each) for each in entries)
    found = {decode(each.key): each.value for each in parsed}
    usable = {key: value for key, value in found.items() if not key.startswith("__")}
    have = ", ".join(map(repr, sorted(usable)[:20])) or "none"
    if name is None:
        if not usable:
            raise ModelError("it has no signatures; save the model with signatures=")
        if _DEFAULT not in usable and len(usable) != 1:
            raise ModelError(f"it has several signatures; choose one with signature=: {have}")
        name = _DEFAULT if _DEFAULT in usable else next(iter(usable))
    if name not in usable:
        raise ModelError(f"it has no signature {name!r}; have: {have}")
    ends = parse("Ends", usable[name])
    inputs, outputs = _parse_ends(ends.inputs), _parse_ends(ends.outputs)
    if not outputs:
        raise ModelError(f"its signature {name!r} has no outputs; it must have at least one")
    return inputs, sorted(outputs, key=lambda end: (end.tensor.partition(":"), end.name))


def _parse_ends(entries: Sequence[bytes]) -> list[End]:
    if len(entries) > _MOST_ENDS:
        raise ModelError(f"a signature has {len(entries)} tensors, more than {_MOST_ENDS}")
    found = []
    for each in entries:
        entry = parse("Entry", each)
        info = parse("End", entry.value)
        name = tensor_name(decode(info.name))
        found.append(End(decode(entry.key), name, info.dtype, info.tensor_shape))
    return sorted(found, key=lambda end: end.name)


def _name_of(function: bytes) -> str:
    return decode(parse("Definition", function).signature.name)


def _first_reader(nodes: Mapping[str, TensorflowNode], tensor: str) -> tuple[int, int]:
    """Return the position of the first node that reads a tensor, and of the tensor in it."""
    for position, node in enumerate(nodes.values()):
        if tensor in node.inputs:
            return position, node.inputs.index(tensor)
    return len(nodes), 0


def _placeholder(end: End) -> TensorflowNode:
    dtype, shape = new("Value"), new("Value")
    dtype.type = end.dtype
    shape.shape.CopyFrom(end.shape)
    attributes = {"dtype": dtype.SerializeToString(), "shape": shape.SerializeToString()}
    return TensorflowNode(end.name, "Placeholder", (), attributes)


def _constant(name: str, array: np.ndarray) -> TensorflowNode:
    return TensorflowNode(name, "Const", (), {}, array=array)


def _moved(tensor: str, renamed: Mapping[str, str]) -> str:
    name, colon, port = tensor.partition(":")
    return renamed[name] + colon + port


def _refuse_assignments(nodes: Mapping[str, TensorflowNode]) -> None:
    """Raise ModelError for a network that changes its variables while it runs."""
    for node in nodes.values():
        for name in node.inputs:
            variable = name in nodes and nodes[name].op in _VARIABLES
            if variable and node.op.startswith(("Assign", "Scatter", "ResourceScatter")):
                raise ModelError(
                    f"{node} changes the variable {name!r} in each run; a float network has no "
                    "state: save a function without it"
                )


def _find_keys(
    main: Mapping[str, TensorflowNode], restore: str, renamed: dict[str, str], inliner: Inliner
) -> dict[str, str]:
    """Return variable -> key in the checkpoint, as the graph's operator for loading assigns."""
    if restore not in main:
        return {}
    loading = find_needed(main, [restore], renamed)
    inliner.inline({**{name: main[name] for name in renamed if name in main}, **loading}, renamed)
    nodes = inliner.finish()
    found: dict[str, str] = {}
    for node in nodes.values():
        if node.op in ("Assign", "AssignVariableOp") and len(node.inputs) == 2:
            key = _trace_key(nodes, node.inputs[1])
            if key is not None:
                found[node.inputs[0]] = key
    return found


def _trace_key(nodes: Mapping[str, TensorflowNode], tensor: str) -> Optional[str]:
    """Return the key that RestoreV2 reads for a tensor; None for a tensor from elsewhere."""
    for _ in range(len(nodes)):
        node = nodes.get(get_producer(tensor))
        if node is None or not node.inputs:
            return None
        if node.op == "RestoreV2" and len(node.inputs) == 3 and node.inputs[1] in nodes:
            names = nodes[node.inputs[1]].tensor("value").string_val
            port = int(tensor.partition(":")[2] or 0)
            return decode(names[port]) if port < len(names) else None
        if node.op != "Identity":
            return None
        tensor = node.inputs[0]
    return None


def _read_variables(
    bundle: Bundle, variables: Sequence[TensorflowNode], keys: Mapping[str, str]
) -> dict[str, np.ndarray]:
    """Return the arrays of variables; keys: of their nodes or their shared names."""
    arrays, left = {}, bundle.data_bytes()
    for variable in variables:
        key = keys.get(variable.name) or keys.get(variable.text("shared_name", ""))
        if key is None:
            raise ModelError(
                f"the variable {variable.name!r} is not loaded from the checkpoint; save the "
                "model again"
            )
        arrays[variable.name] = bundle.read(key)
        left -= arrays[variable.name].nbytes
        if left < 0:
            raise ModelError("its variables have more bytes than the files of the checkpoint")
    return arrays
